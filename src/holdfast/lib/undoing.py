"""Bring files back to earlier contents: all of them or none, and never over what somebody saved meanwhile.

Each file is compared by the handle that was opened, and once more under its directory's lock right before the rename.
When one of several cannot be brought back, those before it get their later content again, which was set aside first.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import msgspec

from holdfast.lib.atomic import ABSENT, Absent, FileChangedError, WriteFailedError, Written, lockable, write_atomic
from holdfast.lib.handles import directory_handle, open_regular_at, regular_file
from holdfast.lib.lock import directory_lock
from holdfast.lib.stamp import CHUNK_BYTES, Stamp, hash_fd

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

__all__ = ["Plan", "Restored", "UndoRefusedError", "chunks", "restore_all"]


class Plan(msgspec.Struct, frozen=True):
    """What to do with one file: from the content it must have now to the one it had then."""

    path: str
    now: str | None
    then: str | None
    mode: int
    blob: str | None
    """Where the earlier content is kept; none if there was no file."""


class Restored(msgspec.Struct, frozen=True):
    """One file that was brought back."""

    path: str
    action: Literal["restored", "removed", "already"]


class UndoRefusedError(Exception):
    """The files were not taken back; `reasons` says why and what stands where, one line a file."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


class _Done(msgspec.Struct, frozen=True):
    """A file that was brought back, and what it takes to go back on that."""

    plan: Plan
    restored: Restored
    stamp: Stamp | None = None
    """What we put in place; none where we removed the file."""
    aside: str | None = None
    mode: int | None = None


def restore_all(plans: Sequence[Plan], home: str) -> list[Restored]:
    """Bring every file back.

    Args:
        plans: The files.
        home: A private directory for contents that are set aside meanwhile.

    Raises:
        UndoRefusedError: One could not be brought back. The others have the content they had before.
    """
    done: list[_Done] = []
    aside = os.path.join(home, f"undoing-{secrets.token_hex(8)}")
    try:
        for number, plan in enumerate(plans):
            # Behind the last one nothing can fail, so it needs no way back.
            keep = os.path.join(aside, str(number)) if number < len(plans) - 1 else None
            done.append(_restore(plan, keep))
    except OSError as error:
        raise UndoRefusedError(_tell(plans, done, error)) from error
    finally:
        import shutil  # noqa: PLC0415 - only here

        shutil.rmtree(aside, ignore_errors=True)
    return [step.restored for step in done]


def _tell(plans: Sequence[Plan], done: Sequence[_Done], error: OSError) -> list[str]:
    """Go back on what was done, and say in lines what went wrong and what stands now."""
    reasons = [f"{plans[len(done)].path!r} {_words(error)}"]
    stuck = [reason for step in reversed(done) if (reason := _go_back(step)) is not None]
    if len(plans) > 1:
        others = "none of the other files was taken back" if not stuck else "all others are as they were before"
        return [*reasons, *stuck, others]
    return reasons


def _words(error: OSError) -> str:
    if isinstance(error, FileChangedError):
        return f"{error.strerror}; it is left as it is"
    landed = isinstance(error, WriteFailedError) and error.landed
    state = "; its earlier content is in place, but the disk did not confirm it" if landed else ""
    return f"could not be brought back: {error.strerror or error}{state}"


def _restore(plan: Plan, keep: str | None) -> _Done:
    with _current(plan.path) as current:
        stat = None if current is None else os.fstat(current)
        digest = None if current is None else hash_fd(current)
        if digest == plan.then:
            return _Done(plan, Restored(plan.path, "already"))
        if digest != plan.now:
            raise _changed(plan.path)
        if current is None or stat is None:
            return _Done(plan, Restored(plan.path, "restored"), _put(plan, ABSENT, mode=plan.mode).stamp)
        if keep is not None and _set_aside(current, keep) != digest:
            raise _changed(plan.path)
        if plan.then is None:
            _remove(plan, current)
            return _Done(plan, Restored(plan.path, "removed"), aside=keep, mode=stat.st_mode & 0o7777)
        stamp = _put(plan, Stamp.of(stat, sha256=digest)).stamp
        if hash_fd(current) != digest:  # saved into the very file while its name was taken over: that content stands
            write_atomic(plan.path, chunks(current), expect=stamp, links="refuse")
            raise _changed(plan.path)
        return _Done(plan, Restored(plan.path, "restored"), stamp, keep)


def _set_aside(current: int, keep: str) -> str | None:
    os.makedirs(os.path.dirname(keep), mode=0o700, exist_ok=True)
    return write_atomic(keep, chunks(current), mode=0o600).stamp.sha256


def _put(plan: Plan, expect: Stamp | Absent, *, mode: int | None = None) -> Written:
    assert plan.blob is not None
    with regular_file(plan.blob) as blob:
        return write_atomic(
            plan.path, chunks(blob), mode=mode, expect=expect, links="refuse", make_parents=expect is ABSENT
        )


def _go_back(step: _Done) -> str | None:
    """Give a file the content that it had before the undo; in words, what could not be done."""
    path = step.plan.path
    try:
        if step.restored.action == "already":
            return None
        if step.plan.now is None:
            with _current(path) as current:
                if current is None or hash_fd(current) != step.plan.then:
                    raise _changed(path)
                _remove(Plan(path, step.plan.then, None, 0, None), current)
            return None
        assert step.aside is not None
        with regular_file(step.aside) as content:
            expect = ABSENT if step.stamp is None else step.stamp
            write_atomic(path, chunks(content), mode=step.mode, expect=expect, links="refuse")
    except OSError as error:
        return (
            f"{path!r} was {step.restored.action}, and could not be given its later content again: it {_words(error)}"
        )
    return None


@contextmanager
def _current(path: str) -> Generator[int | None]:
    """The file as it is now; none if there is no file."""
    try:
        opened = regular_file(path)
        handle = opened.__enter__()
    except FileNotFoundError:
        yield None
        return
    try:
        yield handle
    finally:
        opened.__exit__(None, None, None)


def _remove(plan: Plan, current: int) -> None:
    """Remove a file if it is still the one that was opened, with the content that it should have."""
    parent, name = os.path.split(plan.path)
    aside = f".holdfast-{secrets.token_hex(8)}.tmp"
    with (
        directory_handle(parent) as walked,
        lockable(walked) as directory,
        directory_lock(directory, path=parent),
    ):
        # Moved aside first: only what was looked at is removed, whoever writes to the name meanwhile.
        os.rename(name, aside, src_dir_fd=directory, dst_dir_fd=directory)
        if not _is_expected(directory, aside, plan, current):
            _move_back(directory, aside, name)
            raise _changed(plan.path)
        os.unlink(aside, dir_fd=directory)


def _is_expected(directory: int, aside: str, plan: Plan, current: int) -> bool:
    try:
        handle = open_regular_at(directory, aside, path=plan.path)
    except OSError:
        return False
    try:
        return os.path.sameopenfile(handle, current) and hash_fd(handle) == plan.now
    finally:
        os.close(handle)


def _move_back(directory: int, aside: str, name: str) -> None:
    """Put a file back under its name; what was saved there since is newer and stands."""
    try:
        os.link(aside, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        pass
    except OSError:  # no links here
        os.rename(aside, name, src_dir_fd=directory, dst_dir_fd=directory)
        return
    os.unlink(aside, dir_fd=directory)


def _changed(path: str) -> FileChangedError:
    return FileChangedError(path, "was changed by somebody else meanwhile")


def chunks(fd: int) -> Iterable[bytes]:
    """Everything in an open file, in parts."""
    position = 0
    while chunk := os.pread(fd, CHUNK_BYTES, position):
        yield chunk
        position += len(chunk)
