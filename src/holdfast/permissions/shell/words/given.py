"""Options among words, for programs and questions that need no table: letters in clusters, long names shortened."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["has_option", "spells", "values_given"]


def has_option(texts: "Sequence[str]", letters: str, *long: str) -> bool:
    """Whether a command is given one of these options, by a letter in a cluster or by a long name."""
    for text in texts[1:]:
        if text[:2] == "--":
            if any(len(text) > 3 and name.startswith(text.partition("=")[0]) for name in long):
                return True
        elif text[:1] == "-" and not set(letters).isdisjoint(text):
            return True
    return False


def spells(text: str, option: str) -> bool:
    """Whether a word is this option: alone, abbreviated, in a cluster of letters, with its value glued on or not."""
    if option[:2] == "--":
        name = text.partition("=")[0]
        return len(name) > 3 and option.startswith(name)
    if len(option) > 2 or option == "-":
        return text == option
    return text[:1] == "-" and text[1:2] != "-" and option[1] in text


def values_given(texts: "Sequence[str]", options: "Sequence[str]") -> "Iterator[tuple[int, str | None]]":
    """The values of options in every spelling: `-t x`, `-tx`, `--long x`, `--long=x`, `--lo=x`.

    Each comes with the number of its option; None: it is the next word.
    """
    for at, text in enumerate(texts[1:], start=1):
        for option in options:
            if not spells(text, option):
                continue
            if option[:2] == "--":
                yield at, text.partition("=")[2] if "=" in text else None
            else:
                yield at, (text.partition(option[1])[2] if len(option) == 2 else "") or None
