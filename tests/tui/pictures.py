"""Screens as an animated picture: the recorded session of the README."""

import re
from html import escape
from typing import NamedTuple

from holdfast.tui.show.themes import Look

__all__ = ["Run", "animated", "runs_of"]

_SGR = re.compile(r"\x1b\[([\d;]*)m")
_BASIC = (
    *("#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"),
    *("#8a919e", "#ff7b86", "#b5e890", "#ffd68a", "#7cc4ff", "#e19df5", "#76dbe6", "#ffffff"),
)
_INK, _PAPER = "#d7dae0", "#16181d"
_CELL, _ROW, _SIDE, _TOP = 8.4, 19, 16, 40


class Run(NamedTuple):
    """Characters of one look."""

    column: int
    text: str
    colour: int | None = None
    """Of the 256."""
    bold: bool = False
    reverse: bool = False


def runs_of(line: str) -> list[Run]:
    """The line of a captured screen, cut where its look changes; blanks look like what stands before them."""
    found: list[Run] = []
    look, column, at = Run(0, ""), 0, 0
    for sign in [*_SGR.finditer(line), None]:
        for char in line[at : sign.start() if sign else None]:
            before = found[-1] if found else None
            if before is not None and (
                before[2:] == look[2:] or (char == " " and not (look.reverse or before.reverse))
            ):
                found[-1] = before._replace(text=before.text + char)
            elif char != " " or look.reverse:
                found.append(look._replace(column=column, text=char))
            column += 1  # nothing on these screens is two columns wide
        if sign is not None:
            at, look = sign.end(), _changed(look, [int(code or 0) for code in sign[1].split(";")])
    return [run if run.reverse else run._replace(text=run.text.rstrip()) for run in found]


def _changed(look: Run, codes: list[int]) -> Run:
    waiting = list(codes)
    while waiting:
        code = waiting.pop(0)
        if code == 0:
            look = Run(0, "")
        elif code in (1, 22):
            look = look._replace(bold=code == 1)
        elif code in (7, 27):
            look = look._replace(reverse=code == 7)
        elif code == 38 and waiting[:1] == [5]:
            look, waiting = look._replace(colour=waiting[1]), waiting[2:]
        elif 30 <= code <= 37 or 90 <= code <= 97:
            look = look._replace(colour=code - 30 if code < 90 else code - 82)
        elif code == 39:
            look = look._replace(colour=None)
    return look


def animated(frames: list[tuple[list[str], float]], *, columns: int, rows: int, title: str) -> str:
    """One picture that shows each screen for so many seconds, one after the other, again and again."""
    width, height = round(columns * _CELL + 2 * _SIDE), rows * _ROW + _TOP + 12
    whole = sum(seconds for _, seconds in frames)
    steps: list[str] = []
    begun = 0.0
    for place, (_, seconds) in enumerate(frames):
        steps.append(f"{100 * begun / whole:.3f}%{{transform:translateX(-{place * width}px)}}")
        begun += seconds
    screens = [
        f'<g transform="translate({place * width},0)">{"".join(_rows(lines))}</g>'
        for place, (lines, _) in enumerate(frames)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(title)}</title>",
            "<style>",
            f"@keyframes s{{{''.join(steps)}}}",
            f".s{{animation:s {whole:g}s step-end infinite}}",
            f"text{{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:{_INK};white-space:pre}}",
            ".b{font-weight:bold}",
            "</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="{_PAPER}"/>',
            *(f'<circle cx="{20 + 18 * at}" cy="18" r="5.5" fill="#3b4048"/>' for at in range(3)),
            '<g class="s">',
            *screens,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _rows(lines: list[str]) -> list[str]:
    return [_drawn(run, _TOP + 14 + place * _ROW) for place, line in enumerate(lines) for run in runs_of(line)]


def _drawn(run: Run, y: int) -> str:
    x, width = round(_SIDE + run.column * _CELL, 1), round(len(run.text) * _CELL, 1)
    colour = _INK if run.colour is None else _BASIC[run.colour] if run.colour < 16 else _hex(run.colour)
    ink = _PAPER if run.reverse else colour
    look = (' class="b"' if run.bold else "") + ("" if ink == _INK else f' style="fill:{ink}"')
    behind = f'<rect x="{x}" y="{y - 14}" width="{width}" height="{_ROW}" fill="{colour}"/>' if run.reverse else ""
    return f'{behind}<text x="{x}" y="{y}" textLength="{width}"{look}>{escape(run.text, quote=False)}</text>'


def _hex(number: int) -> str:
    rgb = Look(number).rgb
    assert rgb is not None
    return "#{:02x}{:02x}{:02x}".format(*rgb)
