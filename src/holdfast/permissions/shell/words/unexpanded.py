"""What a shell word that is only known at run time still tells: where it starts, and names it would match."""

from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.rules.samples import plain_patterns, search_roads
from holdfast.permissions.shell.words.quoting import known_literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from holdfast.permissions.shell.words.parts import Cwds, Part
    from holdfast.permissions.shell.words.word import Word

__all__ = ["Told", "dynamic_words", "is_expanded", "literal_words", "named_by", "patterns_of", "placed", "told_by"]

_HOME: Final = ("${HOME}", "$HOME")
_QUOTES: Final = str.maketrans("", "", "'\"\\")
_EXPANDS: Final = ("$", "`", "<(", ">(")
_NOTHING: Final = "x"
_WILD: Final = frozenset("*?[")
_MAX_NAMED: Final = 256


class Told(NamedTuple):
    """What is certain about the files behind a word."""

    directories: tuple[str, ...] = ()
    """Where they lie, when that is not simply below the working directory."""
    samples: tuple[str, ...] = ()
    """Names a pattern would match, for deny and ask rules."""
    unknown: bool = False
    """The word may name anything at all."""


_ANYTHING: Final = Told(unknown=True)


def dynamic_words(part: "Part") -> list[Told]:
    """What each argument that the shell still expands tells."""
    forms = part.exact.split("\x1f")
    if len(forms) != len(part.argv):
        return [_ANYTHING]
    return [told_by(form) for form, word in zip(forms[1:], part.argv[1:], strict=True) if not word.static]


def literal_words(words: "tuple[Word, ...] | None", texts: "Sequence[str]") -> "list[Word]":
    """The arguments of a part; a file pattern stands for itself, since whatever it becomes fits it."""
    if words is None:
        return [known_literal(text) for text in texts[1:]]
    if len(words) != len(texts):
        return list(words[1:])
    return [
        word if word.static or any(mark in text for mark in _EXPANDS) else known_literal(text)
        for word, text in zip(words[1:], texts[1:], strict=True)
    ]


def told_by(form: str) -> Told:
    """Read a word as it is written, for what it tells before it is expanded."""
    text = form.translate(_QUOTES)
    for name in _HOME:
        if text == name or text.startswith(name + "/"):
            text = "~" + text[len(name) :]
    if text.startswith("-"):
        return Told(unknown=any(mark in text for mark in _EXPANDS))
    cut = min((at for at in (text.find(mark) for mark in _EXPANDS) if at >= 0), default=-1)
    if cut >= 0:
        known = text[:cut].rpartition("/")[0]
        return Told((known,) if known.startswith(("/", "~", "..")) else (), unknown=True)
    roads = search_roads("Glob", {"pattern": text})
    samples = tuple(name for name in roads.witnesses if name != _NOTHING)
    bases = roads.bases or ((text,) if text.startswith("~") else ())
    return Told(bases, samples)


def is_expanded(form: str) -> bool:
    """Whether a word as written holds an expansion other than by braces and wildcards."""
    return any(mark in form for mark in _EXPANDS)


def placed(paths: "Iterable[str]", cwds: "Cwds") -> "Iterator[str]":
    """Paths as seen from every directory the command may run in; an unknown one counts as the current."""
    for path in paths:
        for directory in cwds or ("",):
            yield path if path.startswith("/") or not directory else f"{directory}/{path}"


def patterns_of(part: "Part") -> "Iterator[str]":
    """The file patterns among the arguments, without braces; words with other expansions tell none."""
    for form, word in zip(part.texts, part.argv, strict=False):
        if not word.static and not is_expanded(form):
            yield from plain_patterns(form.translate(_QUOTES))


def named_by(pattern: str, names: "Collection[str]") -> "Iterator[str]":
    """Paths the pattern would match when the directories hold files with these names."""
    paths = [""]
    for position, segment in enumerate(pattern.split("/")):
        fitting = [segment]
        if not _WILD.isdisjoint(segment):
            shell = segment.replace("[^", "[!")
            fitting = [name for name in names if fnmatchcase(name, shell) and (name[0] != "." or segment[0] == ".")]
            fitting = fitting or [_NOTHING]
        lead = "/" if position else ""
        paths = [path + lead + name for path in paths for name in fitting][:_MAX_NAMED]
    yield from paths
