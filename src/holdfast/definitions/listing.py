"""Names and what each is for, as a model reads them: one line each, all together within a limit."""

from collections.abc import Sequence
from typing import Final, Protocol

from holdfast.lib.visible import visible

__all__ = ["LISTING_CHARS", "Described", "listing_of"]

LISTING_CHARS: Final = 15_000
"""So long is a list that a model is shown at the start."""
_LENGTHS: Final = (1_536, 500, 200, 100, 50)
_NAME_CHARS: Final = 80


class Described(Protocol):
    """Something that says what it is for."""

    @property
    def about(self) -> str:
        """In one line."""
        ...


def listing_of(named: Sequence[tuple[str, Described]], limit_chars: int = LISTING_CHARS) -> str:
    """One line for each, shortened together until they fit; what does not fit is counted."""
    names = [visible(name, limit_chars=_NAME_CHARS) for name, _ in named]
    if sum(len(name) + 3 for name in names) > limit_chars:
        return _names_only(names, limit_chars)
    abouts = [(name, visible(one.about)) for name, (_, one) in zip(names, named, strict=True)]
    for length in _LENGTHS:
        text = "\n".join(f"- {name}: {_cut(about, length)}" if about else f"- {name}" for name, about in abouts)
        if len(text) <= limit_chars:
            return text
    return _names_only(names, limit_chars)


def _names_only(names: list[str], limit_chars: int) -> str:
    kept: list[str] = []
    left = limit_chars - 120
    for name in names:
        left -= len(name) + 3
        if left < 0:
            break
        kept.append(f"- {name}")
    rest = len(names) - len(kept)
    more = f"\n- … and {rest:,} more: a call with words of what you need is answered with the nearest names"
    return "\n".join(kept) + (more if rest else "")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
