"""What a tool may know and do while it runs: where it is, and how to report progress."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, cast

from holdfast.contract.errors import UsageError
from holdfast.contract.facts import SessionFacts
from holdfast.contract.modifiers import FileStamp
from holdfast.contract.roles import CallRights, EventHooks
from holdfast.lib.names import read_path

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from holdfast.contract.result import CallReply
    from holdfast.contract.roles import CallMaker

    Deps = TypeVar("Deps", default=Any)
else:
    from typing import TypeVar

    Deps = TypeVar("Deps")

__all__ = ["Deps", "ToolContext"]

_NO_READS: Mapping[str, FileStamp] = MappingProxyType({})
_LOCAL = SessionFacts()


def _ignore_progress(ctx: "ToolContext", data: Any) -> None:
    """Progress of a tool that nobody watches."""


class ToolContext(Generic[Deps]):
    """The surroundings of one call. More power comes to a tool by its constructor, not from here.

    `ToolContext[Thing]` in a tool's signature says what `deps` is.
    """

    __slots__ = (
        "_deps",
        "_emit",
        "asked",
        "cancelled",
        "cwd",
        "family",
        "file_reads",
        "granted",
        "hooks",
        "rights",
        "session",
        "tool_use_id",
    )

    def __init__(
        self,
        cwd: str | os.PathLike[str] | None = None,
        tool_use_id: str = "",
        session: SessionFacts = _LOCAL,
        file_reads: Mapping[str, FileStamp] = _NO_READS,
        emit: Callable[["ToolContext", Any], None] = _ignore_progress,
        rights: CallRights | None = None,
        hooks: EventHooks | None = None,
        deps: Deps | None = None,
    ) -> None:
        self.cwd = cwd if type(cwd) is str else os.getcwd() if cwd is None else os.fspath(cwd)
        self.tool_use_id = tool_use_id
        self.session = session
        self.file_reads = file_reads
        """What the model has seen, by resolved path; a read-only view."""
        self.cancelled = False
        """True once the call was asked to stop; for code in threads, which a cancellation cannot reach."""
        self.asked = False
        """True once a person was asked about this call and said yes."""
        self.granted = ""
        """What let it run: the layer of the decision (`mode`, `allow`, `hook`, `classifier`); empty: nobody judged."""
        self.rights = rights
        """What whoever calls may see; none: nobody judges."""
        self.hooks = hooks
        """The user's hooks, where there are any."""
        self.family: Any = None
        """The calls that this one has made; kept by the engine."""
        self._emit = emit
        self._deps = deps

    @property
    def deps(self) -> Deps:
        """What the program handed to the run for its tools: `Agent.run(prompt, deps=…)`."""
        if self._deps is None and self.rights is not None:
            return self.rights.deps
        return cast("Deps", self._deps)  # none was given: whoever asks for one finds nothing

    @property
    def own_deps(self) -> Deps | None:
        """What was given to this call alone."""
        return self._deps

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> "CallReply":
        """Call another tool of this session. Hooks, rules, mode and people judge it as a call of the model.

        The model reads nothing of it but what this tool tells. Files that it reads are not taken as seen by the model,
        and a directory that it goes to is that of this tool's calls only. When this call is stopped, those that it made
        are stopped, too.

        Raises:
            Denied: The call was refused; unless it is caught, the model reads why.
            ToolFailed: There is no such tool, the arguments do not fit, or it failed. A command that ran and ended
                badly is a reply with `is_error`.
        """
        return await self._maker().make(self, name, arguments or {})

    def call_sync(self, name: str, arguments: Mapping[str, Any] | None = None) -> "CallReply":
        """The same for a tool that is a plain function: it waits in the function's own thread."""
        return self._maker().make_from_thread(self, name, arguments or {})

    def _maker(self) -> "CallMaker":
        maker = None if self.rights is None else self.rights.calls
        if maker is None:
            raise UsageError("this context belongs to no session, so it cannot call tools; run the tool in an Executor")
        return maker

    @property
    def hidden(self) -> Callable[[str], bool] | None:
        """Says which files the caller may not learn of; none where it may of all."""
        rights = self.rights
        return rights.hides if rights is not None and rights.hides_files else None

    def resolve(self, path: str | os.PathLike[str]) -> Path:
        """The absolute path: `~` is the home directory, anything relative starts at the session's directory.

        `..` is kept as it stands: what it means depends on links, so only the kernel may say.
        """
        text = read_path(os.fspath(path))  # as Glob and Grep show names that cannot be printed
        if text.startswith("~"):
            text = os.path.expanduser(text)
        return Path(self.cwd, text)

    def progress(self, data: Any) -> None:
        """Tell whoever watches how the work goes on; never waits."""
        self._emit(self, data)
