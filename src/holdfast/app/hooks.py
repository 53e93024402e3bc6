"""The hooks of a session: from the settings' entries to a set that follows the files, and what it needs to run."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from holdfast.hooks import Hook, Hooks
from holdfast.settings import Settings, SettingsRoots

if TYPE_CHECKING:
    from holdfast.engine import Executor
    from holdfast.hooks.command import CommandRunner
    from holdfast.hooks.gate import OnFailure
    from holdfast.host.processes import Processes

__all__ = ["HookKit"]

_log = logging.getLogger(__name__)


class HookKit:
    """Makes the hooks that hold now. Nothing of it is loaded or started before there is a hook."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        processes: "Callable[[], Processes]",
        *,
        own: Iterable[Hook] = (),
        session_directory: str | None = None,
    ) -> None:
        """Take what the hooks come from.

        Args:
            settings: The settings in force now.
            processes: Where commands are started.
            own: Hooks of the program that runs the session; they come first.
            session_directory: Where the file for variables of SessionStart hooks may be.
        """
        self._settings = settings
        self._processes = processes
        self._own = tuple(own)
        self._directory = session_directory
        self._runner: CommandRunner | None = None
        self._seen: object = None
        self.executor: Executor | None = None

    def current(self) -> Hooks:
        """The hooks that the settings give now, behind those of the program."""
        settings = self._settings()
        if not settings.hooks:
            return Hooks(self._own, on_gate_failure=_explicit(settings))
        from holdfast.hooks.schema import Handlers, hooks_of  # noqa: PLC0415 - most sessions have no hooks

        handlers = Handlers(self._command_runner(settings), {}, lambda: self._settings().approved)
        found = hooks_of(settings.hooks, handlers, on_gate_failure=_explicit(settings))
        return Hooks((*self._own, *found), on_gate_failure=found.on_gate_failure, warnings=found.warnings)

    def follow(self) -> None:
        """Let the executor use what the settings say now, where that is something new."""
        settings = self._settings()
        if self.executor is None or settings is self._seen:
            return
        first = self._seen is None
        self._seen = settings
        if first and not settings.hooks and not self._own:
            return
        hooks = self.current()
        for warning in hooks.warnings:
            _log.warning("%s", warning)
        self.executor.hooks = hooks

    async def close(self) -> None:
        """End what hooks left running."""
        if self._runner is not None:
            await self._runner.close()

    def _command_runner(self, settings: Settings) -> "CommandRunner":
        from holdfast.hooks.command import CommandRunner, Surroundings  # noqa: PLC0415 - see above

        if self._runner is None:
            self._runner = CommandRunner(self._processes, Surroundings())
        around = self._runner.surroundings
        around.project_dir = settings.root
        around.config_dir = SettingsRoots.from_environment().user_existing
        around.env = _variables(settings)
        around.on_rewake = self._tell
        return self._runner

    def _tell(self, text: str) -> None:
        if self.executor is not None:
            self.executor.state.prompts.append(text)


def _explicit(settings: Settings) -> "OnFailure | None":
    """The setting `hooks.onGateFailure` where somebody wrote it; unset is not the same as its default."""
    return None if settings.get("hooks.onGateFailure") is None else settings.gate_failure


def _variables(settings: Settings) -> Mapping[str, str]:
    return {
        entry.name: entry.value for entry in settings.env if entry.name not in os.environ or not entry.children_only
    }
