"""How a session begins: new, resumed, forked, or without a trace on the disk."""

import logging
import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast import __version__
from holdfast.contract.errors import UsageError

if TYPE_CHECKING:
    from holdfast.contract import WorktreeChanged
    from holdfast.engine import Executor
    from holdfast.events import ContextChanged
    from holdfast.session import Session, SessionStore, Transcript

__all__ = ["Beginning", "SessionChoice", "begin_session", "mode_changed", "restore_mode", "restore_state"]

_log = logging.getLogger(__name__)


class SessionChoice(NamedTuple):
    """Which session to write to, and which to remember."""

    resume: str | None = None
    """The id of an earlier session, the unique beginning of one, or `latest` for this directory's last."""
    fork: bool = False
    """Leave the resumed session as it is and go on in a new one."""
    session_id: str | None = None
    """The id of the new session; made up when omitted."""
    is_kept: bool = True
    """False: nothing is written."""
    until: str | None = None
    """Of the resumed session only what was said up to this message, by its uuid."""
    is_cleared: bool = False
    """It takes the place of a conversation that the user has put away."""
    drops: str | None = None
    """The prompt that must be the first one left out then; with another nothing begins."""


NEW_SESSION = SessionChoice()


class Beginning(NamedTuple):
    """What a session starts from."""

    session: "Session | None"
    """None: nothing is written to disk."""
    transcript: "Transcript | None"
    """What the resumed session remembers."""
    source: Literal["startup", "clear", "resume", "fork"]
    waiting: tuple[dict[str, str], ...] = ()
    """What was said before there was anybody to tell it to the model: `content` and `source`."""


def begin_session(project: str, choice: SessionChoice = NEW_SESSION) -> Beginning:
    """Make or open the session.

    A new session that cannot be written is only said loudly; one that was asked for by name must work.

    Raises:
        SessionError: The session to resume is not there, in use or too new, or the chosen id is taken.
        UsageError: The choices contradict each other.
    """
    if choice.resume is None:
        if choice.fork:
            raise UsageError("a fork needs a session to fork from; add --resume ID or --continue")
        return Beginning(_new_session(project, choice), None, "clear" if choice.is_cleared else "startup")
    if choice.session_id is not None and not choice.fork:
        raise UsageError("a resumed session keeps its id; add --fork-session to go on under a new one")
    from holdfast.session import user_store  # noqa: PLC0415 - the choice is made before the first request, not this
    from holdfast.session.directory import BackTo  # noqa: PLC0415 - the same

    store = user_store(program=f"holdfast {__version__}")
    choice, is_fresh = _adopted(store, project, choice)
    assert choice.resume is not None
    within = project if choice.resume == "latest" else None
    source: Literal["resume", "fork"] = "fork" if choice.fork else "resume"
    back_to = None if choice.until is None else BackTo(choice.until, choice.drops)
    if not choice.is_kept:
        return Beginning(None, store.load(choice.resume, project=within, back_to=back_to), source)
    origin = os.path.basename(store.find(choice.resume, project=within))
    if choice.fork:
        session, transcript = store.fork(origin, project, new_id=choice.session_id, back_to=back_to)
    else:
        session, transcript = store.resume(origin, back_to=back_to)
    if back_to is None and not is_fresh:
        from holdfast.session.adopting import catch_up  # noqa: PLC0415 - only where a session goes on

        catch_up(session, transcript, _config(), project, origin)
    return Beginning(session, transcript, source)


def _config() -> str:
    from holdfast.settings import SettingsRoots  # noqa: PLC0415 - as above

    return SettingsRoots.from_environment().user_existing


def _adopted(store: "SessionStore", project: str, choice: SessionChoice) -> tuple[SessionChoice, bool]:
    """The choice, and whether a conversation that only another program's transcript holds just became a session."""
    from holdfast.session import SessionNotFound  # noqa: PLC0415 - as above

    wanted = choice.resume or ""
    try:
        store.find(wanted, project=project if wanted == "latest" else None)
    except SessionNotFound:
        from holdfast.session.adopting import adopt_transcript, newest_transcript  # noqa: PLC0415 - few are

        config = _config()
        name = newest_transcript(config, project) if wanted == "latest" else wanted
        if name and adopt_transcript(store, config, project, name):
            return choice._replace(resume=name), True
        raise
    return choice, False


def restore_state(executor: "Executor", transcript: "Transcript", *, is_fork: bool = False) -> None:
    """Put the executor where the session stood: the directory, if it may still work there, and the files seen."""
    from holdfast.contract import FileRead  # noqa: PLC0415 - only a resumed session has a state
    from holdfast.permissions.paths import is_inside  # noqa: PLC0415 - the same

    state = executor.state
    cwd = transcript.cwd
    if transcript.worktree is not None and not _return_to(executor, transcript.worktree, is_fork=is_fork):
        cwd = None
    if cwd and os.path.isdir(cwd) and is_inside(os.path.realpath(cwd), state.permissions.roots.working):
        state.cwd = cwd
    for path, stamp in transcript.file_reads.items():
        state.apply(FileRead(path, stamp), "Read")


def restore_mode(executor: "Executor", beginning: Beginning, *, is_given: bool) -> None:
    """Who has not approved a plan yet goes on planning, unless another mode was asked for by name."""
    state, transcript = executor.state, beginning.transcript
    if transcript is None or transcript.mode != "plan" or state.permissions.mode == "plan":
        return
    if not is_given:
        state.permissions = state.permissions.with_mode("plan")
    elif beginning.session is not None:
        beginning.session.journal(mode_changed(state.permissions.mode))


def mode_changed(mode: str) -> "ContextChanged":
    """What is remembered of a change that no call has made."""
    from holdfast.contract import ModeChanged  # noqa: PLC0415 - few sessions change it
    from holdfast.events import ContextChanged  # noqa: PLC0415 - the same

    return ContextChanged("", ModeChanged.__name__, {"mode": mode})


def _return_to(executor: "Executor", tree: "WorktreeChanged", *, is_fork: bool) -> bool:
    """Go on in the worktree, if it is still there and of this repository; a fork may not remove it."""
    from holdfast.tools.worktrees.checkout import find_checkout, is_still_there  # noqa: PLC0415 - as above

    state = executor.state
    is_known = tree.root in (find_checkout(state.cwd), state.session.project_root)
    if not is_known or not is_still_there(tree):
        _log.warning("the session was in the worktree %s, which is gone; it goes on in %s", tree.path, state.cwd)
        return False
    cwd = tree.cwd if os.path.isdir(tree.cwd) else tree.path
    state.apply(tree._replace(cwd=cwd, made_by="" if is_fork else tree.made_by), "EnterWorktree")
    return True


def _new_session(project: str, choice: SessionChoice) -> "Session | None":
    if not choice.is_kept:
        return None
    from holdfast.session import SessionError, user_store  # noqa: PLC0415 - as above

    try:
        return user_store(program=f"holdfast {__version__}").create(project, session_id=choice.session_id)
    except SessionError as error:
        if choice.session_id is not None:
            raise
        _log.error("this session is not written to disk: %s", error)
        return None
