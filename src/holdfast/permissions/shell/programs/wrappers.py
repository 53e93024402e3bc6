"""Programs that start the command behind their own words: where it begins, where it runs, what rules may conclude."""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Final, NamedTuple

from holdfast.permissions.shell.programs.options import Scan
from holdfast.permissions.shell.programs.program import PROGRAMS, told, words_told
from holdfast.permissions.shell.programs.tool_table import Tool, read_tool
from holdfast.permissions.shell.words.word import Word, names, spells, values_given

MAX_WRAPPERS: Final = 8
"""Deeper stacks are never allowed without a question."""
MORE: Final = Word("", static=False, may_be_flag=True)
"""Arguments that arrive at run time."""
RESERVED: Final = names("if then else elif fi do done case esac while until for select in function { } [[ ]] ! coproc")
FED: Final = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Names under which a shell finds a script that is not a file of its own."""
STRIP: Final = "strip"
UNTOLD: Final = (None,)
"""The text does not tell where a command runs."""
MAX_WORDS: Final = 2_000
"""Of a longer command only short pieces are looked at where any word may start a command."""
_PIECE: Final = 32
_SAFE_ENVIRONMENT: Final = names("LANG TZ NO_COLOR TERM COLUMNS LINES")
LATER: Final = "the text it runs is not known before it runs"


class Inner(NamedTuple):
    """What a wrapper starts.

    Attributes:
        argv: the inner command; `others` are further ones (`find` may have several).
        scripts: texts the wrapper hands to a shell.
        refusal: why the wrapper itself is not read-only, or None.
        cover: what a rule for the wrapper covers: "strip" = rules look through it; "exact" = only a rule for the exact
            text covers it; "opaque" = it covers what it starts, too; "same" = it starts itself, elsewhere.
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
    cover: str = "exact"
    more: bool = False
    doubt: str = ""
    reads_stdin: bool = False
    places: tuple[str | None, ...] = ()
    guessed: bool = False


class Opened(NamedTuple):
    """A wrapper's own words: where the command starts, variables, options; `known`: none may mean anything else."""

    start: int
    assigns: tuple[str, ...]
    given: tuple[tuple[str, Word | None], ...]
    known: bool
    refusal: str | None

    def values(self, *options: str) -> list[Word]:
        """The values of options."""
        return [value for name, value in self.given if name in options and value is not None]


def opened(tool: Tool, argv: Sequence[Word], before: int) -> Opened:
    """Find where the inner command begins behind so many operands, reading options as the wrapper does."""
    rest, ended, known = argv[1:], False, True
    given, assigns = list[tuple[str, Word | None]](), list[str]()
    refusal: str | None = None
    while rest:
        if not ended:
            found = Scan(tool, rest)
            found.sort()
            rest, ended = found.operands, found.ended_at is not None
            given += found.given
            known, refusal = known and not found.unsure, refusal or found.refusal
        if rest and tool.assigns and is_assignment(rest[0].text):
            assigns.append(rest[0].text.partition("=")[0])
            ended = ended or not tool.mixed
        elif rest and before:
            before -= 1
        else:
            break
        known = known and (rest[0].static or not rest[0].may_be_flag)
        rest = rest[1:]
    return Opened(len(argv) - len(rest), tuple(assigns), tuple(given), known, refusal)


def tails(argv: tuple[Word, ...], start: int, *, options: bool) -> tuple[tuple[Word, ...], ...]:
    """Everything that the words from `start` on may begin; with `options`, also words that begin with a dash."""
    length = len(argv) if len(argv) <= MAX_WORDS else _PIECE
    return tuple(argv[at : at + length] for at in range(start, len(argv)) if options or argv[at].text[:1] != "-")


def known_zone(zone: str) -> bool:
    """Whether a value of TZ names a zone; one that leads elsewhere is a file that is opened."""
    return zone.lstrip(":")[:1] != "/" and ".." not in zone


def safe_environment(name: str) -> bool:
    """Whether setting this variable for one command only changes how its output looks."""
    return name in _SAFE_ENVIRONMENT or name.startswith("LC_")


def is_assignment(text: str) -> bool:
    """Whether a word looks like NAME=value."""
    name, equals, _ = text.partition("=")
    return bool(equals) and name.replace("_", "a").isalnum() and not name[:1].isdigit()


class _Moves(NamedTuple):
    """Options with a directory, options after which it is not known, and those that keep the present one.

    `away`: without any of them it does not start where it is, as daemons and login shells do.
    """

    into: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    away: bool = False


def _moves(text: str) -> _Moves:
    said: dict[str, list[str]] = {"into": [], "lost": [], "kept": [], "away": []}
    kind = "into"
    for word in text.split():
        if word[0] == "-":
            said[kind].append(word)
        else:
            kind = word
    return _Moves(tuple(said["into"]), tuple(said["lost"]), tuple(said["kept"]), away="away" in text.split())


_MOVES: Final = {name: _moves(text) for name, text in told("moves").items()}


def places_of(name: str, argv: tuple[Word, ...], found: Opened | None = None) -> tuple[str | None, ...]:
    """The directories in which a program starts a command; none when it stays.

    Its own options tell where they are known, else any word that may be one of them.
    """
    moves = _MOVES.get(name)
    if name == "chroot" and found is not None and "--skip-chdir" not in [option for option, _ in found.given]:
        root = argv[found.start - 1]  # every name means another file, unless that is the root already
        return ("/",) if found.known and root.static and root.text and not root.text.strip("/") else UNTOLD
    if moves is None:
        return ()
    texts = [word.text for word in argv[1:]]
    if found is not None:
        found = found._replace(given=tuple(_settings(found.given)))
        given = {option for option, _ in found.given}
        is_lost = not given.isdisjoint(moves.lost) or ("-" in moves.lost and "-" in texts)
        values = [value.text if value is not None else "" for option, value in found.given if option in moves.into]
        if is_lost or (values and not all(word.static for word in argv[1 : found.start if found.known else None])):
            return UNTOLD
        if found.known and values:  # an empty value stands for `nsenter -w`: the directory of another process
            return (values[-1] or None,)
    else:
        given = set(texts)
        if any(spells(text, option) for text in texts for option in moves.lost):
            return UNTOLD
    told_by_words = moved_by_options(argv, moves.into) if found is None or not found.known else []
    if told_by_words:
        return ("", *told_by_words)
    return UNTOLD if moves.away and given.isdisjoint(moves.kept) else ()


def _settings(given: "Sequence[tuple[str, Word | None]]") -> "Iterator[tuple[str, Word | None]]":
    """Options, with those that move the command among the properties that `systemd-run` is given."""
    for option, value in given:
        setting, _, place = value.text.partition("=") if value is not None else ("", "", "")
        if option in ("-p", "--property") and setting == "WorkingDirectory":
            yield "--working-directory", Word(place.removeprefix("-"))
        elif option in ("-p", "--property") and setting.startswith(("Root", "Bind", "Mount")):
            yield "--root", value
        else:
            yield option, value


def moved_by_options(argv: tuple[Word, ...], options: Sequence[str]) -> list[str | None]:
    """The values of options in every spelling, wherever they stand; None for one that the text does not tell."""
    found: list[str | None] = []
    for at, value in values_given([word.text for word in argv], options):
        if value is not None:
            found.append(value if argv[at].static else None)
        elif at + 1 < len(argv):
            found.append(argv[at + 1].text if argv[at + 1].static and argv[at].static else None)
    return found


def _starting(name: str) -> Tool:
    """How a wrapper takes its arguments; what only helps starts nothing."""
    fields = PROGRAMS[name].fields
    options = " ".join(one for one in fields.get("options", "").split() if one not in ("--help", "--version"))
    return read_tool(f"{options} {fields['wraps']}", kind="wrapper")


WRAPPING: Final[Mapping[str, Tool]] = {name: _starting(name) for name in told("wraps")}
"""How the wrappers among the programs take their arguments."""
_WHYS: Final = told("wraps-why")
_LOOKS: Final = words_told("looks")
_SCRIPT_OPTIONS: Final = ("-c", "--command")
_TAKES_SCRIPTS: Final = frozenset(name for name, tool in WRAPPING.items() if "--command:" in tool.options.split())
"""Wrappers that hand a text to a shell when they are told to."""


def open_wrapper(name: str, argv: tuple[Word, ...]) -> Inner | None:
    """Open a wrapper that its entry tells all about; None when it only looks."""
    tool, looks = WRAPPING[name], _LOOKS.get(name, frozenset[str]())
    found = opened(tool, argv, tool.before)
    if any(option in looks for option, _ in found.given):
        return None
    inner, refusal, cover = argv[found.start :], _WHYS.get(name), tool.cover
    if cover != STRIP:
        refusal = refusal or f"it runs another command through {name}"
    if found.assigns or found.refusal is not None:
        cover = "exact" if cover == STRIP else cover
        refusal = refusal or f"its options to {name}, or the variables it sets, are not known to be harmless"
    others, doubt = (), ""
    if not found.known and not (found.assigns and tool.cover == STRIP):
        others = tails(argv, 1, options=True)
        doubt = "" if all(word.static for word in argv) else f"what {name} runs is not known"
    scripts: tuple[str, ...] = ()
    if name in _TAKES_SCRIPTS:
        scripts = tuple(value.text for value in found.values(*_SCRIPT_OPTIONS))
        if not scripts:  # `su - user -c text`: options may stand behind operands
            scripts = tuple(argv[at].text for at in range(2, len(argv)) if argv[at - 1].text in _SCRIPT_OPTIONS)
    if inner and not inner[0].static:
        doubt = f"what {name} runs is not known"
    return Inner(inner, others, scripts, refusal, cover, doubt=doubt, places=places_of(name, argv, found))


def open_env(argv: tuple[Word, ...]) -> Inner:
    """Open `env`, which sets variables, goes elsewhere and splits texts."""
    argv = tuple(Word("-i") if word.static and word.text == "-" else word for word in argv)
    found = opened(WRAPPING["env"], argv, 0)
    inner, head = argv[found.start :], argv[: found.start]
    refusal = "its options to env are not read-only" if found.given or not found.known else None
    if any(word.text.startswith("TZ=") and not known_zone(word.text[3:]) for word in head):
        refusal = refusal or "the time zone may be any file"
    for name in found.assigns:
        if not safe_environment(name):
            refusal = refusal or f"it sets {name} for the command"
    if not inner:
        refusal = refusal or "it prints the whole environment"
    scripts = _split_strings(found, inner)
    # env has escapes of its own
    certain = all(word.static for word in head) and not any("\\" in script or "$" in script for script in scripts)
    others = () if found.known else tails(argv, 1, options=True)
    doubt = "" if certain else "what env runs is not known"
    return Inner(inner, others, scripts, refusal, doubt=doubt, places=places_of("env", argv, found))


def _split_strings(found: Opened, rest: tuple[Word, ...]) -> tuple[str, ...]:
    """What `env -S` runs: the words of its texts, which may be options of its own, and those behind them."""
    texts = [value.text for value in found.values("-S")]
    if not texts:
        return ()
    behind = [quote(word.text) + ("" if word.static else '"$_"') for word in rest]
    again = ["env"] if any(text.lstrip().startswith("-") for text in texts) else []
    return (" ".join([*again, *texts, *behind]),)


XARGS_DEFAULT: Final = (Word("echo", may_be_flag=False),)
"""What xargs runs when no command is written behind it."""


def open_xargs(argv: tuple[Word, ...]) -> Inner:
    """Open `xargs`, which adds words that arrive at run time."""
    found = opened(WRAPPING["xargs"], argv, 0)
    inner = argv[found.start :]
    # Only the last one counts for xargs; none of them is taken as plain text here.
    for mark in (value.text if value else "" for option, value in found.given if option in ("-I", "-i")):
        inner = tuple(_filled(word, mark or "{}") for word in inner)
    quiet = found.known and found.refusal is None
    refusal = None if quiet else "its options to xargs are not known"
    if inner and not inner[0].static:
        refusal = "what xargs runs is not known"
    others = () if found.known else tails(argv, 1, options=True)
    cover = "exact" if found.given or not quiet else STRIP
    return Inner(inner or XARGS_DEFAULT, others, (), refusal, cover, more=True)


def _filled(word: Word, mark: str) -> Word:
    before, found, _ = word.text.partition(mark)
    return Word(before, static=False, may_be_flag=not before) if found else word


def open_shell(argv: tuple[Word, ...]) -> Inner | None:
    """Open a shell: the text behind `-c`, its input, or a file that is like any program of the project."""
    if len(argv) == 2 and argv[1].text == "--version":
        return None
    refusal = f"it runs {argv[0].text} as a script interpreter"
    index, script = 1, False
    while index < len(argv):
        word, text = argv[index], argv[index].text
        if not word.static or not text.startswith(("-", "+")) or text in ("-", "--"):
            index += word.static and text in ("-", "--")
            break
        if text.startswith("--command="):
            return Inner(scripts=(text.partition("=")[2],), refusal=refusal, cover="opaque")
        is_long = text.startswith("--")
        script = script or (not is_long and "c" in text)
        index += 2 if text in ("--rcfile", "--init-file") or (not is_long and text[-1] in "oO") else 1
    if script:
        scripts = (argv[index].text,) if index < len(argv) and argv[index].static else ()
        doubt = "" if scripts else "the script it runs is not known before it runs"
        return Inner(scripts=scripts, refusal=refusal, cover="opaque", doubt=doubt)
    stdin = index >= len(argv)
    fed = stdin or argv[index].text.startswith(FED) or (argv[index].may_be_flag and not argv[index].static)
    doubt = "it runs its input as a script" if fed else ""
    return Inner(refusal=refusal, cover="opaque", reads_stdin=stdin, doubt=doubt)


def _joined(argv: tuple[Word, ...], start: int, refusal: str) -> Inner:
    words = argv[start:]
    script = " ".join(word.text if word.static else word.text + "''" for word in words)
    doubt = "" if all(word.static for word in words) else LATER
    return Inner(scripts=(script,) if words else (), refusal=refusal, doubt=doubt)


def open_eval(argv: tuple[Word, ...]) -> Inner:
    """Give the text that `eval` runs."""
    ended = len(argv) > 1 and argv[1].static and argv[1].text == "--"
    return _joined(argv, 2 if ended else 1, "it runs text as a command")


def open_watch(argv: tuple[Word, ...]) -> Inner:
    """Give what `watch` repeats: words, and the text they make."""
    start = opened(WRAPPING["watch"], argv, 0).start
    return _joined(argv, start, "it repeats a command until stopped")._replace(argv=argv[start:])
