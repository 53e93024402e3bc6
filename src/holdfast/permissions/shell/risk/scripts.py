"""Scripts that a text runs without writing them where they run: in a variable, or through a pipe."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.program import having
from holdfast.permissions.shell.programs.tellers import teller_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.permissions.shell.text.analysis import Analysis
    from holdfast.permissions.shell.words.parts import Part
    from holdfast.permissions.shell.words.values import Values

SHELLS: Final = having("shell")
RUNNING: Final = having("shell", "evaluates")
_MAX_ROWS: Final = 8
_TELLING: Final = having("prints-words")
_ESCAPES: Final = str.maketrans({"\\": " "})  # `\n` in a format ends a line


def told_scripts(analysis: "Analysis", number: int, values: "Values") -> "Iterator[str]":
    """What `x='rm a'; eval $x`, `sh -c "$x"` and `echo 'rm a' | sh` run, as far as the text tells."""
    part = analysis.parts[number]
    if part.words is not None and not all(word.static for word in part.words):
        yield from _spelled(part, values)
    while analysis.parts[number].parent >= 0:
        number = analysis.parts[number].parent
    teller = teller_of(analysis.parts, number) if part.piped and part.name in SHELLS else None
    if teller is not None and teller.name in _TELLING:
        yield from _spelled(teller, values)
        yield from (word.text.translate(_ESCAPES) for word in teller.argv[1:])


def _spelled(part: "Part", values: "Values") -> "Iterator[str]":
    """The arguments in every spelling, and all of them in a row."""
    row = [""]
    for form, word in zip(part.texts[1:], part.argv[1:], strict=True):
        texts = [one.text for one in values.spellings(word.text if word.static else form, static=word.static)]
        yield from texts if not word.static else ()
        row = [f"{before} {text}" for before in row[:_MAX_ROWS] for text in texts[:_MAX_ROWS]] or row
    yield from row
