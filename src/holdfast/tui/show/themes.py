"""Colours by the name of what they stand for. Each theme is readable on its background; a test measures it."""

import os
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["AGENT_COLOURS", "THEMES", "Look", "Theme", "agent_style", "choose_theme"]


class Look(NamedTuple):
    """How a piece of text is drawn."""

    colour: int | None = None
    """Of the 256 that terminals know by number; below 16 the terminal's own palette decides."""
    bold: bool = False
    reverse: bool = False

    @property
    def sgr(self) -> str:
        """The numbers that a terminal knows it by."""
        parts = [*(("1",) if self.bold else ()), *(("7",) if self.reverse else ())]
        if self.colour is not None:
            basic = 30 + self.colour if self.colour < 8 else 82 + self.colour
            parts.append(str(basic) if self.colour < 16 else f"38;5;{self.colour}")
        return ";".join(parts)

    @property
    def spec(self) -> str:
        """How prompt_toolkit writes it."""
        words = [*(("bold",) if self.bold else ()), *(("reverse",) if self.reverse else ())]
        if self.colour is not None:
            words.append(_ANSI_NAMES[self.colour] if self.colour < 16 else _hex(self.colour))
        return " ".join(words)

    @property
    def rgb(self) -> tuple[int, int, int] | None:
        """Its red, green and blue; none where the terminal's palette decides."""
        return None if self.colour is None or self.colour < 16 else _rgb(self.colour)


Theme = Mapping[str, Look]

_ANSI_NAMES = (
    "ansiblack",
    "ansired",
    "ansigreen",
    "ansiyellow",
    "ansiblue",
    "ansimagenta",
    "ansicyan",
    "ansigray",
    "ansibrightblack",
    "ansibrightred",
    "ansibrightgreen",
    "ansibrightyellow",
    "ansibrightblue",
    "ansibrightmagenta",
    "ansibrightcyan",
    "ansiwhite",
)
_STEPS = (0, 95, 135, 175, 215, 255)


def _rgb(number: int) -> tuple[int, int, int]:
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return grey, grey, grey
    number -= 16
    return _STEPS[number // 36], _STEPS[number // 6 % 6], _STEPS[number % 6]


def _hex(number: int) -> str:
    return "#{:02x}{:02x}{:02x}".format(*_rgb(number))


AGENT_COLOURS = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan")
"""What a definition of an agent may ask for."""
_BASIC = (1, 4, 2, 3, 5, 3, 5, 6)
_ON_DARK = (210, 111, 114, 179, 141, 215, 218, 80)
_ON_LIGHT = (124, 25, 22, 58, 55, 94, 125, 24)


def agent_style(colour: str) -> str:
    """The style of an agent's name, by the colour that its definition wants; bold where it wants none that we know."""
    return f"agent-{colour}" if colour in AGENT_COLOURS else "bold"


def _theme(*, dim: int, ok: int, bad: int, warn: int, accent: int, agents: tuple[int, ...] = _BASIC) -> Theme:
    return {
        **{agent_style(name): Look(number, bold=True) for name, number in zip(AGENT_COLOURS, agents, strict=True)},
        "": Look(),
        "bold": Look(bold=True),
        "dim": Look(dim),
        "hint": Look(dim),
        "ok": Look(ok),
        "bad": Look(bad),
        "warn": Look(warn),
        "accent": Look(accent),
        "you": Look(accent, bold=True),
        "chosen": Look(accent, bold=True),
        "add": Look(ok),
        "del": Look(bad),
        "add-word": Look(ok, bold=True, reverse=True),
        "del-word": Look(bad, bold=True, reverse=True),
    }


THEMES: dict[str, Theme] = {
    "ansi": _theme(dim=8, ok=2, bad=1, warn=3, accent=6),
    "dark": _theme(dim=246, ok=114, bad=210, warn=179, accent=80, agents=_ON_DARK),
    "light": _theme(dim=241, ok=22, bad=124, warn=94, accent=25, agents=_ON_LIGHT),
    "dark-daltonized": _theme(dim=246, ok=75, bad=215, warn=228, accent=153, agents=_ON_DARK),
    "light-daltonized": _theme(dim=241, ok=25, bad=94, warn=58, accent=55, agents=_ON_LIGHT),
}
"""The daltonized ones tell right from wrong by blue and orange."""
_SAME = {"dark-ansi": "ansi", "light-ansi": "ansi"}


def choose_theme(wanted: str, environ: Mapping[str, str] = os.environ, *, background: str = "") -> Theme:
    """The theme of this name; `auto` goes by what the terminal tells of itself, an unknown name like it.

    Args:
        wanted: The name.
        environ: What tells of the terminal.
        background: `light` or `dark`, where it has said so when it was asked.
    """
    name = _SAME.get(wanted, wanted)
    has_256 = "256color" in environ.get("TERM", "") or environ.get("COLORTERM", "") in ("truecolor", "24bit")
    if name in THEMES:
        return THEMES[name if has_256 else "ansi"]
    if not has_256:
        return THEMES["ansi"]
    if not background:
        background = "light" if environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15") else "dark"
    return THEMES[background]
