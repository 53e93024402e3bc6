"""Read instruction files as Markdown: front matter, comments for maintainers, imports outside of code.

Only as much Markdown as that needs. Every pass is linear in the length of the text, whatever the text is.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

__all__ = ["Markdown", "expand_braces", "read_markdown", "without_code_spans"]

MAX_IMPORTS: Final = 1_000
_MAX_ALTERNATIVES: Final = 64
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
_LIST_ITEM: Final = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
_BLOCK_COMMENT: Final = re.compile(r" {0,3}<!--")
_TICKS: Final = re.compile(r"`+")
# One character or one escaped space at a time, no overlap between the two: nothing to backtrack into.
_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@((?:\\ |[^\s\\])+)")


class Markdown(msgspec.Struct, frozen=True):
    """What an instruction file says."""

    text: str
    """Without front matter and without comments that stand as blocks of their own."""
    imports: tuple[str, ...]
    """The paths behind `@`, as written, each once, in order; nothing from code or comments."""
    paths: tuple[str, ...] | None
    """The globs that the front matter limits it to; None when it holds everywhere."""


def read_markdown(text: str) -> Markdown:
    """Take an instruction file apart."""
    body, paths = _without_front_matter(text)
    kept, prose = _split(body.split("\n"))
    found = dict.fromkeys(
        match[1].replace("\\ ", " ")
        for paragraph in _paragraphs(prose)
        if "@" in paragraph
        for match in _IMPORT.finditer(without_code_spans(_without_inline_comments(paragraph)))
    )
    return Markdown("\n".join(kept).strip("\n"), tuple(found)[:MAX_IMPORTS], paths or None)


def _without_front_matter(text: str) -> tuple[str, tuple[str, ...]]:
    """The text behind its front matter, and the globs in that."""
    may_begin = text.startswith("\ufeff") or text.lstrip(" \t\n").startswith("---")
    if not may_begin and "\r" not in text:  # as nearly every file
        return text, ()
    from holdfast.lib.front_matter import read_front_matter, texts  # noqa: PLC0415 - only where there may be one

    matter = read_front_matter(text)
    return matter.body, tuple(texts(matter.fields.get("paths")) or texts(matter.fields.get("globs")))


# -- blocks


class _Blocks:
    """Goes through the lines once and tells code from prose."""

    def __init__(self) -> None:
        self._fence = ""
        self._is_list = self._was_indented = False
        self._was_blank = True

    def is_code(self, line: str) -> bool:
        """Whether the next line belongs to a code block, its fences included."""
        is_blank = not line.strip()
        # Deep indentation is code only outside lists, where it is what belongs to the item.
        indented = line.startswith(("    ", "\t")) and not self._is_list and (self._was_blank or self._was_indented)
        match = None if indented else _FENCE.match(line if not self._is_list else line.lstrip())
        if self._fence:
            if match is not None and match[1].startswith(self._fence) and not match[2].strip():
                self._fence = ""
            return True
        if match is not None and not (match[1][0] == "`" and "`" in match[2]):
            self._fence = match[1]
            return True
        self._is_list = self._stays_in_list(line, is_blank=is_blank)
        self._was_blank, self._was_indented = is_blank, indented or (is_blank and self._was_indented)
        return indented

    def _stays_in_list(self, line: str, *, is_blank: bool) -> bool:
        if _LIST_ITEM.match(line):
            return True
        return self._is_list and (is_blank or line.startswith((" ", "\t")) or not self._was_blank)


def _split(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines without block comments, and the same with code blocks blanked."""
    kept: list[str] = []
    prose: list[str] = []
    blocks = _Blocks()
    ends = _comment_ends(lines)
    at = 0
    while at < len(lines):
        line, end = lines[at], ends[at]
        at += 1
        is_code = blocks.is_code(line)
        if not is_code and end is not None and _BLOCK_COMMENT.match(line):
            at, line = end[0] + 1, lines[end[0]][end[1] :].lstrip()
            if not line:
                continue
        kept.append(line)
        prose.append("" if is_code else line)
    return kept, prose


def _comment_ends(lines: list[str]) -> list[tuple[int, int] | None]:
    """For each line, where the first end of a comment at or after it is: line and column behind it."""
    ends: list[tuple[int, int] | None] = [None] * len(lines)
    following: tuple[int, int] | None = None
    for number in range(len(lines) - 1, -1, -1):
        opened = lines[number].find("<!--")
        column = lines[number].find("-->", opened + 4 if opened >= 0 else 0)
        own = (number, column + 3) if column >= 0 else None
        ends[number] = own or following
        # A line that opens a comment may also close an earlier one in front of it.
        first = lines[number].find("-->")
        following = (number, first + 3) if first >= 0 else following
    return ends


# -- prose


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    found: list[str] = []
    for line in lines:
        if line.strip():
            found.append(line)
        elif found:
            yield "\n".join(found)
            found = []
    if found:
        yield "\n".join(found)


def _without_inline_comments(text: str) -> str:
    if "<!--" not in text:
        return text
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    parts.append(text[at:])
    return " ".join(parts)


def without_code_spans(text: str) -> str:
    """Return a paragraph with its code spans taken out: a run of back quotes up to the next run of that length."""
    if "`" not in text:
        return text
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    by_length: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        by_length.setdefault(runs[index][1] - runs[index][0], []).append(index)
    parts: list[str] = []
    at = index = 0
    while index < len(runs):
        start, end = runs[index]
        same = by_length[end - start]
        while same and same[-1] <= index:
            same.pop()
        if same:
            parts.append(text[at:start])
            index = same.pop()
            at = runs[index][1]
        index += 1
    parts.append(text[at:])
    return "`".join(parts)


# -- globs


def expand_braces(pattern: str) -> list[str]:
    """Return the patterns that `{a,b}` stands for, at most 64; a brace without a partner is taken literally."""
    found = [pattern]
    done: list[str] = []
    while found and len(found) + len(done) <= _MAX_ALTERNATIVES:
        current = found.pop(0)
        close = current.find("}")
        start = current.rfind("{", 0, close) if close >= 0 else -1
        if start < 0:
            done.append(current)
            continue
        head, tail = current[:start], current[close + 1 :]
        found.extend(f"{head}{part}{tail}" for part in current[start + 1 : close].split(","))
    return [*done, *found]
