"""What Write, Edit and NotebookEdit share: the file as it is now, and the one way to replace it."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from holdfast.contract import FileRead, Preview, ToolContext, ToolFailed
from holdfast.contract.roles import OpenBuffers
from holdfast.host.file_state import HASHED_BYTES, found_unchanged, require_read, stale, stamp_written
from holdfast.host.targets import Targets
from holdfast.lib.atomic import ABSENT, FileChangedError, StrayNotes, write_atomic
from holdfast.lib.checkpoints import Change, CheckpointStore
from holdfast.lib.diff import Span, git_diff, hunks_of
from holdfast.lib.handles import NotRegularFileError, regular_file
from holdfast.lib.stamp import Stamp, hash_bytes, hash_parts
from holdfast.lib.text import UTF8, Encoding, NotEncodableError
from holdfast.tools.files._open import opened

MAX_BYTES = 1024**3
_SHOWN_LINES = 40
_SHOWN_LINE_CHARS = 200
_ORIGINAL_BYTES = 1024 * 1024
_PREVIEW_CHARS = 256 * 1024
SHOWN_SPANS = 200
"""Further places of one edit are in no diff."""


class Current(msgspec.Struct, frozen=True):
    """A file about to be changed, held open so that nobody can pass another one off as it."""

    handle: int | None
    """None if there is no file yet."""
    path: str
    data: bytes
    stamp: Stamp | None
    whole: bool = True
    """Whether the model has seen all of it."""
    is_as_seen: Callable[[], bool] = lambda: True
    """Whether the bytes are what the model has seen; waits for the answer."""


class Workbench:
    """Opens files for changing and puts the changed content in place, with a checkpoint of the old one."""

    def __init__(
        self,
        targets: Targets | None = None,
        *,
        checkpoints: CheckpointStore | None = None,
        strays: StrayNotes | None = None,
        on_changed: Callable[[str], None] | None = None,
        buffers: OpenBuffers | None = None,
    ) -> None:
        self.targets = targets or Targets()
        self._buffers = buffers
        self._checkpoints = checkpoints
        self._strays = strays
        self._on_changed = on_changed

    async def require_saved(self, ctx: ToolContext, shown_as: str) -> None:
        """Refuse to change a file that an editor holds with changes of the person.

        Raises:
            ToolFailed: Code 3: the file on the disk is not what the person works on.
        """
        if self._buffers is None:
            return
        try:
            if await self._buffers.unsaved(self.targets.take(ctx, shown_as)) is None:
                return
            reason = f"the user has changed {shown_as!r} in the editor and not saved it; ask them to save it"
        except TimeoutError:
            reason = f"the editor does not say whether {shown_as!r} is saved; try again later"
        raise ToolFailed(f"{reason}, then Read it again", error_code=3)

    @contextmanager
    def seen_file(self, ctx: ToolContext, real: str, shown_as: str, *, whole: bool) -> Generator[Current]:
        """Open a file that the model has read and that did not change since.

        A large one is yielded while it is still being compared; `replace` waits for that.

        Raises:
            ToolFailed: Code 1 if there is no such file, 2 if it was not read, 3 if it changed since.
        """
        with opened(real, shown_as, ctx.hidden) as handle:
            known = require_read(ctx, real, shown_as, whole=whole)
            facts = os.fstat(handle)
            if facts.st_size > MAX_BYTES:
                raise ToolFailed(f"{shown_as!r} has {facts.st_size:,} bytes; files up to {MAX_BYTES:,} can be changed")
            data = _read(handle)
            is_seen = found_unchanged(known, handle, data)
            if len(data) < HASHED_BYTES and not is_seen():
                raise stale(shown_as)
            try:
                yield Current(handle, real, data, Stamp.of(facts), known.whole, is_seen)
            except ToolFailed as error:
                if not is_seen():  # then what is wrong with a plan for other bytes does not matter
                    raise stale(shown_as) from error
                raise
            finally:
                is_seen()  # nobody hashes any more when this is left

    @contextmanager
    def file_or_nothing(self, ctx: ToolContext, real: str, shown_as: str) -> Generator[Current]:
        """Open a file for replacing it altogether, or get ready to create it."""
        if exists(real, shown_as):
            with self.seen_file(ctx, real, shown_as, whole=True) as current:
                yield current
        else:
            require_place(ctx, real)
            yield Current(None, real, b"", None)

    def replace(
        self, ctx: ToolContext, current: Current, parts: Sequence[bytes | memoryview], shown_as: str
    ) -> FileRead:
        """Put new content in place, if the file is still the one that was opened.

        Raises:
            ToolFailed: Code 3 if it is not; otherwise naming what the system said.
        """
        if not current.is_as_seen():
            raise stale(shown_as)
        change = self._checkpoint(ctx, current, parts)
        expect = ABSENT if current.handle is None else _expected(current)
        try:
            written = write_atomic(
                current.path, parts, expect=expect, links="refuse", make_parents=True, strays=self._strays
            )
        except OSError as error:
            if change is not None and self._checkpoints is not None and not getattr(error, "landed", False):
                self._checkpoints.forget(change)
            if isinstance(error, FileChangedError):
                raise stale(shown_as) from error
            raise ToolFailed(str(error)) from error
        if self._on_changed is not None:
            self._on_changed(current.path)
        return FileRead(current.path, stamp_written(written.stamp, whole=current.whole))

    def _checkpoint(self, ctx: ToolContext, current: Current, parts: Sequence[bytes | memoryview]) -> Change | None:
        """Keep the old content and log the change before it happens, so that no crash can lose the way back."""
        if self._checkpoints is None:
            return None
        before, mode = None, 0o644
        try:
            if current.handle is not None:
                before = self._checkpoints.keep(current.handle, hash_bytes(current.data), source=current.path)
                mode = os.fstat(current.handle).st_mode & 0o7777
            change = Change(ctx.tool_use_id, current.path, before, hash_parts(parts), mode)
            self._checkpoints.record(change)
        except OSError as error:
            raise ToolFailed(f"nothing was changed, because the old content could not be kept: {error}") from error
        return change


def _expected(current: Current) -> Stamp:
    """Return the state the name must still have; the handle pins the inode, so identity cannot be reused."""
    assert current.handle is not None
    assert current.stamp is not None
    now = os.fstat(current.handle)
    if (now.st_size, now.st_mtime_ns) != (current.stamp.size, current.stamp.mtime_ns):
        return current.stamp
    return Stamp.of(now)


def not_writable(error: NotEncodableError, shown_as: str) -> str:
    """Why some text cannot be stored in a file."""
    return f"{shown_as!r}: {error}" if error.encoding.guessed else f"{error}, which is how {shown_as!r} is stored"


def require_place(ctx: ToolContext, real: str) -> None:
    """A new file makes its directories, but never the working directory itself, which somebody moved or removed.

    Raises:
        ToolFailed: The working directory is gone and the file would lie in it.
    """
    here = os.path.abspath(ctx.cwd)
    if not real.startswith(here.rstrip("/") + "/"):
        return
    try:
        os.stat(here)
    except FileNotFoundError as error:
        raise ToolFailed(
            f"the working directory {here!r} is not there any more: it was moved or removed. Nothing was written; ask "
            "the user where the work should go on, or make the directory first if it is really wanted there"
        ) from error
    except OSError:
        return  # the writing itself says what is wrong


def exists(real: str, shown_as: str) -> bool:
    """Whether a regular file is at a judged place; fails as `size_of` does."""
    return size_of(real, shown_as) is not None


def size_of(real: str, shown_as: str) -> int | None:
    """The size of the regular file at a judged place, taken by its handle; None when there is no file.

    Raises:
        ToolFailed: Something else is there.
    """
    try:
        with regular_file(real) as handle:
            return os.fstat(handle).st_size
    except FileNotFoundError:
        return None
    except NotRegularFileError as error:
        raise ToolFailed(f"{shown_as!r} is {error.kind}; only regular files are written") from error
    except OSError as error:
        raise ToolFailed(f"cannot open {shown_as!r}: {error.strerror or error}") from error


def _read(handle: int) -> bytes:
    with os.fdopen(handle, "rb", closefd=False) as file:
        return file.read()


def describe(
    path: str, shown_as: str, data: bytes, spans: Sequence[Span], *, created: bool = False, encoding: Encoding = UTF8
) -> tuple[dict[str, Any], str]:
    """Return the fields that tell programs what changed, and the diff for people."""
    hunks = hunks_of(data, spans[:SHOWN_SPANS])
    diff = git_diff(shown_as.lstrip("/"), hunks, created=created)
    fields: dict[str, Any] = {
        "filePath": path,
        "structuredPatch": [hunk.to_wire() for hunk in hunks],
        "originalFile": None if created or len(data) > _ORIGINAL_BYTES else data.decode("utf-8", "backslashreplace"),
        "userModified": False,
        "gitDiff": diff,
        "encoding": encoding.label,
    }
    return fields, diff


def shown_before(diff: str) -> Preview | None:
    """A diff for the person who is asked; none where it is so long that the call's own input tells it better."""
    return Preview(diff, {}) if len(diff) <= _PREVIEW_CHARS else None


def counts(fields: dict[str, Any]) -> str:
    """Say in short how many lines came and went."""
    lines = [line for hunk in fields["structuredPatch"] for line in hunk["lines"]]
    added, removed = sum(line[0] == "+" for line in lines), sum(line[0] == "-" for line in lines)
    return f"+{added} -{removed}"


def change_shown(fields: dict[str, Any]) -> str:
    """The changed lines with a little around them, so that nobody has to read the file again to see them."""
    lines = [line for hunk in fields["structuredPatch"] for line in (_head(hunk), *hunk["lines"])]
    most = _SHOWN_LINE_CHARS
    shown = [line if len(line) <= most else f"{line[:most]}…" for line in lines[:_SHOWN_LINES]]
    if len(lines) > len(shown):
        shown.append(f"[{len(lines) - len(shown):,} more lines of the change are not shown]")
    return "\n".join(shown)


def _head(hunk: dict[str, Any]) -> str:
    return f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@"


def first_line(fields: dict[str, Any]) -> int:
    """Return the number of the first line that changed."""
    hunk = fields["structuredPatch"][0]
    unchanged = next((number for number, line in enumerate(hunk["lines"]) if line[0] != " "), 0)
    return max(1, hunk["oldStart"]) + unchanged
