"""What a shell word that is only known at run time still tells: where it starts, and names it would match."""

from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.roads import search_roads

if TYPE_CHECKING:
    from holdfast.permissions.shell.parts import Part

__all__ = ["Told", "dynamic_words", "told_by"]

_HOME: Final = ("${HOME}", "$HOME")
_QUOTES: Final = str.maketrans("", "", "'\"\\")
_EXPANDS: Final = ("$", "`", "<(", ">(")
_NOTHING: Final = "x"


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
    outside = tuple(base for base in roads.bases if base.startswith(("/", "~")) or ".." in base)
    return Told(outside or ((text,) if text.startswith("~") else ()), samples)
