"""A window of a text file as a model reads it, with notices about what it does not see."""

import os
from typing import NamedTuple

from holdfast.contract import ToolFailed
from holdfast.lib.lines import LineReader, Numbered, Scan, ScanStoppedError, Window, number_lines
from holdfast.lib.text import SAMPLE_BYTES, UTF8, Declared, Encoding, NotTextError, detect, newline_of

MAX_TOKENS = 25_000
DEFAULT_LINES = 2_000
_SIGNATURES = (
    (b"PK\x03\x04", "a ZIP archive (or an Office document, which is one); list it with `unzip -l` in Bash"),
    (b"\x1f\x8b", "gzip-compressed; look inside with `zcat` in Bash"),
    (b"BZh", "bzip2-compressed; look inside with `bzcat` in Bash"),
    (b"\xfd7zXZ\0", "xz-compressed; look inside with `xzcat` in Bash"),
    (b"(\xb5/\xfd", "zstd-compressed; look inside with `zstdcat` in Bash"),
    (b"\x7fELF", "a compiled program; `file`, `nm` or `strings` in Bash say more"),
    (b"MZ", "a Windows program; `file` or `strings` in Bash say more"),
    (b"SQLite format 3\0", "an SQLite database; query it with `sqlite3` in Bash"),
    (b"\0asm", "a WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "a compiled Java class or a Mach-O program"),
)


class TextPart(NamedTuple):
    """What is shown of a text file."""

    text: str
    lines: int
    total: int | None
    shown: tuple[int, int]
    """The bytes shown, from and to."""
    whole: bool
    over_budget: bool = False
    encoding: Encoding = UTF8
    bare: str = ""
    """The lines without numbers and notices, for programs."""


def read_text(
    reader: LineReader,
    handle: int,
    shown_as: str,
    *,
    first: int,
    limit: int,
    scan: Scan | None = None,
    declared: Declared | None = None,
) -> TextPart:
    """Read a window of an open text file.

    Raises:
        ToolFailed: It is binary, or the window is too far into an enormous file.
    """
    head = os.pread(handle, SAMPLE_BYTES, 0)
    if not head:
        return TextPart("[The file exists and is empty: 0 bytes.]", 0, 0, (0, 0), whole=True)
    try:
        encoding = detect(head, complete=len(head) < SAMPLE_BYTES, declared=declared)
    except NotTextError as error:
        raise ToolFailed(_binary(shown_as, head, error.reason)) from error
    end = b"\r" if newline_of(head, encoding) == "\r" else b"\n"
    try:
        window = reader.window(handle, first=first, limit=limit, encoding=encoding, end=end, scan=scan)
    except ScanStoppedError as error:
        raise ToolFailed(f"cannot show line {first:,} of {shown_as!r}: {error}") from error
    numbered = number_lines(window, encoding=encoding, max_tokens=MAX_TOKENS)
    return _part(window, numbered, encoding, os.fstat(handle).st_size)


def _binary(shown_as: str, head: bytes, reason: str) -> str:
    known = next((words for signature, words in _SIGNATURES if head.startswith(signature)), None)
    if known:
        return f"{shown_as!r} is not text: it is {known}"
    return f"{shown_as!r} is not text: {reason}; `file` or `xxd` in Bash can tell more about it"


def _part(window: Window, numbered: Numbered, encoding: Encoding, size: int) -> TextPart:
    last = window.first + numbered.shown - 1
    complete = window.ended and not numbered.over_budget
    notes: list[str] = []
    if not window.lines:
        notes.append(f"[There is no line {window.first:,}: the file has {window.total or 0:,} lines.]")
    elif not complete:
        of = f" of {window.total:,}" if window.total is not None else ""
        why = f" (more would cost over {MAX_TOKENS:,} tokens)" if numbered.over_budget else ""
        notes.append(f"[Lines {window.first:,} to {last:,}{of} are shown{why}; read on with offset {last + 1}.]")
    if encoding != UTF8 and window.lines:
        how = " (a guess: characters that it does not hold yet are not written)" if encoding.guessed else ""
        notes.append(f"[The file is stored as {encoding.label}{how}; Edit and Write keep it so.]")
    shown = (window.start_byte, window.end_byte)
    if encoding.is_wide:
        shown = (0, size if complete and window.first == 1 else 0)
    elif numbered.over_budget:
        lengths = (window.overlong.get(index, len(line)) for index, line in enumerate(window.lines[: numbered.shown]))
        cut = sum(lengths) + numbered.shown
        shown = (window.start_byte, window.start_byte + cut)
    text = "\n".join(part for part in (numbered.text, *notes) if part)
    whole = complete and window.first == 1
    return TextPart(text, numbered.shown, window.total, shown, whole, numbered.over_budget, encoding, numbered.bare)
