"""A shell word as the command will receive it."""

import re
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
