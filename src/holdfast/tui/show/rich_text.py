"""Finished pieces of an answer drawn by rich; this is loaded with the first one."""

import io
import re
from collections import Counter
from functools import cache
from typing import ClassVar, cast

from markdown_it import MarkdownIt
from rich.console import Console, JustifyMethod
from rich.markdown import Heading, Markdown
from rich.padding import Padding
from rich.syntax import Syntax, SyntaxTheme

from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.rich_themes import code_theme, markdown_theme
from holdfast.tui.show.themes import Theme
from holdfast.tui.show.words import prose

__all__ = ["render"]

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_MARKS = re.compile(r"^[ \t>]*(?:\d{1,9}[.)](?=\s)|(?:[-*+]\s+)*(?:`{3,}|~{3,})[\w+#.-]*)", re.MULTILINE)
"""Numbers of items and languages of code: their place says it, or their colours."""


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftHeading}

    def __init__(self, text: str, syntax: SyntaxTheme) -> None:
        super().__init__("", hyperlinks=False)
        self.code_theme = cast("str", syntax)  # its author takes either, but says it of names alone
        self.markup = text
        self.parsed = _parser().parse(text)
        for token in self.parsed:  # the address of such a link is its text
            token.children = [one for one in token.children or () if one.markup != "autolink"] or token.children


class _Parser(MarkdownIt):
    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the name is the library's
        """An address as it was written."""
        return url


@cache
def _parser() -> MarkdownIt:
    """Markdown without what would hide a part of its text or turn it into other characters."""
    parser = _Parser("commonmark", {"html": False}).enable(["strikethrough", "table"])
    return parser.disable(["entity", "reference", "image"])


def render(piece: Piece, *, columns: int, theme: Theme | None) -> str:
    """The piece for a terminal. Whatever it holds is spelled out before anything draws it."""
    out = io.StringIO()
    has_colour = theme is not None
    console = Console(
        file=out,
        width=max(10, columns - 1),
        force_terminal=has_colour,
        no_color=not has_colour,
        color_system="256" if has_colour else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        theme=markdown_theme(theme),
    )
    safe = prose(piece.text)
    if piece.language is None:
        console.print(_Markdown(safe, code_theme(theme)))
        if not _holds_all(safe, out.getvalue()):  # such as a row with more cells than its table has columns
            out.seek(0)
            out.truncate()
            console.print(safe)
    else:
        code = Syntax(safe, piece.language, theme=code_theme(theme), word_wrap=True, background_color="default")
        console.print(Padding(code, (0, 0, 0, 2)))
    lines = [line.rstrip() for line in out.getvalue().rstrip("\n").split("\n")]
    return "\n".join(line if _COLOUR.sub("", line).strip() else "" for line in lines)


def _holds_all(text: str, drawn: str) -> bool:
    """Whether every letter and digit of the text is there to be seen."""
    wanted, shown = Counter(_MARKS.sub("", text)), Counter(_COLOUR.sub("", drawn))
    return all(number <= shown[char] for char, number in wanted.items() if char.isalnum())
