"""The `charset` that .editorconfig files declare for a file: the nearest file that says something counts."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from holdfast.lib.coding_lines import codec_of
from holdfast.lib.wildmatch import read_segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["declared_charset"]

_NAME: Final = ".editorconfig"
_MAX_BYTES: Final = 64 * 1024
_MAX_LEVELS: Final = 40
_MAX_SECTION: Final = 1024
_MAX_ALTERNATIVES: Final = 200
_MAX_PARTS: Final = 64


def declared_charset(path: str) -> str | None:
    """Python's name of the codec that is declared for a file, given by its absolute path."""
    directory = os.path.dirname(path)
    for _ in range(_MAX_LEVELS):
        found, is_root = _look(directory, path)
        if found is not None or is_root or directory == os.path.dirname(directory):
            return None if found is None else codec_of({"utf-8-bom": "utf-8", "latin1": "iso8859-1"}.get(found, found))
        directory = os.path.dirname(directory)
    return None


def _look(directory: str, path: str) -> tuple[str | None, bool]:
    """What one file says about the path, and whether no file above counts."""
    text = _text(os.path.join(directory, _NAME))
    charset: str | None = None
    is_root, is_top, applies = False, True, False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            is_top, applies = False, _matches(line[1:-1], os.path.relpath(path, directory))
            continue
        key, equals, value = line.partition("=")
        if not equals or line.startswith(("#", ";")):
            continue
        key, value = key.strip().lower(), value.strip().lower()
        is_root = is_root or (is_top and key == "root" and value == "true")
        if applies and key == "charset":
            charset = value
    return charset, is_root


def _text(path: str) -> str:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return os.pread(handle, _MAX_BYTES, 0).decode("utf-8", "replace")
        finally:
            os.close(handle)
    return ""


def _matches(section: str, relative: str) -> bool:
    if len(section) > _MAX_SECTION:
        return False
    names = relative.split("/")
    return any(_fits(pattern, names) for pattern in islice(_alternatives(section), _MAX_ALTERNATIVES))


def _fits(pattern: str, names: Sequence[str]) -> bool:
    if "/" not in pattern and "**" not in pattern:
        return _name_fits(pattern, names[-1])
    wanted = pattern.lstrip("/").replace("**", "**/*").replace("*/*/", "*/").split("/")
    if len(wanted) > _MAX_PARTS or len(names) > _MAX_PARTS:
        return False
    reached = {0}
    for part in wanted:
        if part == "**":
            reached = set(range(min(reached, default=len(names)), len(names)))
        else:
            reached = {at + 1 for at in reached if at < len(names) and _name_fits(part, names[at])}
    return len(names) in reached


def _name_fits(pattern: str, name: str) -> bool:
    segment = read_segment(pattern)
    return segment is not None and segment.matches(name)


def _alternatives(pattern: str) -> Iterator[str]:
    """A pattern without its braces, once for each choice in them."""
    opened = pattern.find("{")
    closed = pattern.find("}", opened)
    inner = pattern.rfind("{", opened, closed)
    if opened < 0 or closed < 0:
        yield pattern
        return
    before, after = pattern[:inner], pattern[closed + 1 :]
    choices = pattern[inner + 1 : closed].split(",")
    if len(choices) == 1:
        low, dots, high = choices[0].partition("..")
        if dots and low.lstrip("-").isdecimal() and high.lstrip("-").isdecimal():
            choices = [str(number) for number in islice(range(int(low), int(high) + 1), _MAX_ALTERNATIVES)]
    for choice in choices:
        yield from _alternatives(f"{before}{choice}{after}")
