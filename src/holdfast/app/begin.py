"""How a session begins: new, resumed, forked, or without a trace on the disk."""

import logging
import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast import __version__
from holdfast.contract.errors import UsageError

if TYPE_CHECKING:
    from holdfast.contract import WorktreeChanged
    from holdfast.engine import Executor
    from holdfast.session import Session, Transcript

__all__ = ["Beginning", "SessionChoice", "begin_session", "restore_state"]

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
    within = project if choice.resume == "latest" else None
    source: Literal["resume", "fork"] = "fork" if choice.fork else "resume"
    back_to = None if choice.until is None else BackTo(choice.until, choice.drops)
    if not choice.is_kept:
        return Beginning(None, store.load(choice.resume, project=within, back_to=back_to), source)
    if not choice.fork:
        return Beginning(*store.resume(choice.resume, project=within, back_to=back_to), "resume")
    origin = os.path.basename(store.find(choice.resume, project=within))
    return Beginning(*store.fork(origin, project, new_id=choice.session_id, back_to=back_to), "fork")


def restore_state(executor: "Executor", transcript: "Transcript", *, is_fork: bool = False) -> None:
    """Put the executor where the session stood: the directory, if it may still work there, and the files seen."""
    from holdfast.contract import FileRead  # noqa: PLC0415 - only a resumed session has a state
    from holdfast.permissions.paths import is_inside  # noqa: PLC0415 - the same

    state = executor.state
    if transcript.worktree is not None:
        _return_to(executor, transcript.worktree, is_fork=is_fork)
    cwd = transcript.cwd
    if cwd and os.path.isdir(cwd) and is_inside(os.path.realpath(cwd), state.permissions.roots.working):
        state.cwd = cwd
    for path, stamp in transcript.file_reads.items():
        state.apply(FileRead(path, stamp), "Read")


def _return_to(executor: "Executor", tree: "WorktreeChanged", *, is_fork: bool) -> None:
    """Go on in the worktree, if it is still there and of this repository; a fork may not remove it."""
    from holdfast.tools.worktrees.checkout import find_checkout  # noqa: PLC0415 - as above

    state = executor.state
    is_known = tree.root in (find_checkout(state.cwd), state.session.project_root)
    if not is_known or not os.path.isdir(tree.path):
        _log.warning("the session was in the worktree %s, which is gone; it goes on in %s", tree.path, state.cwd)
        return
    cwd = tree.cwd if os.path.isdir(tree.cwd) else tree.path
    state.apply(tree._replace(cwd=cwd, made_by="" if is_fork else tree.made_by), "EnterWorktree")


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
