"""How the arguments of wrappers look: where the command they start begins."""

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast.permissions.shell.programs.program import PROGRAMS, told
from holdfast.permissions.shell.programs.tool_table import Option, parse_options
from holdfast.permissions.shell.words.word import Word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOTHING: Final = Word("", static=True, may_be_flag=False)
STRIP: Final = "strip"
"""The hull of wrappers that rules look through."""


class Shape(NamedTuple):
    """How a wrapper's own arguments look.

    `operands` stand before the command, `assigns` says whether NAME=value words do, `mixed` whether options may follow
    those; `digits`: `-5` is an option. `dashed`: all stands in front of `--`, except with one of `scripts`, which take
    a script.
    """

    short: "Mapping[str, Option]"
    long: "Mapping[str, Option]"
    operands: int = 0
    assigns: bool = False
    refusal: str | None = None
    hull: str = "exact"
    digits: bool = False
    mixed: bool = False
    dashed: bool = False
    scripts: frozenset[str] = frozenset()


@cache
def shape_of(text: str, options: str = "", refusal: str | None = None) -> Shape:
    """Read the notation of entries: options, and how they and the words behind them are read."""
    given = [word for word in text.split() if word[0] in "-!"]
    said: dict[str, Any] = {"refusal": refusal}
    for word in text.split():
        if word[0] not in "-!":
            name, equals, value = word.partition("=")
            said[name] = (int(value) if value.isdigit() else value) if equals else True
    if "scripts" in said:
        said["scripts"] = frozenset(said["scripts"].split(","))
    short, long = parse_options(" ".join((options, *given)))
    return Shape(short, long, **said)


class Inner(NamedTuple):
    """What a wrapper starts.

    Attributes:
        argv: the inner command; `others` are further ones (`find` may have several).
        scripts: texts the wrapper hands to a shell.
        refusal: why the wrapper itself is not read-only, or None.
        hull: "strip" = rules look through it; "exact" = only a rule for the exact text covers it; "opaque" = a rule
            for the wrapper covers what it starts; "same" = it starts itself, elsewhere.
        more: the inner command gets further arguments at run time.
        doubt: why what it starts is not known, or "".
        reads_stdin: it runs its input as a script.
        places: the directories it starts them in, seen from the present one; "" = the present one, None = the text
            does not tell; none = it does not move.
        guessed: `argv` is what it starts, and `others` and `scripts` are most likely mere arguments of that.
    """

    argv: tuple[Word, ...] = ()
    others: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[str, ...] = ()
    refusal: str | None = None
    hull: str = "exact"
    more: bool = False
    doubt: str = ""
    reads_stdin: bool = False
    places: tuple[str | None, ...] = ()
    guessed: bool = False


class Opened(NamedTuple):
    """A wrapper's arguments split: where the command starts, assignments, options; `known` = all were in the table."""

    start: int
    assigns: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    known: bool


def open_wrapper(shape: Shape, argv: "Sequence[Word]") -> Opened:
    """Find where the inner command begins, reading options as the wrapper does."""
    index, operands, known = 1, shape.operands, True
    assigns: list[str] = []
    options: list[tuple[str, str]] = []
    ended = False
    while index < len(argv):
        word = argv[index]
        text = word.text
        if not word.static:  # it may become an option, or several words of which one is the command
            known = known and not word.may_be_flag
        if not ended and word.static and text == "--":
            ended = True
        elif not ended and text.startswith("-") and text != "-":
            used, ok = _option(shape, argv, index, options)
            known = known and ok
            index += used
        elif shape.assigns and is_assignment(text):
            assigns.append(text.partition("=")[0])
            ended = ended or not shape.mixed
        elif operands:
            operands -= 1
        else:
            break
        index += 1
    return Opened(index, tuple(assigns), tuple(options), known)


MAX_WORDS: Final = 2_000
"""Of a longer command only short pieces are looked at where any word may start a command."""
_PIECE: Final = 32


def tails(argv: tuple[Word, ...], start: int, *, options: bool) -> tuple[tuple[Word, ...], ...]:
    """Everything that the words from `start` on may begin; with `options`, also words that begin with a dash."""
    length = len(argv) if len(argv) <= MAX_WORDS else _PIECE
    return tuple(argv[at : at + length] for at in range(start, len(argv)) if options or argv[at].text[:1] != "-")


def known_zone(zone: str) -> bool:
    """Whether a value of TZ names a zone; one that leads elsewhere is a file that is opened."""
    return zone.lstrip(":")[:1] != "/" and ".." not in zone


def is_assignment(text: str) -> bool:
    """Whether a word looks like NAME=value."""
    name, equals, _ = text.partition("=")
    return bool(equals) and name.replace("_", "a").isalnum() and not name[:1].isdigit()


def _meant(shape: Shape, name: str) -> "tuple[Option | None, bool]":
    """A long option, and whether that is its whole name; an abbreviation is not sure, since tables are not complete."""
    exact = shape.long.get(name)
    if exact is not None or not name:
        return exact, exact is not None
    found = [option for known, option in shape.long.items() if known.startswith(name)]
    return (found[0] if len(found) == 1 else None), False


def _option(shape: Shape, argv: "Sequence[Word]", index: int, options: list[tuple[str, str]]) -> tuple[int, bool]:
    """Read the options in one word: how many words behind it belong to it, and whether it is understood."""
    text = argv[index].text
    if not argv[index].static:
        return 0, False
    value = argv[index + 1] if index + 1 < len(argv) else NOTHING
    following, single = value.text, value.static or not value.may_be_flag
    if text.startswith("--"):
        name, equals, glued = text[2:].partition("=")
        option, whole = _meant(shape, name)
        takes = option is not None and option.takes == "value"
        options.append((option.name if option else f"--{name}", glued if equals else following if takes else ""))
        return (1 if takes and not equals else 0), whole and (not takes or bool(equals) or single)
    if shape.digits and text[1:].isdigit():
        options.append(("-n", text[1:]))
        return 0, True
    for position, letter in enumerate(text[1:], start=2):
        glued, option = text[position:], shape.short.get(letter)
        if option is None:
            options.append((f"-{letter}", ""))
            return 0, False
        if option.takes == "glued":
            options.append((option.name, glued))
            return 0, True
        if option.takes == "value":
            options.append((option.name, glued or following))
            return (0 if glued else 1), bool(glued) or single
        options.append((option.name, ""))
    return 0, True


def _starting(options: str) -> str:
    """The options with which something is started."""
    return " ".join(option for option in options.split() if option not in ("--help", "--version"))


def _shapes() -> dict[str, Shape]:
    whys = told("wraps-why")
    return {
        name: shape_of(text, _starting(PROGRAMS[name].fields.get("options", "")), whys.get(name))
        for name, text in told("wraps").items()
    }


SHAPES: Final = _shapes()
"""How the wrappers among the programs take their arguments."""
