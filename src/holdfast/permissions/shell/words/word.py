"""A shell word as the command will receive it, and the options among words for questions that need no table."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_SECRET: Final = re.compile(r"TOKEN|SECRET|KEY|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL", re.IGNORECASE)


class Word(NamedTuple):
    """One word of a simple command after quote removal.

    Attributes:
        text: the exact argument when `static`, otherwise the literal prefix that is known for certain.
        static: the word becomes exactly one argument and `text` is that argument.
        may_be_flag: False only when no argument this word can become starts with `-`.
        glob: an unquoted glob or brace expansion, so it may become several arguments.
        secret: expands a variable whose name says it holds a secret.
        shallow: a pattern whose wildcards all stand in its last component.
        single: the word becomes exactly one argument although its text is not known.
        whole: its text is not known, but neither blanks nor patterns cut it into several arguments.
    """

    text: str
    static: bool = True
    may_be_flag: bool = True
    glob: bool = False
    secret: bool = False
    shallow: bool = False
    single: bool = False
    whole: bool = False


def names(text: str) -> frozenset[str]:
    """Give the space-separated names in a text as a set, so that tables stay readable."""
    return frozenset(text.split())


def is_secret(name: str) -> bool:
    """Whether a variable's name says that it holds a secret."""
    return _SECRET.search(name) is not None


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
