"""Finished pieces of an answer drawn by rich; this is loaded with the first one."""

import io
import re
from typing import ClassVar

from rich.console import Console, JustifyMethod
from rich.markdown import Heading, Markdown
from rich.padding import Padding
from rich.syntax import Syntax

from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.themes import THEMES, Theme
from holdfast.tui.show.words import prose

__all__ = ["render"]

_COLOUR = re.compile(r"\x1b\[[\d;]*m")


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftHeading}


def render(piece: Piece, *, columns: int, theme: Theme | None) -> str:
    """The piece for a terminal. Whatever it holds is spelled out before anything draws it."""
    out = io.StringIO()
    has_colour = theme is not None
    code_theme = "ansi_light" if theme is THEMES["light"] or theme is THEMES["light-daltonized"] else "ansi_dark"
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
    )
    safe = prose(piece.text)
    if piece.language is None:
        console.print(_Markdown(safe, hyperlinks=False, code_theme=code_theme))
    else:
        code = Syntax(safe, piece.language, theme=code_theme, word_wrap=True, background_color="default")
        console.print(Padding(code, (0, 0, 0, 2)))
    lines = [line.rstrip() for line in out.getvalue().rstrip("\n").split("\n")]
    return "\n".join(line if _COLOUR.sub("", line).strip() else "" for line in lines)
