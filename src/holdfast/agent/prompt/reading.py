"""Read one instruction file and what it imports: resolved, judged, opened by handle, bounded, made visible."""

import errno
import os
import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from holdfast.agent.prompt.markdown import Markdown, read_markdown
from holdfast.lib.guarded_read import is_mine, others_may_write
from holdfast.lib.handles import regular_file
from holdfast.lib.resolve import resolve_path
from holdfast.lib.visible import visible

__all__ = ["InstructionFile", "Kind", "Opened", "Origin", "Reader", "Reason", "is_below"]

MAX_FILE_BYTES: Final = 4 << 20
MAX_TOTAL_CHARS: Final = 16 << 20
MAX_FILES: Final = 1_000
MAX_HOPS: Final = 4
LARGE_CHARS: Final = 40_000
_MAX_WARNINGS: Final = 100
_MAX_RULES_DEPTH: Final = 16
_MAX_RULES_ENTRIES: Final = 20_000
_PUNCTUATION: Final = ".,;:!?)]}>'\"*_"
# Characters that draw nothing or change the direction of what follows: a place to hide words from the reader of a
# file. Joiners (U+200C, U+200D) and the selectors of emoji stay, scripts and pictures need them.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff"
    "\U000e0000-\U000e0fff]"
)

_CONTROLS: Final = bytes(set(range(32)) - {9, 10, 13}) + b"\x7f"
_MARK: Final = b"\xef\xbb\xbf"

Kind: TypeAlias = Literal["managed", "user", "project", "local"]
Reason: TypeAlias = Literal["session_start", "nested_traversal", "path_glob_match", "include"]


class InstructionFile(msgspec.Struct, frozen=True):
    """One file of instructions, as the model is told it."""

    path: str
    """Absolute, as it was found."""
    kind: Kind
    """Whose it is; capitalised, the `memory_type` that hooks know."""
    text: str
    imported_by: str | None = None
    """The file that imports it; None when it was found by its own name."""
    reason: Reason = "session_start"
    """Why it was loaded, in the words that hooks know."""


class Origin(NamedTuple):
    """Whose file it is, and what it may lead to."""

    kind: Kind
    boundaries: tuple[str, ...] | None
    """Directories that its links and imports must stay in; None for the user's and the policy's own files."""
    is_mine: bool = False
    """Only files of this user or of root count, which nobody else may write to."""
    reason: Reason = "session_start"


class Opened(NamedTuple):
    """A file that was read and may be told."""

    path: str
    real: str
    markdown: Markdown


def is_below(path: str, directory: str) -> bool:
    """Whether a resolved path is the directory or in it, by whole components."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


class Reader:
    """Reads files for one session and tells each of them once."""

    def __init__(
        self,
        *,
        home: str,
        is_excluded: Callable[[str, Kind], bool],
        may_read: Callable[[str], bool] | None,
        approves_outside: Callable[[str], bool] | None,
    ) -> None:
        self.warnings: list[str] = []
        self.told: set[str] = set()
        self.outside: dict[str, None] = {}
        self._home = home
        self._is_excluded = is_excluded
        self._may_read = may_read
        self._approves_outside = approves_outside
        self._texts: set[tuple[str, str]] = set()
        self._chars = 0

    def read(self, path: str, origin: Origin) -> list[InstructionFile]:
        """Read a file if it is there; its imports come before it, so that its own words outrank them."""
        opened = self.open(path, origin)
        return [] if opened is None else self.take(opened, origin)

    def forget(self, kept: frozenset[str]) -> None:
        """Let everything but these resolved paths be told again."""
        self.told = set(kept)
        self._texts.clear()
        self._chars = 0

    # -- one file

    def open(self, path: str, origin: Origin, *, imported_by: str | None = None) -> Opened | None:
        """Read a file; None when there is none, when it was told already, or when it must not count (a warning)."""
        if _is_absent(path):  # as most candidates: nothing is there to judge
            return None
        try:
            real, kernel = resolve_path(path)
            if real in self.told or self._is_excluded(path, origin.kind):
                return None
            refusal = "it leads into /proc, /sys or /dev" if kernel else self._refusal(path, real, origin)
            if refusal:
                self._warn(path, refusal, imported_by)
                return None
            data = _read_bounded(real, origin)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.islink(path):
                self._warn(path, "it is a link to something that does not exist", imported_by)
            return None
        except OSError as error:
            self._warn(path, error.strerror or str(error), imported_by)
            return None
        text = self._decode(path, data, imported_by)
        return None if text is None else Opened(path, real, read_markdown(text))

    def _refusal(self, path: str, real: str, origin: Origin) -> str:
        if self._may_read is not None and not all(self._may_read(name) for name in {path, real}):
            return "a rule forbids to read it"
        if origin.boundaries is None or any(is_below(real, place) for place in origin.boundaries):
            return ""
        if self._approves_outside is not None and self._approves_outside(real):
            return ""
        self.outside.setdefault(real)
        return f"it leads out of the folder, to {visible(real)!r}, which was not approved"

    def _decode(self, path: str, data: bytes, imported_by: str | None) -> str | None:
        shown = _plain_text(data)
        if shown is None:
            from holdfast.lib.text import NotTextError, detect_whole  # noqa: PLC0415 - few files need a closer look

            try:
                encoding = detect_whole(data)
            except NotTextError as error:
                self._warn(path, f"it is not text: {error.reason}", imported_by)
                return None
            shown = encoding.show(data[len(encoding.mark) :])
        text, count = _HIDDEN.subn(_spell_out, shown)
        if count:
            self._warn(path, f"it holds {count} hidden characters, which are spelled out as <U+…>", verb="is shown")
        if len(text) > LARGE_CHARS:
            self._warn(path, f"it has {len(text):,} characters, which every request pays for", verb="is large")
        return text

    # -- what is told

    def take(self, opened: Opened, origin: Origin, *, imported_by: str | None = None) -> list[InstructionFile]:
        """Tell a file and, before it, what it imports."""
        return list(self._take(opened, origin, imported_by=imported_by, hops=0))

    def _take(self, opened: Opened, origin: Origin, *, imported_by: str | None, hops: int) -> Iterator[InstructionFile]:
        path, real, markdown = opened
        text = markdown.text
        same = (os.path.dirname(real), text)
        if real in self.told or same in self._texts:
            return
        if len(self.told) >= MAX_FILES or self._chars + len(text) > MAX_TOTAL_CHARS:
            self._warn(path, f"there are more than {MAX_FILES} files or {MAX_TOTAL_CHARS:,} characters of instructions")
            return
        self.told.add(real)
        self._texts.add(same)
        self._chars += len(text)
        for written in markdown.imports:
            yield from self._import(written, opened, origin, hops + 1)
        if text.strip():
            reason = origin.reason if imported_by is None else "include"
            yield InstructionFile(path, origin.kind, text, imported_by, reason)

    def _import(self, written: str, opened: Opened, origin: Origin, hops: int) -> Iterator[InstructionFile]:
        target = self._target(written, opened.real)
        if target is None:
            if written.startswith(("./", "../", "~/", "/")) or written.rstrip(_PUNCTUATION).endswith(".md"):
                self._warn(written, "there is no such file", opened.path)
            return
        if hops > MAX_HOPS:
            self._warn(target, f"it is more than {MAX_HOPS} imports away", opened.path)
            return
        found = self.open(target, origin, imported_by=opened.path)
        if found is not None:
            yield from self._take(found, origin, imported_by=opened.path, hops=hops)

    def _target(self, written: str, importer: str) -> str | None:
        """Return the file that an import names: as written, without a fragment, without the sentence's punctuation."""
        bare = written.partition("#")[0]
        for text in dict.fromkeys((written, bare, written.rstrip(_PUNCTUATION), bare.rstrip(_PUNCTUATION))):
            if not text or "\0" in text or len(text) > 4_096:
                continue
            expanded = self._home + text[1:] if text.startswith("~/") else text
            path = os.path.normpath(os.path.join(os.path.dirname(importer), expanded))
            if os.path.lexists(path) and not os.path.isdir(path):
                return path
        return None

    def _warn(self, path: str, reason: str, imported_by: str | None = None, *, verb: str = "is not loaded") -> None:
        name = visible(path, limit_chars=300)
        source = f" (imported by {visible(imported_by, limit_chars=300)})" if imported_by else ""
        message = f"{name}{source} {verb}: {reason}."
        if len(self.warnings) < _MAX_WARNINGS and message not in self.warnings:
            self.warnings.append(message)

    # -- rules

    def _leads_out(self, here: str, real: str, boundaries: tuple[str, ...] | None) -> bool:
        if boundaries is None or any(is_below(real, bound) for bound in boundaries):
            return False
        if os.path.isdir(real):
            self._warn(here, "it leads out of the folder it stands in")
        return True

    def markdown_below(self, place: str, boundaries: tuple[str, ...] | None = None) -> list[str]:
        """Return the `.md` files in a directory and below, sorted, bounded; no link back or out is followed."""
        found: list[str] = []
        seen: set[str] = set()
        left = _MAX_RULES_ENTRIES
        waiting = [(place, 0)]
        while waiting:
            here, depth = waiting.pop()
            real = os.path.realpath(here)
            if real in seen or depth > _MAX_RULES_DEPTH or self._leads_out(here, real, boundaries):
                continue
            seen.add(real)
            try:
                with os.scandir(here) as entries:
                    for entry in entries:
                        left -= 1
                        if left < 0 or len(found) >= MAX_FILES:
                            self._warn(place, "there are too many files in it", verb="is read in part")
                            return sorted(found)
                        if entry.name.endswith(".md"):
                            found.append(entry.path)
                        elif entry.is_dir():
                            waiting.append((entry.path, depth + 1))
            except OSError as error:
                if not isinstance(error, FileNotFoundError | NotADirectoryError):
                    self._warn(here, error.strerror or str(error))
        return sorted(found)


def _is_absent(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # whatever it is, it is told further down
        return False
    return False


def _plain_text(data: bytes) -> str | None:
    """The text of a file that is nothing but UTF-8; None where it has to be looked at more closely."""
    if data.startswith(_MARK) or data.translate(None, _CONTROLS) != data or b"coding" in data or b"charset" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _spell_out(match: re.Match[str]) -> str:
    return f"<U+{ord(match[0]):04X}>"


def _read_bounded(real: str, origin: Origin) -> bytes:
    with regular_file(real) as handle:
        found = os.fstat(handle)
        if origin.is_mine and (not is_mine(found) or others_may_write(found)):
            raise OSError(errno.EPERM, "it belongs to another user, or others may write to it")
        if found.st_size > MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, more than the limit of {MAX_FILE_BYTES:,}")
        parts: list[bytes] = []
        left = MAX_FILE_BYTES + 1
        while left > 0 and (chunk := os.read(handle, min(left, 1 << 20))):
            parts.append(chunk)
            left -= len(chunk)
    if left <= 0:
        raise OSError(errno.EFBIG, f"it has more than {MAX_FILE_BYTES:,} bytes")
    return b"".join(parts)
