"""What the first answer may need, loaded while the model thinks: a first call then costs what a tenth does.

A thread takes small steps in the order in which an answer can need them: how commands are judged, then how they run.
Between two steps it looks whether the session is over, so that an exit waits for one step at most; and it gives way to
the event loop at once, so that no byte of the answer waits for it. What it loads the first call would load; only the
time is another. The user's login shell is asked meanwhile what commands are to see: that is the first start of a
process, and as slow as the files which that shell reads.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.lib.collector import let_go
from holdfast.tools.shell.bash import Bash

if TYPE_CHECKING:
    from holdfast.permissions import PermissionContext
    from holdfast.registry import Pool

__all__ = ["MODULES", "Warming"]

MODULES = (
    "holdfast.permissions.shell.text.syntax",
    "holdfast.permissions.shell.programs.program",
    "holdfast.permissions.shell.programs.tool_table",
    "holdfast.permissions.shell.programs.plain",
    "holdfast.permissions.shell.programs.wrappers",
    "holdfast.permissions.shell.text.walk",
    "holdfast.permissions.shell.text.analysis",
    "holdfast.permissions.shell.judge.coverage",
    "holdfast.permissions.shell.risk.removals",
    "holdfast.permissions.shell.risk.places",
    "holdfast.permissions.shell.reach.written_forms",
    "holdfast.permissions.shell.reach.directories",
    "holdfast.permissions.shell.reach.known_here",
    "holdfast.permissions.shell.judge.verdict",
    "holdfast.permissions.facts",
    "holdfast.host.shell",
    "holdfast.tools.shell._run",
    "holdfast.tools.shell._reply",
    "holdfast.models.references",
)
"""What a first shell command loads, in the order in which it does."""
_GIVE_WAY_S = 0.0005


class Warming:
    """Begins at once, beside the event loop; `close` ends it after the step that is under way."""

    def __init__(self, pool: "Pool", permissions: "PermissionContext | None" = None) -> None:
        """Begin.

        Args:
            pool: The tools that may be called.
            permissions: The rights of the session. With them the rules about commands are made ready, too, and the
                login shell is asked, in the running event loop.
        """
        self._pool = pool
        self._permissions = permissions
        self._asking = None if permissions is None else asyncio.ensure_future(_ask_shell(pool))
        self._is_over = threading.Event()
        self._interval_s = sys.getswitchinterval()
        sys.setswitchinterval(_GIVE_WAY_S)
        self._thread = threading.Thread(target=self._run, name="holdfast-warming")
        self._thread.start()

    def close(self) -> None:
        """Take no further step, and leave the login shell to whoever ends the session's processes."""
        self._is_over.set()
        if self._asking is not None:
            self._asking.cancel()
        self._thread.join()

    def _run(self) -> None:
        try:
            for step in self._steps():
                if self._is_over.is_set():
                    return
                step()
            let_go()
        finally:
            sys.setswitchinterval(self._interval_s)

    def _steps(self) -> Iterator[Callable[[], object]]:
        for name in MODULES:
            yield partial(import_module, name)
        from holdfast.permissions.shell import analyse  # noqa: PLC0415 - loaded by the steps before

        yield partial(analyse, "true")  # the grammar, and what is made with the first command
        if self._permissions is not None:
            yield partial(_compile_rules, self._permissions)
        for tool in self._pool:
            yield partial(getattr, tool, "arguments")


def _compile_rules(permissions: "PermissionContext") -> None:
    """Make the rules about commands ready: each context does that once, with the first command."""
    for behavior in ("deny", "ask", "allow"):
        permissions.book.shell_index(behavior, "Bash")


async def _ask_shell(pool: "Pool") -> None:
    """Ask the login shell as the first command would, where the folder is trusted; that one then need not wait."""
    bash = next((tool for tool in pool if tool.name == "Bash"), None)
    if isinstance(bash, Bash):
        await bash.environment.prepare(bash.board.processes)
