"""Commands in a Markdown text whose output is to stand in their place: `` !`command` `` and blocks of ```` ```! ````.

What stands in an ordinary code block is an example and stays text.
"""

import re
from typing import Final, NamedTuple

__all__ = ["Injection", "find_injections"]

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_INLINE: Final = re.compile(r"(?<!\S)!`([^`\n]+)`")
_MAX: Final = 100


class Injection(NamedTuple):
    """One command, and the part of the text that its output replaces."""

    start: int
    end: int
    command: str


def find_injections(text: str) -> list[Injection]:
    """The commands of a text in their order, at most a hundred."""
    if "!`" not in text and "`!" not in text and "~!" not in text:
        return []
    found: list[Injection] = []
    at = 0
    fence, opened, inner, runs = "", 0, 0, False
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if fence:
            if match is not None and match[1].startswith(fence) and not match[2].strip():
                if runs and text[inner:at].strip():
                    found.append(Injection(opened, at + len(line.rstrip("\n")), text[inner:at].strip("\n")))
                fence = ""
        elif match is not None and not (match[1][0] == "`" and "`" in match[2]):
            fence, opened, inner = match[1], at, at + len(line)
            runs = match[2].strip() in {"!", "!bash", "!sh"}
        elif "!`" in line:
            found += [Injection(at + one.start(), at + one.end(), one[1].strip()) for one in _INLINE.finditer(line)]
        at += len(line)
    return [one for one in found if one.command][:_MAX]
