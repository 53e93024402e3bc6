"""How prompt_toolkit draws: where to, and in which styles."""

from functools import cache

from prompt_toolkit.buffer import CompletionState
from prompt_toolkit.output import Output
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.styles import Style

from holdfast.tui.show.themes import THEMES, Theme
from holdfast.tui.show.words import Line, cut

__all__ = ["offer_lines", "style_of", "terminal_output"]

_OFFERED = 6


def terminal_output() -> Output:
    """The terminal that we run in."""
    output = create_output()
    if hasattr(output, "enable_cpr"):  # where the cursor is need not be asked: the region never grows into free rows
        output.enable_cpr = False  # pyright: ignore[reportAttributeAccessIssue] - of the terminals' class alone
    return output


def offer_lines(state: CompletionState | None, columns: int) -> list[Line]:
    """What completion offers, around the one that is chosen."""
    if state is None:
        return []
    at = state.complete_index or 0
    first = max(0, min(at - _OFFERED // 2, len(state.completions) - _OFFERED))
    return [
        [
            (
                "chosen" if place == state.complete_index else "dim",
                cut(f"  {one.display_text}  {one.display_meta_text}", columns),
            )
        ]
        for place, one in enumerate(state.completions[first : first + _OFFERED], first)
    ]


@cache
def _styles() -> dict[int, Style]:
    return {}


def style_of(theme: Theme | None) -> Style:
    """The theme as prompt_toolkit reads it; without one only what is no colour."""
    known = _styles()
    if id(theme) not in known:
        looks = THEMES["ansi"] if theme is None else theme
        specs = {
            f"hf-{name}": (look._replace(colour=None) if theme is None else look).spec
            for name, look in looks.items()
            if name
        }
        known[id(theme)] = Style.from_dict(specs)
    return known[id(theme)]
