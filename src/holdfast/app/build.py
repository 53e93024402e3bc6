"""The composition root: from options to a working session."""

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import __version__
from holdfast.app.begin import NEW_SESSION, Beginning, SessionChoice, begin_session, restore_mode, restore_state
from holdfast.app.calls import calls_home
from holdfast.app.classifier import classifier_of
from holdfast.app.files import FileKit
from holdfast.app.hooks import HookKit
from holdfast.app.not_honoured import refuse_what_must_hold
from holdfast.app.options import Options
from holdfast.app.rights import Rights, load_rights
from holdfast.app.shell import ShellChoices, ShellKit
from holdfast.app.side_question import Account
from holdfast.app.tools import assemble
from holdfast.contract import Asker, PermissionUpdate, PromptFacts, SessionFacts
from holdfast.engine import DEFAULT_MAX_CONCURRENCY, Executor
from holdfast.events import Event, TurnEnded
from holdfast.host.child_env import Scrub
from holdfast.lib.closing import ClosedAtExit
from holdfast.lib.collector import let_go
from holdfast.registry import ViewOptions
from holdfast.session import Session
from holdfast.session.directory import JOURNAL_NAME
from holdfast.session.leftovers import end_leftovers
from holdfast.session.shared_transcript import TRANSCRIPT_NAME, SharedTranscript
from holdfast.settings.environment import Environment
from holdfast.tasks.board import MAX_RUNNING
from holdfast.tools.settings.config import Config

if TYPE_CHECKING:
    from holdfast.engine.askers import SeenQuestions
    from holdfast.mcp.host_transport import AskHost
    from holdfast.mcp.hub import Hub

__all__ = ["OpenSession", "build_executor", "executor_for_call", "open_session"]

_log = logging.getLogger(__name__)
_PLAN_NAME = "plan.md"


class OpenSession(ClosedAtExit):
    """An executor with its rights and, unless the state directory cannot be used, its journal on disk."""

    def __init__(
        self,
        executor: Executor,
        rights: Rights,
        beginning: Beginning,
        *,
        shell: ShellKit,
        files: FileKit,
        hooks: HookKit,
        account: Account,
        asker: "SeenQuestions | None" = None,
    ) -> None:
        self.executor = executor
        self.asker = asker
        """Who can be asked."""
        self.account = account
        """Who pays for questions to other models."""
        self.rights = rights
        self.session = beginning.session
        self.beginning = beginning
        self.shell = shell
        self.hooks = hooks
        self.servers: Hub | None = None
        """Remote servers, once `join_servers` has started them."""
        self.ask_host: AskHost | None = None
        """Reaches servers inside the program that runs the session."""
        self.form_asker: Asker | None = asker
        """Who fills in what servers ask for."""
        self.own_servers: Mapping[str, Any] = {}
        """MCP servers that live in this process, by name."""
        self.given_servers: dict[str, bytes] = {}
        """Those that it gave while the session ran, by name."""
        self.offers: Callable[[str], bool] | None = None
        """Which remote tools are offered, by name; none: all that the rules leave."""
        self.on_tools: Callable[[], None] = _nobody_listens
        """Told when tools of remote servers have come or gone."""
        self.registry_directory = shell.registry_directory
        self._files = files

    def background(self, tool_use_id: str) -> bool:
        """Let a running call go on in the background, as the user wishes; false if there is none that can."""
        return any(tool.background(tool_use_id) for tool in self.executor.pool)

    async def close(self) -> None:
        """End every call, then the notes about files and the journal."""
        async with AsyncExitStack() as parts:  # from the last to the first, whatever one of them raises
            if self.session is not None:
                parts.callback(self.session.close)
            parts.callback(self._files.close)
            if self.servers is not None:
                parts.push_async_callback(self.servers.close)
            parts.push_async_callback(self.executor.close)
            parts.push_async_callback(self.hooks.close)


def open_session(
    options: Options,
    *,
    asker: Asker | None = None,
    on_event: Callable[[Event], None] | None = None,
    choice: SessionChoice = NEW_SESSION,
    rights: Rights | None = None,
    agents: tuple[str, ...] = (),
    beginning: Beginning | None = None,
) -> OpenSession:
    """A session with the built-in tools and the rights that settings and options give; on disk unless chosen not.

    `agents`: the types of agents that whoever opens it can start. `beginning`: the choice was made, and this begun.
    """
    rights = rights or load_rights(options)
    seen = None
    if asker is not None:
        from holdfast.engine.askers import SeenQuestions  # noqa: PLC0415 - only where somebody can be asked

        seen = SeenQuestions(asker)
    beginning = beginning or begin_session(rights.settings.cwd, choice)
    session = beginning.session
    followers: list[Callable[[Event], None]] = []
    listener = _fan_out(session, on_event, followers)
    account = Account()
    executor, shell, files, hooks = _executor(
        options, rights, asker=seen, on_event=listener, session=session, agents=agents, account=account
    )
    executor.state.may_bypass = executor.state.may_bypass or options.may_bypass
    if beginning.transcript is not None:
        restore_state(executor, beginning.transcript, is_fork=beginning.source == "fork")
        restore_mode(executor, beginning, is_given=options.permission_mode is not None)

    def follow_settings(event: Event) -> None:
        if isinstance(event, TurnEnded):
            hooks.follow_files(rights)

    followers.append(follow_settings)
    let_go()
    return OpenSession(executor, rights, beginning, shell=shell, files=files, hooks=hooks, account=account, asker=seen)


def build_executor(
    options: Options,
    *,
    asker: Asker | None = None,
    on_event: Callable[[Event], None] | None = None,
    agents: tuple[str, ...] = (),
) -> Executor:
    """An executor with the built-in tools and the rights that settings and options give, and nothing on disk.

    `agents`: the types of agents that are told of; without a loop none can be started.
    """
    return _executor(options, load_rights(options), asker=asker, on_event=on_event, session=None, agents=agents)[0]


def executor_for_call(options: Options) -> tuple[Executor, Rights]:
    """An executor for a single call of a person: its changes can be taken back, and its long results stay."""
    rights = load_rights(options)
    home = calls_home(rights.settings.cwd)
    made = _executor(options, rights, asker=None, on_event=None, session=None, call_home=home)
    return made[0], rights


def _executor(
    options: Options,
    rights: Rights,
    *,
    asker: Asker | None,
    on_event: Callable[[Event], None] | None,
    session: Session | None,
    call_home: str | None = None,
    agents: tuple[str, ...] = (),
    account: Account | None = None,
) -> tuple[Executor, ShellKit, FileKit, HookKit]:
    refuse_what_must_hold(rights.settings)
    environment = Environment(os.environ)
    home = call_home if session is None else session.path
    shell, files = _kits(rights, session, home, options, interactive=asker is not None, on_event=on_event)
    shell.background = shell.background and call_home is None
    facts = SessionFacts(
        session_id=session.id if session is not None else "local",
        project_root=rights.settings.root,
        prompt=PromptFacts(agents, shell.background, sandbox=rights.is_confined, interactive=asker is not None),
    )
    view = ViewOptions(
        only=None if options.tools is None else frozenset(options.tools),
        simple=environment.flag("SIMPLE"),
        session=facts,
    )
    executor = Executor(
        assemble(
            rights.permissions,
            own_tools=options.own_tools,
            options=view,
            shell=shell,
            files=files,
            settings=rights.settings,
            account=account,
        ),
        permissions=rights.permissions,
        cwd=rights.settings.cwd,
        session=facts,
        asker=asker,
        on_event=on_event,
        max_concurrency=environment.number("MAX_TOOL_CONCURRENCY") or DEFAULT_MAX_CONCURRENCY,
        sibling_errors=rights.settings.sibling_errors,
        spill_directory=Path(shell.places.results),
        keep_rules=partial(_keep_rules, rights.settings.cwd),
        classify=classifier_of(rights.settings, account),
    )
    _tell(executor, rights, shell, files)
    hooks = _hook_kit(options, rights, executor, shell=shell, session=session, home=home)
    hooks.follow()
    return executor, shell, files, hooks


def _keep_rules(cwd: str, update: PermissionUpdate) -> tuple[str, ...]:
    """Write down what the user wants always; returns the files in which rules were replaced or removed."""
    from holdfast.app.keep_rules import RuleKeeper  # noqa: PLC0415 - few sessions keep a rule

    return RuleKeeper(cwd)(update)


def _tell(executor: Executor, rights: Rights, shell: ShellKit, files: FileKit) -> None:
    """Let the tools see the rights and settings as they are now."""
    shell.permissions = files.permissions = lambda: executor.state.permissions
    found = executor.pool.find("Config")
    if found is not None and isinstance(found.tool, Config):
        found.tool.now = lambda: rights.settings


def _hook_kit(
    options: Options,
    rights: Rights,
    executor: Executor,
    *,
    shell: ShellKit,
    session: Session | None,
    home: str | None,
) -> HookKit:
    """What hooks need: processes, the conversation as a file, and where variables for later commands go."""
    hooks = HookKit(lambda: rights.settings, lambda: shell.board.processes, own=options.hooks, session_directory=home)
    hooks.executor = executor
    hooks.on_env = shell.environment.give
    if shell.confines is not None:
        hooks.confine = shell.confines("hooks")
    if session is not None:
        shared = SharedTranscript(
            os.path.join(session.path, JOURNAL_NAME),
            os.path.join(session.path, TRANSCRIPT_NAME),
            session_id=session.id,
            cwd=rights.settings.cwd,
            version=__version__,
        )
        executor.call_hooks.before_hooks = shared.refresh
        executor.state.session = executor.state.session._replace(transcript_path=shared.path)
    return hooks


def _kits(
    rights: Rights,
    session: Session | None,
    home: str | None,
    options: Options,
    *,
    interactive: bool,
    on_event: Callable[[Event], None] | None,
) -> tuple[ShellKit, FileKit]:
    """What the shell and file tools share; the rights may read where their long results go."""
    settings = rights.settings
    shell = ShellKit(
        ShellChoices(
            session_directory=home,
            session_id=None if session is None else session.id,
            registry_directory=None if home is None else end_leftovers(),
            interactive=interactive,
            functions=settings.shell_functions,
            scrub=Scrub(settings.env_scrub),
            variables={entry.name: entry.value for entry in settings.env},
            is_trusted=lambda: rights.settings.trusted,
            max_running=_limit(settings.get("tasks.maxRunning")),
            terminals=options.terminals,
        ),
        on_event=on_event,
    )
    shell.confine(rights)
    files = FileKit(home, options.buffers)
    for removed in files.recover():
        _log.info("removed %s, which a crashed process left", removed)
    readable = [shell.places.results, shell.places.tasks, *([] if session is None else [str(session.blobs)])]
    plan_file = os.path.join(shell.places.root, _PLAN_NAME)
    rights.permissions = rights.permissions.with_options(readable=readable, plan_file=plan_file)
    return shell, files


def _limit(value: object) -> int:
    return value if isinstance(value, int) else MAX_RUNNING


def _nobody_listens() -> None:
    """Where news goes that nobody wants."""


def _fan_out(
    session: Session | None, listener: Callable[[Event], None] | None, followers: list[Callable[[Event], None]]
) -> Callable[[Event], None]:
    """One listener that tells the journal first, then whoever watches."""
    if session is not None:
        followers.append(session.journal)
    if listener is not None:
        followers.append(listener)

    def tell(event: Event) -> None:
        for follower in followers:
            follower(event)

    return tell
