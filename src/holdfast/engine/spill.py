"""Results too long for the model: the full text goes to disk, the model reads a preview, the size and the path."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.contract import OverflowStrategy

if TYPE_CHECKING:
    import tempfile

__all__ = ["Preview", "SpillStore", "shorten"]

_SAFE_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NAME_CHARS = 80


class Preview(NamedTuple):
    """What the model reads instead, and where the rest is."""

    text: str
    path: str | None


class SpillStore:
    """A private directory of full results. Without a session it is temporary and goes with the executor."""

    __slots__ = ("_directory", "_temporary")

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def shorten(self, text: str, call_id: str, *, limit: int, keep: OverflowStrategy, preview_chars: int) -> Preview:
        """Keep the full text on disk and say so in what the model reads; text within the limit stays as it is."""
        if len(text) <= limit:
            return Preview(text, None)
        try:
            path = self._write(text, call_id)
        except OSError as error:
            notice = f"The full text could not be saved: {error.strerror or error}."
            return Preview(shorten(text, keep, min(preview_chars, limit), notice), None)
        notice = f"The full text is in {path}: read it with offset and limit, or search it."
        return Preview(shorten(text, keep, min(preview_chars, limit), notice), path)

    def close(self) -> None:
        """Remove the directory if it was a temporary one."""
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None
            self._directory = None

    def _write(self, text: str, call_id: str) -> str:
        directory = self._ensure_directory()
        stem = _SAFE_NAME.sub("_", call_id)[:_NAME_CHARS] or "result"
        for attempt in range(1000):
            path = directory / (f"{stem}.txt" if attempt == 0 else f"{stem}-{attempt}.txt")
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
            except FileExistsError:
                continue
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(text)
            return str(path)
        raise FileExistsError(f"a thousand results named {stem!r} already exist in {directory}")

    def _ensure_directory(self) -> Path:
        if self._directory is None:
            import tempfile  # noqa: PLC0415 - most runs never spill

            self._temporary = tempfile.TemporaryDirectory(prefix="holdfast-results-")
            self._directory = Path(self._temporary.name)
        else:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._directory


def shorten(text: str, keep: OverflowStrategy, keep_chars: int, notice: str) -> str:
    """The start, the end or both of a text, with exact numbers for what is missing; cut at line ends if near."""
    total = f"{len(text):,} characters, {text.count(chr(10)) + 1:,} lines"
    if keep == "keep-start":
        head = _head(text, keep_chars)
        return f"{head}\n\n[Shown: the first {len(head):,} of {total}. {notice}]"
    if keep == "keep-end":
        tail = _tail(text, keep_chars)
        return f"[Shown: the last {len(tail):,} of {total}. {notice}]\n\n{tail}"
    head = _head(text, keep_chars // 2)
    tail = _tail(text, keep_chars - len(head))
    left_out = len(text) - len(head) - len(tail)
    middle = f"[… {left_out:,} of {total} are left out here. {notice}]"
    return f"{head}\n\n{middle}\n\n{tail}"


def _head(text: str, chars: int) -> str:
    cut = text.rfind("\n", chars // 2, chars)
    return text[: cut if cut > 0 else chars]


def _tail(text: str, chars: int) -> str:
    start = len(text) - chars
    cut = text.find("\n", start, start + chars // 2)
    return text[cut + 1 if cut >= 0 else start :]
