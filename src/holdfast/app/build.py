"""The composition root: from options to a working session."""

import logging
import os
from collections.abc import Callable
from types import TracebackType
from typing import Self

from holdfast import __version__
from holdfast.app.keep_rules import RuleKeeper
from holdfast.app.options import Options
from holdfast.app.rights import Rights, load_rights
from holdfast.app.tools import assemble
from holdfast.contract import Asker, PromptFacts, SessionFacts
from holdfast.engine import DEFAULT_MAX_CONCURRENCY, Executor
from holdfast.events import Event, TurnEnded
from holdfast.registry import ViewOptions
from holdfast.session import Session, SessionError, user_store
from holdfast.settings.environment import Environment

__all__ = ["OpenSession", "build_executor", "open_session"]

_log = logging.getLogger(__name__)


class OpenSession:
    """An executor with its rights and, unless the state directory cannot be used, its journal on disk."""

    def __init__(self, executor: Executor, rights: Rights, session: Session | None) -> None:
        self.executor = executor
        self.rights = rights
        self.session = session

    async def close(self) -> None:
        """End every call, then the journal."""
        try:
            await self.executor.close()
        finally:
            if self.session is not None:
                self.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def open_session(
    options: Options, *, asker: Asker | None = None, on_event: Callable[[Event], None] | None = None
) -> OpenSession:
    """A session on disk with the built-in tools and the rights that settings and options give."""
    rights = load_rights(options)
    session = _new_session(rights.settings.cwd)
    if session is not None:
        readable = tuple(map(str, (session.tool_results, session.tasks, session.blobs)))
        rights.permissions = rights.permissions.with_options(readable=readable)
    followers: list[Callable[[Event], None]] = []
    executor = _executor(options, rights, asker=asker, on_event=_fan_out(session, on_event, followers), session=session)

    def follow_settings(event: Event) -> None:
        if isinstance(event, TurnEnded):
            executor.state.permissions = rights.follow(executor.state.permissions)

    followers.append(follow_settings)
    return OpenSession(executor, rights, session)


def build_executor(
    options: Options, *, asker: Asker | None = None, on_event: Callable[[Event], None] | None = None
) -> Executor:
    """An executor with the built-in tools and the rights that settings and options give, and nothing on disk."""
    return _executor(options, load_rights(options), asker=asker, on_event=on_event, session=None)


def _executor(
    options: Options,
    rights: Rights,
    *,
    asker: Asker | None,
    on_event: Callable[[Event], None] | None,
    session: Session | None,
) -> Executor:
    environment = Environment(os.environ)
    cwd, permissions = rights.settings.cwd, rights.permissions
    facts = SessionFacts(
        session_id=session.id if session is not None else "local",
        project_root=rights.settings.root,
        prompt=PromptFacts(interactive=asker is not None),
    )
    view = ViewOptions(
        only=None if options.tools is None else frozenset(options.tools),
        simple=environment.flag("SIMPLE"),
        session=facts,
    )
    return Executor(
        assemble(permissions, own_tools=options.own_tools, options=view),
        permissions=permissions,
        cwd=cwd,
        session=facts,
        asker=asker,
        on_event=on_event,
        max_concurrency=environment.number("MAX_TOOL_CONCURRENCY") or DEFAULT_MAX_CONCURRENCY,
        sibling_errors=rights.settings.sibling_errors,
        spill_directory=session.tool_results if session is not None else None,
        keep_rules=RuleKeeper(cwd),
    )


def _new_session(project: str) -> Session | None:
    try:
        return user_store(program=f"holdfast {__version__}").create(project)
    except SessionError as error:
        _log.warning("this session is not written to disk: %s", error)
        return None


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
