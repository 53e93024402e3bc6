"""Names that one command prints and the next one takes: `find x | xargs rm`, `echo a | while read f`."""

from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.programs.find import narrows, starts_of
from holdfast.permissions.shell.programs.program import having, names_of
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.permissions.shell.words.parts import Part

_PASSING: Final = having("passes-on")
_FD: Final = names_of("fd")
_SEARCH: Final = names_of("grep") | {"git", "rg"}
_TELL: Final = having("tells-names")
_WORDS: Final = having("prints-words")
_LS: Final = names_of("ls")
_NAMING: Final = names("-l --files --files-with-matches -rl -lr -Rl -lR -il -rli -ril -irl ls-files")


def teller_of(parts: "Sequence[Part]", number: int) -> "Part | None":
    """The command whose names reach the input of this one, by way of commands that hand them on."""
    while number > 0 and parts[number].piped:
        number -= 1
        if parts[number].name not in _PASSING:
            return parts[number]
    return None


def tells_below(part: "Part") -> bool:
    """Whether a command prints nothing but names of files below where it looks."""
    return part.name in _FD or (part.name in _SEARCH and not _NAMING.isdisjoint(part.texts))


class Target(NamedTuple):
    """A place that a command names, as written."""

    form: str
    static: bool
    narrowed: bool = False
    """Only some of what is below it."""


def printed_by(part: "Part") -> "Iterator[Target]":
    """The names that a command prints for the next one to take, as far as they are told."""
    name = part.name
    if name not in _TELL:
        return
    narrowed = name == "find" and narrows(part.texts)
    texts = [word.text for word in part.argv]
    told = starts_of(texts) if name == "find" else [at for at in range(1, len(texts)) if texts[at][:1] != "-"]
    for at in told:
        word, form = part.argv[at], part.texts[at]
        known = word.text if word.static else form
        for piece in known.split() if word.static and name in _WORDS else [known]:
            yield Target(f"{piece}/*" if name in _LS else piece, word.static, narrowed)
    if not told and name not in _WORDS:
        yield Target("*" if name != "find" else ".", static=True, narrowed=narrowed)
