"""One call on its way through the engine, and why it may be stopped."""

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.contract import ContextModifier, Tool, ToolContext, ToolUse, UsageError
from holdfast.events import CallFinished, Outcome, RemoteTool

if TYPE_CHECKING:
    from holdfast.permissions import CallFacts, Decision, PermissionContext

__all__ = [
    "Call",
    "CallState",
    "Stop",
    "TurnStop",
    "error_text",
    "loop_of_this_thread",
    "may_object",
    "read_block",
    "word_judge",
]

CallState = Literal["queued", "executing", "completed", "yielded"]


class Stop(NamedTuple):
    """Why a call is stopped, in words for the model."""

    message: str
    discarded: bool = False
    """The stream is repeated: no reply is wanted."""


class Call:
    """The engine's record of one call. Only the executor and the pipeline touch it."""

    # Defaults stand on the class: most calls never change most of them, and a call must be cheap to make.
    state: CallState = "queued"
    tool: Tool | None = None
    args: Any = None
    safe: bool | None = None
    """Whether it may run beside others; worked out when it reaches the head of the queue."""
    read_only: bool = False
    began: bool = False
    """Its task has taken its first step; before that a cancellation would leave it unanswered."""
    acting_since: float | None = None
    """When the tool itself began to work."""
    deadline: float | None = None
    depth: int = 0
    """Of a call that a tool makes: how many tools lead to it."""
    timer: asyncio.TimerHandle | None = None
    """Of a call that a tool makes: ends it when its time is over."""
    task: asyncio.Task[None] | None = None
    context: ToolContext | None = None
    facts: "CallFacts | None" = None
    """What the input means to the permission layers, resolved: made once for each input."""
    first: "tuple[Decision, PermissionContext] | None" = None
    """What rules and mode said about this input, and under which rights."""
    stop: Stop | None = None
    failed_shell: bool = False
    """A state-changing shell command ran and failed: calls behind it may depend on it."""
    ends_run: bool = False
    """The whole program is being stopped: nothing more may start."""
    modifiers: tuple[ContextModifier, ...] = ()
    context_notes: tuple[str, ...] = ()
    """What gates want the model to read with the reply."""
    reply: CallFinished | None = None

    def __init__(self, id: str, name: str, raw: Any, number: int, turn: int) -> None:  # noqa: A002 - the wire's word
        self.id = id
        self.name = name
        self.raw = raw
        self.number = number
        self.turn = turn

    def changes_nothing(self) -> bool:
        """The tool says this call is read-only; a tool that cannot tell says no."""
        assert self.tool is not None
        try:
            return bool(self.tool.is_read_only(self.args))
        except (Exception, SystemExit):  # noqa: BLE001 - users' code: what it cannot answer counts as a change
            return False

    def yields_to_message(self) -> bool:
        """The tool says this call may be cut short by a message of the user; a tool that cannot tell says no."""
        assert self.tool is not None
        try:
            return self.tool.on_user_message(self.args) == "cancel"
        except (Exception, SystemExit):  # noqa: BLE001 - users' code: what it cannot answer is not cut short
            return False

    def is_stopped_from_outside(self) -> bool:
        """Somebody stopped the task itself, as a closing event loop or Ctrl-C does: nothing more may start."""
        return self.ends_run or (self.task is not None and self.task.cancelling() > 0)

    def duration_ms(self) -> float:
        """How long the tool has worked so far."""
        if self.acting_since is None or self.task is None:
            return 0.0
        return (self.task.get_loop().time() - self.acting_since) * 1000

    @property
    def remote(self) -> RemoteTool | None:
        """Whose tool it is, where it is a server's."""
        info = None if self.tool is None else self.tool.mcp_info
        return None if info is None else RemoteTool(*info)

    def answer(self, message: str, outcome: Outcome, *, error_code: int | None = None) -> None:
        """Reply with an error."""
        self.reply = CallFinished(
            self.id,
            self.name if self.tool is None else self.tool.name,
            error_text(message),
            is_error=True,
            outcome=outcome,
            duration_ms=self.duration_ms(),
            error_code=error_code,
            mcp=self.remote,
        )


class TurnStop(NamedTuple):
    """Why the rest of a turn does not run, also the calls that the model is still sending."""

    stop: Stop
    keeps_read_only: bool

    def holds(self, call: Call) -> bool:
        """This call must not start any more."""
        return not (self.keeps_read_only and call.changes_nothing())


def read_block(block: Mapping[str, Any] | ToolUse) -> tuple[str, str, Any]:
    """The id, name and input of a `tool_use` block.

    Raises:
        UsageError: It names no call.
    """
    if isinstance(block, ToolUse):
        id_, name, raw = block
    else:
        id_, name, raw = block.get("id"), block.get("name"), block.get("input")
    if not isinstance(id_, str) or not id_ or not isinstance(name, str):
        raise UsageError("a tool_use block needs an `id` and a `name`, both strings")
    return id_, name, raw


def error_text(message: str) -> str:
    """An error as models know it."""
    return f"<tool_use_error>{message}</tool_use_error>"


def loop_of_this_thread() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs here, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # a plain function in its own thread
        return None


def may_object(call: Call, tool: Tool) -> bool:
    """Whether the tool itself may have something to say about the call."""
    return tool.has_opinion and tool.may_object(call.args)


@cache
def word_judge() -> Callable[..., bool]:
    """Who says whether a command is judged by its words alone."""
    from holdfast.permissions.shell.judge.verdict import is_judged_by_words  # noqa: PLC0415 - with the first command

    return is_judged_by_words
