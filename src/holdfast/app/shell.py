"""What the shell tools need: time limits, environment, background tasks, and where the allowed directories are."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from holdfast.contract import Tool
from holdfast.events import Event
from holdfast.host.child_env import Scrub
from holdfast.host.programs import current_folder
from holdfast.host.ripgrep import Ripgrep
from holdfast.permissions import PermissionContext
from holdfast.settings.environment import Environment
from holdfast.tasks import Places, TaskBoard
from holdfast.tasks.board import MAX_RUNNING
from holdfast.tools.shell._environment import ShellEnvironment
from holdfast.tools.shell._functions import BashWithFunctions
from holdfast.tools.shell.bash import Bash, BashLimits
from holdfast.tools.shell.sleep import Sleep
from holdfast.tools.tasks.task_output import TaskOutput
from holdfast.tools.tasks.task_stop import TaskStop

if TYPE_CHECKING:
    from holdfast.app.rights import Rights
    from holdfast.hooks.command import Confine
    from holdfast.tools.shell._terminals import CommandTerminals
    from holdfast.tools.shell._wall import ShellWall

__all__ = ["ShellChoices", "ShellKit"]

_AUTOMATIC_BACKGROUND_S = 120.0


class ShellChoices(msgspec.Struct, frozen=True):
    """What a session may choose about its shell."""

    session_directory: str | None = None
    """Where task records, task outputs and long results stay; temporary when omitted."""
    session_id: str | None = None
    registry_directory: str | None = None
    """Where running processes are noted, so that the next start can end what a crash left."""
    interactive: bool = False
    """A person watches: long commands go on in the background by themselves."""
    functions: bool = False
    """The setting `shell.functions`."""
    scrub: Scrub = Scrub.CREDENTIALS
    """The setting `env.scrub`."""
    variables: Mapping[str, str] | None = None
    """The setting `env`: what commands see besides our own environment."""
    max_running: int = MAX_RUNNING
    """The setting `tasks.maxRunning`: so many commands run in the background at a time."""
    is_trusted: Callable[[], bool] | None = None
    """The user's login shell is asked only once this says yes."""
    terminals: "CommandTerminals | None" = None
    """The editor that runs the session, where it shows commands."""


class ShellKit:
    """Bash, TaskOutput, TaskStop and Sleep around one board of tasks."""

    def __init__(
        self,
        choices: ShellChoices | None = None,
        *,
        variables: Environment | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        choices = choices or ShellChoices()
        variables = variables or Environment()
        self.permissions: Callable[[], PermissionContext] | None = None
        """The session's rights as they are now, for what is done once for all; calls bring their own."""
        self.wall: ShellWall | None = None
        """The sandbox; set before `tools`."""
        self.confines: Callable[[str], Confine] | None = None
        """The same for `hooks` and for `servers`."""
        self._terminals = choices.terminals
        self.background = not variables.flag("DISABLE_BACKGROUND_TASKS")
        self.places = Places(choices.session_directory)
        self.registry_directory = choices.registry_directory
        self.environment = ShellEnvironment(
            scrub=choices.scrub,
            given=choices.variables,
            functions=choices.functions,
            is_trusted=choices.is_trusted,
            definitions_file=lambda: self.places.result_file("login-functions"),
            roots=self._guarded_roots,
        )
        self.board = TaskBoard(
            self.places,
            environment=self.environment.base,
            session_id=choices.session_id,
            registry_directory=choices.registry_directory,
            on_event=on_event,
            max_running=choices.max_running,
        )
        automatic = variables.flag("AUTO_BACKGROUND_TASKS") or (
            choices.interactive and not variables.is_set("AUTO_BACKGROUND_TASKS")
        )
        self.limits = BashLimits(
            variables.number("BASH_DEFAULT_TIMEOUT_MS") / 1000,
            variables.bash_max_timeout_ms / 1000,
            _AUTOMATIC_BACKGROUND_S if automatic else None,
            automatic_in_subagents=variables.flag("AUTO_BACKGROUND_TASKS"),
        )

    def confine(self, rights: "Rights") -> None:
        """Have a sandbox for the session, used where its settings want one; before `tools`."""
        from holdfast.app.sandbox import SandboxKit  # noqa: PLC0415 - a list of tools needs none
        from holdfast.settings.directories import user_directories  # noqa: PLC0415 - the same

        kit = self.wall = SandboxKit(
            lambda: rights.settings,
            lambda: rights.permissions if self.permissions is None else self.permissions(),
            temporary=lambda: self.places.make(os.path.join(self.places.root, "tmp")),
            journal=os.path.join(user_directories().state, "sandbox"),
            private=self.places.root,
        )
        self.confines = lambda what: partial(kit.confine, what)

    def tools(self, ripgrep: Ripgrep) -> list[Tool]:
        """The tools, all on the same board."""
        kind = BashWithFunctions if self.environment.has_functions else Bash
        bash = kind(
            self.board, limits=self.limits, environment=self.environment, wall=self.wall, terminals=self._terminals
        )
        return [
            bash,
            Sleep(self.board),
            TaskOutput(self.board, ripgrep),
            TaskStop(self.board),
        ]

    def _guarded_roots(self) -> tuple[str, ...]:
        """The directories whose programs we run only for somebody who wants them; in bypass the user wants all."""
        return current_folder() if self.permissions is None else self.permissions().guarded_roots()
