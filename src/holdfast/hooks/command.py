"""Run a command as a hook: the event as JSON on its standard input, no terminal, a session of its own, a time limit."""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import msgspec

from holdfast.events import encode_json
from holdfast.hooks.answers import HookAnswer, HookFailed, read_output
from holdfast.hooks.inputs import HookInput
from holdfast.hooks.preflight import why_not_started
from holdfast.host.command import Command, Exit, Finished, StartError, Stopped
from holdfast.host.processes import Processes
from holdfast.host.programs import find_program
from holdfast.host.shell import shell_argv
from holdfast.settings.steering import is_steering_variable

__all__ = ["CommandHandler", "CommandRunner", "Confine", "Surroundings"]

_log = logging.getLogger(__name__)
_KEPT_BYTES = 512 << 10
_PREFIXES = ("CLAUDE_", "HOLDFAST_")
_NOT_STARTED = frozenset({126, 127})
"""How shells say that a program cannot be run or is not there."""
_REWAKE_CHARS = 10_000
_SUMMARY_CHARS = 300
_ENV_FILE_S = 5.0
_LEAVE_VARIABLES = frozenset({"SessionStart", "Setup", "CwdChanged", "FileChanged"})
"""Events whose hooks may leave variables for later commands."""
_MARK = b"\0holdfast-variables\0"
_SHOW_VARIABLES = "env -0; printf '\\0holdfast-variables\\0'; set -a; . \"$1\" >&2; env -0"


class CommandHandler(msgspec.Struct, frozen=True):
    """A command as it is configured."""

    command: str
    args: tuple[str, ...] | None = None
    """Given: the program is started with these, without a shell."""
    shell: str = "bash"
    timeout_s: float | None = None
    is_async: bool = False
    rewakes: bool = False
    """In the background, too; exit code 2 tells the model."""
    rewake_message: str = ""
    """Put before what it found, for the model."""
    rewake_summary: str = ""
    """Shown to the user in place of what it found."""
    variables: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """More for its environment, such as where its plugin is."""
    is_as_approved: Callable[[], bool] | None = None
    """Asked before each run: what would run is still what the user approved."""
    is_own: bool = True
    """The user's own, or the program's; false: a folder brings it."""
    may_leave: Callable[[], bool] | None = None
    """Asked where there is a sandbox: the user approved that it runs outside."""


class Confine(Protocol):
    """The sandbox, as hooks see it."""

    def __call__(
        self, command: Command, *, is_own: bool, may_leave: Callable[[], bool], writable: tuple[str, ...]
    ) -> Command:
        """The same command, confined if it is to be; `writable` is what it may write besides.

        Raises:
            StartError: It is to be, and there is no sandbox.
        """
        ...


class Surroundings(msgspec.Struct):
    """What commands see of the session."""

    project_dir: str = ""
    config_dir: str = ""
    given: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Variables of the settings, which every command sees."""
    env_file: Callable[[str], str | None] | None = None
    """Names the file in which a hook leaves variables for later commands; each has one of its own."""
    on_env: Callable[[Mapping[str, str]], None] | None = None
    """Takes the variables of that file."""
    on_rewake: Callable[[str, str, str], None] | None = None
    """Tells the model what a hook in the background found (event, text), and the user in a few words."""
    confine: "Confine | None" = None
    """Puts a hook behind the sandbox's wall, where the settings want it."""


class CommandRunner:
    """Runs the command hooks of one session."""

    def __init__(self, processes: Callable[[], Processes], surroundings: Surroundings) -> None:
        """Take where processes are started, and what they see."""
        self._processes = processes
        self.surroundings = surroundings
        self._encoded: tuple[HookInput, bytes] | None = None
        self._background: set[asyncio.Task[None]] = set()

    async def run(self, handler: CommandHandler, event: HookInput) -> HookAnswer:
        """Run a handler and read its answer; one for the background is only started.

        Raises:
            HookFailed: It could not be started, was ended, or said nothing that can be relied upon.
        """
        if handler.is_as_approved is not None and not await asyncio.to_thread(handler.is_as_approved):
            raise HookFailed("it is not what was approved any more; look at it and run `holdfast trust` again")
        plain = self._command(handler, event)
        command = await self._confined(handler, plain, plain.env.get("CLAUDE_ENV_FILE"))
        if not (handler.is_async or handler.rewakes):
            return await self._finish(handler, event, command)
        task = asyncio.get_running_loop().create_task(self._in_background(handler, event, command))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return HookAnswer()

    def problem(self, handler: CommandHandler) -> str:
        """Why a handler would not start now, in the project's directory; empty when it would, or nobody knows."""
        around = self.surroundings
        if handler.shell == "powershell":
            return "" if find_program("pwsh", outside=[]) else "it wants PowerShell, and `pwsh` is not on the PATH"
        known = {prefix + "PROJECT_DIR": around.project_dir for prefix in _PREFIXES}
        return why_not_started(
            handler.command,
            handler.args,
            {**around.given, **known, **handler.variables},
            around.project_dir or os.getcwd(),
        )

    async def close(self) -> None:
        """End what still runs in the background."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _finish(self, handler: CommandHandler, event: HookInput, command: Command) -> HookAnswer:
        try:
            finished = await self._processes().run(command)
        except StartError as error:
            raise HookFailed(str(error)) from error
        _check(finished.exit, command)
        if event.event_name in _LEAVE_VARIABLES and self.surroundings.on_env is not None:
            await self._take_variables(handler, str(command.env.get("CLAUDE_ENV_FILE") or ""))
        try:
            return _read(handler, type(event), finished, command)
        except HookFailed as error:
            if error.is_soft and (problem := self._why_not(handler, command)):
                raise HookFailed(f"it cannot start: {problem}") from error
            raise

    def _why_not(self, handler: CommandHandler, command: Command) -> str:
        """An interpreter says by an exit code of its own that the script is missing; that is no word of the script."""
        known = {name: value for name, value in command.env.items() if value is not None}
        where = os.fspath(command.cwd or os.getcwd())
        if handler.shell == "powershell":
            return ""
        return why_not_started(handler.command, handler.args, {**self.surroundings.given, **known}, where)

    async def _take_variables(self, handler: CommandHandler, path: str) -> None:
        """What a shell would know after it has read the file, beyond what it knew before.

        The file is code of whoever wrote it: it is read behind the same wall, and one that was behind a wall does not
        steer what runs in front of it.
        """
        if not os.path.isfile(path) or not os.path.getsize(path) or self.surroundings.on_env is None:
            return
        plain = Command(
            argv=["/bin/bash", "--norc", "--noprofile", "-c", _SHOW_VARIABLES, "-", path],
            cwd=self.surroundings.project_dir or None,
            kept_bytes=_KEPT_BYTES,
            timeout_s=_ENV_FILE_S,
        )
        command = await self._confined(handler, plain)
        try:
            finished = await self._processes().run(command)
        except StartError as error:
            _log.warning("the variables that a hook left cannot be read: %s", error)
            return
        head, dropped, tail = finished.output.stdout.kept()
        before, mark, after = (head + tail).partition(_MARK)
        if dropped or not mark:
            _log.warning("the variables that a hook left cannot be read: %s", finished.output.stderr.text()[:300])
            return
        known = set(before.split(b"\0"))
        found = [entry.partition(b"=") for entry in after.split(b"\0") if entry not in known]
        named = {os.fsdecode(name): os.fsdecode(value) for name, sign, value in found if name and sign}
        if command is not plain and (steering := sorted(filter(is_steering_variable, named))):
            _log.warning("a hook in the sandbox may not set %s", ", ".join(steering))
            named = {name: value for name, value in named.items() if name not in steering}
        self.surroundings.on_env(named)

    async def _in_background(self, handler: CommandHandler, event: HookInput, command: Command) -> None:
        try:
            finished = await self._processes().run(command)
        except StartError as error:
            _log.warning("a %s hook in the background was not started: %s", event.event_name, error)
            return
        if not handler.rewakes or finished.exit.code != 2 or self.surroundings.on_rewake is None:
            return
        said = finished.output.stderr.text().strip() or finished.output.stdout.text().strip()
        lead = handler.rewake_message or f"A {event.event_name} hook that ran in the background reports:"
        summary = handler.rewake_summary or said[:_SUMMARY_CHARS]
        self.surroundings.on_rewake(event.event_name, f"{lead}\n{said[:_REWAKE_CHARS]}".strip(), summary)

    def _command(self, handler: CommandHandler, event: HookInput) -> Command:
        variables = self._variables(handler, event)
        kind = type(event)
        return Command(
            argv=_argv(handler, variables),
            cwd=event.cwd if os.path.isdir(event.cwd) else self.surroundings.project_dir or None,
            env={**handler.variables, **variables},
            stdin=self._stdin(event),
            kept_bytes=_KEPT_BYTES,
            timeout_s=kind.timeout_s if handler.timeout_s is None else handler.timeout_s,
            kill_grace_s=0.2,
            label=f"hook {event.event_name}",
        )

    async def _confined(self, handler: CommandHandler, command: Command, file: str | None = None) -> Command:
        confine = self.surroundings.confine
        if confine is None:
            return command
        writable = (file,) if file else ()
        may_leave = handler.may_leave or _never
        try:
            # It looks at files: those that the hook runs, and those that rules deny.
            return await asyncio.to_thread(
                confine, command, is_own=handler.is_own, may_leave=may_leave, writable=writable
            )
        except StartError as error:
            raise HookFailed(str(error)) from error

    def _stdin(self, event: HookInput) -> bytes:
        if self._encoded is None or self._encoded[0] is not event:
            self._encoded = (event, encode_json(event) + b"\n")
        return self._encoded[1]

    def _variables(self, handler: CommandHandler, event: HookInput) -> dict[str, str]:
        around = self.surroundings
        own: dict[str, Any] = {
            "PROJECT_DIR": around.project_dir or event.cwd,
            "SESSION_ID": event.session_id,
            "TRANSCRIPT_PATH": event.transcript_path,
            "HOOK_EVENT_NAME": event.event_name,
            "CONFIG_DIR": around.config_dir,
            "EFFORT": event.effort.get("level") if isinstance(event.effort, dict) else None,
            "AGENT_ID": event.agent_id if isinstance(event.agent_id, str) else None,
            "TOOL_NAME": getattr(event, "tool_name", None),
            **_of_input(getattr(event, "tool_input", None)),
        }
        if event.event_name in _LEAVE_VARIABLES and around.env_file is not None:
            words = "\0".join((handler.command, *(handler.args or ())))
            own["ENV_FILE"] = around.env_file(hashlib.sha256(words.encode(errors="replace")).hexdigest()[:12])
        found = {prefix + name: str(value) for name, value in own.items() if value for prefix in _PREFIXES}
        return {name: value for name, value in found.items() if name not in handler.variables and "\0" not in value}


def _never() -> bool:
    return False


def _of_input(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        return {}
    known = cast("Mapping[str, Any]", given)
    path = known.get("file_path") or known.get("notebook_path") or known.get("path")
    return {"TOOL_FILE_PATH": path, "TOOL_INPUT_FILE_PATH": path} if isinstance(path, str) else {}


def _argv(handler: CommandHandler, variables: Mapping[str, str]) -> list[str]:
    if handler.args is not None:
        known = {**handler.variables, **variables}
        return [_filled(word, known) for word in (handler.command, *handler.args)]
    if handler.shell == "powershell":
        program = find_program("pwsh", outside=[place for place in (variables.get("CLAUDE_PROJECT_DIR"),) if place])
        if program is None:
            raise HookFailed("it wants PowerShell, and `pwsh` is not on the PATH")
        return [program, "-NoProfile", "-NonInteractive", "-Command", handler.command]
    return list(shell_argv(handler.command))


def _filled(word: str, variables: Mapping[str, str]) -> str:
    """The exec form has no shell: only our own variables are put in."""
    for name, value in variables.items():
        word = word.replace(f"${{{name}}}", value)
    return word


def _check(exit_: Exit, command: Command) -> None:
    if exit_.timed_out:
        raise HookFailed(f"it took longer than {command.timeout_s:g} s and was ended")
    if exit_.stopped_by is not Stopped.NOBODY:
        raise HookFailed("it was ended before it had answered")
    if exit_.signal is not None:
        raise HookFailed(f"it was ended by signal {exit_.signal}")


def _read(handler: CommandHandler, event: type[HookInput], finished: Finished, command: Command) -> HookAnswer:
    code = finished.exit.code or 0
    errors = finished.output.stderr.text()
    if code in _NOT_STARTED and handler.args is None and errors.startswith(f"{os.fspath(command.argv[0])!s}: "):
        raise HookFailed(f"it cannot be run: {errors.strip()[:300]}")
    _, dropped, _ = finished.output.stdout.kept()
    return read_output(event, code, finished.output.stdout.text(), errors, is_cut=dropped > 0)
