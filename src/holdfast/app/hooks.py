"""The hooks of a session: from the settings' entries to a set that follows the files, and what it needs to run."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from holdfast.contract import UsageError
from holdfast.events import HookRan, HookSpoke, to_builtins
from holdfast.hooks import Hook, HookFailed, Hooks
from holdfast.registry import ALIASES, canonical_name
from holdfast.settings import Settings, SettingsRoots, SourceKind

if TYPE_CHECKING:
    from holdfast.app.options import Options
    from holdfast.app.rights import Rights
    from holdfast.engine import Executor
    from holdfast.hooks import Verdict
    from holdfast.hooks.command import CommandRunner, Confine
    from holdfast.hooks.gate import OnFailure
    from holdfast.hooks.mcp_tool import CallServer, ToolSaid
    from holdfast.hooks.prompt import AskModel
    from holdfast.hooks.schema import Handlers, Runner
    from holdfast.host.processes import Processes
    from holdfast.settings.model import HookEntry

__all__ = ["HookKit"]

_log = logging.getLogger(__name__)
_NOT_APPROVED = "it is not approved as it is now; look at it and run `holdfast trust`"


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
        self._of_turn: tuple[Hook, ...] = ()
        self._directory = session_directory
        self._runner: CommandRunner | None = None
        self._seen: object = None
        self.executor: Executor | None = None
        self.ask_model: AskModel | None = None
        """Puts the question of a prompt hook to a model; without one such hooks fail."""
        self.ask_agent: AskModel | None = None
        """Lets an agent look into the question of an agent hook; without one such hooks fail."""
        self.call_server: CallServer | None = None
        """Calls a tool of an MCP server; without it hooks that want one fail."""
        self.on_wake: Callable[[], None] | None = None
        """Told when a hook in the background has something for the model, which may be waiting for a prompt."""
        self.on_env: Callable[[Mapping[str, str]], None] | None = None
        """Takes variables that a SessionStart hook leaves for later commands."""
        self.confine: Confine | None = None
        """The sandbox, for hooks that are to run in it."""

    def current(self) -> Hooks:
        """The hooks that the settings give now, behind those of the program."""
        settings = self._settings()
        own = (*self._own, *self._of_turn)
        if not settings.hooks:
            return Hooks(own, on_gate_failure=_explicit(settings))
        from holdfast.hooks.schema import hooks_of  # noqa: PLC0415 - most sessions have no hooks

        found = hooks_of(settings.hooks, self._handlers(settings), on_gate_failure=_explicit(settings))
        return Hooks((*own, *found), on_gate_failure=found.on_gate_failure, warnings=found.warnings)

    def brought(self, entries: "Iterable[HookEntry]") -> list[Hook]:
        """Hooks that an agent or a skill brings.

        A folder's count as the user has approved them; a gate that is not approved has failed, any other is left out.
        """
        from holdfast.hooks.schema import hooks_of  # noqa: PLC0415 - few bring any
        from holdfast.settings.schema import GATE_EVENTS  # noqa: PLC0415 - the same

        settings = self._settings()
        if settings.get("disableAllHooks") is True:
            return []
        kept: list[HookEntry] = []
        for entry in entries:
            if settings.get("allowManagedHooksOnly") is True and entry.origin.source is not SourceKind.POLICY:
                continue
            if entry.is_as_approved(settings.approved):
                kept.append(entry)
            elif entry.event in GATE_EVENTS:
                kept.append(msgspec.structs.replace(entry, broken=_NOT_APPROVED))
            else:
                _log.warning("%s: %s: the hook is off: %s", entry.origin, entry.event, _NOT_APPROVED)
        found = hooks_of(tuple(kept), self._handlers(settings))
        for warning in found.warnings:
            _log.warning("%s", warning)
        return list(found)

    def use_own(self, hooks: Iterable[Hook]) -> None:
        """Let these be the hooks of the program that runs the session."""
        self._own = tuple(hooks)
        if self.executor is not None:
            self.executor.hooks = self.current()

    def add_for_turn(self, hooks: Iterable[Hook]) -> None:
        """Let these be heard until the prompt is answered."""
        self._of_turn = (*self._of_turn, *hooks)
        if self.executor is not None:
            self.executor.hooks = self.executor.hooks.with_more(hooks)

    def end_turn(self) -> None:
        """The prompt is answered: what was for it is gone."""
        if self._of_turn and self.executor is not None:
            self._of_turn = ()
            self.executor.hooks = self.current()

    def _handlers(self, settings: Settings) -> "Handlers":
        from holdfast.hooks.schema import Handlers  # noqa: PLC0415 - most sessions have no hooks

        others: dict[str, Callable[[HookEntry], Runner]] = {
            "http": self._http_runner,
            "prompt": self._prompt_runner,
            "agent": self._agent_runner,
            "mcp_tool": self._mcp_runner,
        }
        return Handlers(self._command_runner(settings), others, lambda: self._settings().approved)

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

    def follow_files(self, rights: "Rights") -> None:
        """Take over what changed in the settings files; where hooks have a word in that, after they have spoken."""
        executor = self.executor
        assert executor is not None
        changed = rights.changed_files() if executor.hooks.has("ConfigChange") else []
        if changed:
            task = asyncio.get_running_loop().create_task(self._ask_about(rights, changed))
            executor.call_hooks.awaited.add(task)
            task.add_done_callback(executor.call_hooks.awaited.discard)
        else:
            self._take(rights)

    async def _ask_about(self, rights: "Rights", changed: list[tuple[str, str]]) -> None:
        from holdfast.hooks.session_inputs import ConfigChange  # noqa: PLC0415 - few sessions have such hooks

        assert self.executor is not None
        hooks = self.executor.call_hooks
        blocked = False
        for source, path in changed:
            heard = await hooks.fire(hooks.fill(ConfigChange, source=source, file_path=path))
            blocked = blocked or heard.blocks
        if blocked and not any(source == "policy_settings" for source, _ in changed):
            rights.leave_change()
        else:
            self._take(rights)

    def _take(self, rights: "Rights") -> None:
        assert self.executor is not None
        self.executor.state.permissions = rights.follow(self.executor.state.permissions)
        self.follow()

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
        around.given = {entry.name: entry.value for entry in settings.env}
        around.on_rewake = self._tell
        around.on_env = self.on_env
        around.confine = self.confine
        around.env_file = self._env_file if self._directory is not None else None
        return self._runner

    def _http_runner(self, entry: "HookEntry") -> "Runner":
        from holdfast.hooks.http import HttpRunner  # noqa: PLC0415 - see above

        is_own = entry.folder is None
        may_be_private = is_own or self._settings().get("hooks.allowPrivateAddresses") is True
        return HttpRunner(may_be_private=may_be_private, is_of_folder=not is_own)

    def _prompt_runner(self, entry: "HookEntry") -> "Runner":
        from holdfast.hooks.prompt import PromptRunner  # noqa: PLC0415 - see above

        del entry
        return PromptRunner(self._ask)

    def _agent_runner(self, entry: "HookEntry") -> "Runner":
        from holdfast.hooks.prompt import PromptRunner  # noqa: PLC0415 - see above

        del entry
        return PromptRunner(self._look)

    def _mcp_runner(self, entry: "HookEntry") -> "Runner":
        from holdfast.hooks.mcp_tool import McpToolRunner  # noqa: PLC0415 - see above

        del entry
        return McpToolRunner(self._call)

    async def _ask(self, text: str, model: str | None) -> str:
        if self.ask_model is None:
            raise HookFailed("there is no model here that could be asked")
        return await self.ask_model(text, model)

    async def _look(self, text: str, model: str | None) -> str:
        if self.ask_agent is None:
            raise HookFailed("there is no agent here that could look into it")
        return await self.ask_agent(text, model)

    async def _call(self, server: str, tool: str, given: Mapping[str, Any]) -> "ToolSaid":
        if self.call_server is None:
            raise HookFailed("there are no MCP servers here that could be called")
        return await self.call_server(server, tool, given)

    def _env_file(self, key: str) -> str | None:
        assert self._directory is not None
        path = os.path.join(self._directory, f"hook-environment-{key}.sh")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        except OSError:
            return None
        return path

    def _tell(self, event: str, text: str, summary: str) -> None:
        if self.executor is None:
            return
        from holdfast.agent.prompt.reminders import reminder  # noqa: PLC0415 - few hooks wake anybody

        self.executor.state.prompts.append(reminder(text))
        self.executor.call_hooks.emit(HookSpoke(event, summary))
        if self.on_wake is not None:
            self.on_wake()


def _explicit(settings: Settings) -> "OnFailure | None":
    """The setting `hooks.onGateFailure` where somebody wrote it; unset is not the same as its default."""
    return None if settings.get("hooks.onGateFailure") is None else settings.gate_failure


def listed(settings: Settings) -> Hooks:
    """Every hook of the settings, in its order, and what of the configuration does not count; none can be run."""
    return HookKit(lambda: settings, _no_processes).current()


class Rehearsal(NamedTuple):
    """What hooks said to an event that somebody made up."""

    verdict: "Verdict"
    ran: "list[HookRan]"

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        verdict = self.verdict
        return {
            "decision": verdict.behavior,
            "reason": verdict.reason,
            "updated_input": verdict.updated_input,
            "additional_context": verdict.contexts,
            "stop": verdict.stop,
            "messages": verdict.messages,
            "warnings": verdict.warnings,
            "hooks": [to_builtins(ran) for ran in self.ran],
        }


async def rehearse(options: "Options", event: str, fixture: Mapping[str, Any]) -> Rehearsal:
    """Run the hooks of the settings that fit an event, as a session would.

    Raises:
        UsageError: The fixture does not fit the event.
    """
    from holdfast.app.rights import load_rights  # noqa: PLC0415 - only to try hooks out
    from holdfast.app.sandbox import sandbox_for_once  # noqa: PLC0415 - the same
    from holdfast.hooks.events import EVENTS  # noqa: PLC0415 - the same
    from holdfast.hooks.hear import hear  # noqa: PLC0415 - the same
    from holdfast.host.child_env import Scrub, child_environment  # noqa: PLC0415 - the same
    from holdfast.host.processes import Processes  # noqa: PLC0415 - the same

    rights = load_rights(options)
    settings = rights.settings
    known: dict[str, Any] = {"cwd": settings.cwd, "session_id": "test", "tool_use_id": "toolu_test", "tool_input": {}}
    try:
        told = msgspec.convert({**known, **fixture, "hook_event_name": event}, EVENTS[event])
    except msgspec.ValidationError as error:
        raise UsageError(f"the fixture does not fit {event}: {error}") from error
    ran: list[HookRan] = []
    given = {entry.name: entry.value for entry in settings.env}
    environment = child_environment(scrub=Scrub(settings.env_scrub), given=given)
    with sandbox_for_once(rights) as sandbox:
        async with Processes(environment=environment) as processes:
            kit = HookKit(lambda: settings, lambda: processes)
            kit.confine = partial(sandbox.confine, "hooks")
            hooks = kit.current()
            found = hooks.fitting(
                event, _names(told.subjects()[0]) if told.matched_by == "tool_name" else told.subjects()
            )
            verdict = await hear(
                found, told, hooks, emit=lambda one: ran.append(one) if isinstance(one, HookRan) else None
            )
            await kit.close()
    return Rehearsal(verdict, ran)


def _names(tool: str) -> tuple[str, ...]:
    """The name that the tool has today, and every older one."""
    name = canonical_name(tool)
    return (name, *(old for old, new in ALIASES.items() if new == name))


def _no_processes() -> "Processes":
    raise UsageError("hooks are only listed here, not run")
