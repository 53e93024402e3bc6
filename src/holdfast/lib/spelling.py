"""What somebody may have meant who wrote a name that is none."""

from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest_name"]

_MAX_CHARS = 80


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that a slip of the finger makes this one, whatever its capitals; none when there is none.

    A slip is a letter too many, too few, another one, or two that changed places: one in a short name, up to three in a
    long one.
    """
    if not 0 < len(name) <= _MAX_CHARS:
        return None
    folded = name.lower()
    most = 1 if len(name) <= 5 else 2 if len(name) <= 12 else 3
    near = [(slips, candidate) for candidate in known if (slips := _slips(folded, candidate.lower(), most)) <= most]
    return min(near, key=lambda found: found[0])[1] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to put behind an error, with a space before it; empty when nothing is like the name."""
    near = nearest_name(name, known)
    return "" if near is None else f" Did you mean {near!r}?"


def _slips(one: str, other: str, most: int) -> int:
    """How many slips lie between two names; anything above `most` where they are more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, before = before, row
        row = [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
