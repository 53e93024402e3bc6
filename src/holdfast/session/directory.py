"""Where sessions live: one private directory each, under one per project, with a lock, a journal and room for files.

<state>/sessions/<project name and hash>/<session id>/
    journal.jsonl   what happened
    lock            who writes to it
    tool-results/   results too long for the model
    tasks/          output of background tasks
    blobs/          pictures and other bytes
    transcript.jsonl  the conversation for hook scripts, made when one runs
"""

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self, TypeVar

import msgspec

from holdfast.session.errors import SessionError, SessionNotFound, SessionTooNew
from holdfast.session.journal import Durability, Journal, Trouble
from holdfast.session.lock import SessionLock
from holdfast.session.names import check_session_id, new_session_id, project_slug
from holdfast.session.private import open_child_directory, open_private_directory, open_private_file
from holdfast.session.records import (
    COMPACTION,
    JOURNAL_VERSION,
    PROMPT_QUEUED,
    NoteRecorded,
    SessionClosed,
    SessionOpened,
    SessionResumed,
)
from holdfast.session.transcript import Transcript, read_transcript
from holdfast.settings.directories import user_directories

__all__ = [
    "JOURNAL_NAME",
    "BackTo",
    "JournalChoices",
    "Session",
    "SessionStore",
    "journal_file",
    "read_journal",
    "user_store",
]

JOURNAL_NAME = "journal.jsonl"
Made = TypeVar("Made", bound=Transcript)
_FOLDERS = ("tool-results", "tasks", "blobs")


class JournalChoices(msgspec.Struct, frozen=True):
    """How a session's journal is kept; see `Journal`."""

    durability: Durability = "turn"
    redact: Callable[[bytes], bytes] | None = None
    on_trouble: Callable[[Trouble | None], None] | None = None


_ORDINARY = JournalChoices()


class Session:
    """An open session: this process is its only writer until `close`."""

    def __init__(self, session_id: str, path: str, *, lock: SessionLock, journal: Journal, handles: ExitStack) -> None:
        self.id = session_id
        self.path = path
        self.journal = journal
        self.tool_results = Path(path, "tool-results")
        """Give it to the executor as `spill_directory`."""
        self.tasks = Path(path, "tasks")
        self.blobs = Path(path, "blobs")
        self._lock = lock
        self._handles = handles

    def close(self) -> None:
        """End in order: the journal is written and on the disk, the lock is free. Again is allowed."""
        self.journal.record(SessionClosed())
        self.journal.close()
        self._lock.release()
        self._handles.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SessionStore:
    """All sessions of one user, below one private directory (by default `<state>/sessions`)."""

    def __init__(self, root: str | os.PathLike[str], *, program: str = "") -> None:
        """Use a directory, made with the first session; `program` is noted as the writer of new lines."""
        self.root: str = os.path.abspath(os.fspath(root))
        self.program = program

    # Opening.

    def create(
        self,
        project: str,
        *,
        session_id: str | None = None,
        parent: str | None = None,
        choices: JournalChoices = _ORDINARY,
    ) -> Session:
        """Begin a session for a project directory.

        Raises:
            SessionError: The id is taken or no id, or the directory cannot be made or is not safe.
        """
        session_id = check_session_id(session_id) if session_id is not None else new_session_id()
        path = os.path.join(self.root, project_slug(project), session_id)
        with _explained(path, "begun"), ExitStack() as handles:
            root, slug = self._open_parents(os.path.dirname(path), handles, create=True)
            try:
                os.mkdir(session_id, 0o700, dir_fd=slug)
            except FileExistsError:
                raise SessionError(f"the session id {session_id!r} is taken", path=path, advice="Resume it.") from None
            directory = _keep(open_child_directory(slug, session_id, path=path), handles)
            lock = SessionLock.take(directory, path=path)
            handles.callback(lock.release)
            _make_folders(directory, path)
            journal = _open_journal(directory, path, choices, (directory, slug, root))
            header = SessionOpened(
                JOURNAL_VERSION, session_id, time.time(), os.path.realpath(project), self.program, parent
            )
            journal.record(header)
            return Session(session_id, path, lock=lock, journal=journal, handles=handles.pop_all())

    def resume(
        self,
        session_id: str,
        *,
        project: str | None = None,
        back_to: "BackTo | None" = None,
        choices: JournalChoices = _ORDINARY,
    ) -> tuple[Session, Transcript]:
        """Go on with a session: take its lock, mend what a crash left, and load what it remembers.

        `back_to`: what came after this message does not count any more.

        Raises:
            SessionError: There is no message to go back to.
            SessionNotFound: There is none, or its name is not unique.
            SessionBusy: Another process writes to it.
            SessionTooNew: A newer Holdfast wrote it.
        """
        path = self.find(session_id, project=project)
        with _explained(path, "resumed"), ExitStack() as handles:
            root, slug = self._open_parents(os.path.dirname(path), handles, create=False)
            directory = _keep(open_child_directory(slug, os.path.basename(path), path=path), handles)
            lock = SessionLock.take(directory, path=path)
            handles.callback(lock.release)
            transcript = read_journal(directory, path)
            if transcript.is_newer:
                raise _too_new(transcript, path)
            transcript = _back(transcript, back_to)
            _make_folders(directory, path)
            journal = _open_journal(directory, path, choices, (directory, slug, root))
            if transcript.header is None:
                journal.record(
                    SessionOpened(JOURNAL_VERSION, os.path.basename(path), time.time(), project or "", self.program)
                )
            if back_to is not None:
                from holdfast.session.repair import repair  # noqa: PLC0415 - few go back

                journal.record_note(COMPACTION, {"messages": repair(transcript).messages, "until": back_to.uuid})
            resumed = SessionResumed(self.program)
            journal.record(resumed)
            transcript.take(resumed)
            return Session(
                os.path.basename(path), path, lock=lock, journal=journal, handles=handles.pop_all()
            ), transcript

    def fork(
        self,
        session_id: str,
        project: str,
        *,
        new_id: str | None = None,
        back_to: "BackTo | None" = None,
        choices: JournalChoices = _ORDINARY,
    ) -> tuple[Session, Transcript]:
        """Begin a new session that remembers what another one does; that one, live or not, is only read.

        What waits there to be told to the model stays there: it is told once.
        """
        source = self.find(session_id)
        transcript = self.load(session_id)
        if transcript.is_newer:
            raise _too_new(transcript, source)
        transcript = _back(transcript, back_to)
        session = self.create(project, session_id=new_id, parent=os.path.basename(source), choices=choices)
        for at, record in transcript.entries:
            is_queued = isinstance(record, NoteRecorded) and record.kind == PROMPT_QUEUED
            if not isinstance(record, SessionOpened) and not is_queued:
                session.journal.carry_over(record, at)
        transcript.queued.clear()
        session.journal.record(SessionResumed(self.program))
        transcript.take(SessionResumed(self.program))
        return session, transcript

    # Looking.

    def find(self, name: str, *, project: str | None = None) -> str:
        """The path of the session with this id, or whose id alone begins so, or `latest`.

        Raises:
            SessionNotFound: None fits, or several do.
        """
        ids = {os.path.basename(path): path for path in self.paths(project)}
        if name == "latest":
            fitting = [max(ids, key=lambda id_: (_active_at(ids[id_]), id_))] if ids else []
        elif name in ids:
            fitting = [name]
        else:
            fitting = [id_ for id_ in ids if name and id_.startswith(name)]
        if len(fitting) == 1:
            return ids[fitting[0]]
        if fitting:
            raise SessionNotFound(f"{name!r} fits {len(fitting)} sessions", advice="Give more of the id.")
        missing = f"there is no session {name!r}" if name != "latest" else "there is no session yet"
        here = f" for {project!r}" if project is not None else ""
        raise SessionNotFound(missing + here, advice="`holdfast sessions list --all` shows them.")

    def nearest(self, name: str, project: str) -> str:
        """The same among all sessions, but `latest` is the project's own where it has one."""
        has_own = name == "latest" and any(True for _ in self.paths(project))
        return self.find(name, project=project if has_own else None)

    def load(
        self,
        name: str,
        *,
        project: str | None = None,
        into: Transcript | None = None,
        back_to: "BackTo | None" = None,
    ) -> Transcript:
        """What a session remembers, in a new transcript or the given one; it may be live, and nothing is changed."""
        path = self.find(name, project=project)
        with _explained(path, "read"), self.opened(path) as directory:
            return _back(read_journal(directory, path, into=into), back_to)

    @contextmanager
    def reading(self, name: str, make: Callable[[BinaryIO], Made]) -> Generator[Made]:
        """What a session remembers, in the transcript that `make` makes for its journal, which stays open meanwhile."""
        path = self.find(name)
        with ExitStack() as handles:
            with _explained(path, "read"):
                file = handles.enter_context(journal_file(handles.enter_context(self.opened(path)), path))
                transcript = make(file)
                read_transcript(file, into=transcript)
            yield transcript

    def paths(self, project: str | None = None) -> Iterator[str]:
        """Every session's directory, of one project or of all."""
        slugs = [project_slug(project)] if project is not None else _names(self.root)
        for slug in slugs:
            for name in _names(os.path.join(self.root, slug)):
                if not name.startswith("."):
                    yield os.path.join(self.root, slug, name)

    def _open_parents(self, slug_path: str, handles: ExitStack, *, create: bool) -> tuple[int, int]:
        root = _keep(open_private_directory(self.root, create=create), handles)
        name = os.path.basename(slug_path)
        return root, _keep(open_child_directory(root, name, path=slug_path, create=create), handles)

    @contextmanager
    def opened(self, path: str) -> Generator[int]:
        """A handle on a session's directory, reached without following any link."""
        with ExitStack() as handles:
            _, slug = self._open_parents(os.path.dirname(path), handles, create=False)
            yield _keep(open_child_directory(slug, os.path.basename(path), path=path), handles)


class BackTo(NamedTuple):
    """A message to go back to."""

    uuid: str
    drops: str | None = None
    """The prompt that begins what is left out; only its own turn may be left out."""


def _back(transcript: Transcript, to: BackTo | None) -> Transcript:
    if to is None:
        return transcript
    from holdfast.session.cutting import cut_after  # noqa: PLC0415 - few go back

    return cut_after(transcript, to.uuid, drops=to.drops)


def user_store(environ: Mapping[str, str] | None = None, *, program: str = "") -> SessionStore:
    """The sessions of this user, in the state directory that the platform and the environment name."""
    return SessionStore(os.path.join(user_directories(environ).state, "sessions"), program=program)


def read_journal(directory: int, path: str, *, into: Transcript | None = None) -> Transcript:
    """Load the journal in an open session directory; a session without one remembers nothing."""
    with journal_file(directory, path) as file:
        return read_transcript(file, into=into)


def journal_file(directory: int, path: str) -> BinaryIO:
    """The journal in an open session directory, to be read; an empty file where there is none."""
    try:
        handle = open_private_file(directory, JOURNAL_NAME, os.O_RDONLY, path=os.path.join(path, JOURNAL_NAME))
    except FileNotFoundError:
        handle = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    return os.fdopen(handle, "rb")


def _open_journal(directory: int, path: str, choices: JournalChoices, named_by: tuple[int, ...]) -> Journal:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    handle = open_private_file(directory, JOURNAL_NAME, flags, path=os.path.join(path, JOURNAL_NAME))
    try:
        return Journal(
            handle,
            durability=choices.durability,
            redact=choices.redact,
            on_trouble=choices.on_trouble,
            directories=named_by,
        )
    except OSError:
        os.close(handle)
        raise


def _too_new(transcript: Transcript, path: str) -> SessionTooNew:
    return SessionTooNew(
        f"this session has format {transcript.version}, this Holdfast knows up to {JOURNAL_VERSION}",
        path=path,
        advice="Go on with it in the newer Holdfast that wrote it.",
    )


def _make_folders(directory: int, path: str) -> None:
    for folder in _FOLDERS:
        os.close(open_child_directory(directory, folder, path=os.path.join(path, folder), create=True))


def _keep(handle: int, handles: ExitStack) -> int:
    handles.callback(os.close, handle)
    return handle


def _names(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SessionError(f"the directory cannot be listed: {error.strerror}", path=path) from error


def _active_at(path: str) -> float:
    try:
        return os.lstat(os.path.join(path, JOURNAL_NAME)).st_mtime
    except OSError:
        return 0.0


@contextmanager
def _explained(path: str, deed: str) -> Generator[None]:
    """Whatever the system refuses is told with the path and what was wanted."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and deed != "begun":
            raise SessionNotFound("there is no session here any more", path=path) from error
        raise SessionError(
            f"the session cannot be {deed}: {error.strerror or error}",
            path=path,
            advice="Check the rights and the free space there.",
        ) from error
