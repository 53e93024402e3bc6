"""Commands that start other commands: where the inner command begins, and what a rule may conclude from it."""

import sys
from shlex import quote
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs import runners
from holdfast.permissions.shell.programs.find import CHANGES, IN_DIRECTORIES, RUNS, hands_to_readers, runs_of
from holdfast.permissions.shell.programs.program import having, told
from holdfast.permissions.shell.programs.runners import FED, GIT_STARTS, RUNNERS, open_runner
from holdfast.permissions.shell.programs.wrapper_places import UNTOLD, places_of, places_of_runner
from holdfast.permissions.shell.programs.wrapper_shapes import (
    SHAPES,
    STRIP,
    Inner,
    Opened,
    is_assignment,
    known_zone,
    open_wrapper,
    tails,
)
from holdfast.permissions.shell.words.word import Word, names

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_WRAPPERS: Final = 8
"""Deeper stacks are never allowed without a question."""
MORE: Final = Word("", static=False, may_be_flag=True)
"""Arguments that arrive at run time."""
RESERVED: Final = names("if then else elif fi do done case esac while until for select in function { } [[ ]] ! coproc")
SHELLS: Final = having("shell")
_EMPTY_ENVIRONMENT: Final = Word("-i")
_ENV_SAFE: Final = ("LANG", "TZ", "NO_COLOR", "TERM", "COLUMNS", "LINES", "LC_")


_SCRIPT_OPTIONS: Final = ("-c", "--command")
_TAKES_SCRIPTS: Final = frozenset(name for name, text in told("wraps").items() if "--command:" in text.split())
"""Wrappers that hand a text to a shell when they are told to."""


def by_shape(name: str, argv: tuple[Word, ...]) -> Inner:
    """Open a wrapper that has a shape."""
    shape = SHAPES[name]
    opened = open_wrapper(shape, argv)
    inner = argv[opened.start :]
    refusal = shape.refusal
    if refusal is None and shape.hull != STRIP:
        refusal = f"it runs another command through {name}"
    hull, others, doubt = shape.hull, (), ""
    if not opened.known:
        refusal = refusal or f"its options to {name} are not known"
        hull = "exact" if hull == STRIP else hull
        others = tails(argv, 1, options=True)
        doubt = "" if all(word.static for word in argv) else f"what {name} runs is not known"
    scripts: tuple[str, ...] = ()
    if name in _TAKES_SCRIPTS:
        scripts = tuple(value for option, value in opened.options if option in _SCRIPT_OPTIONS)
        if not scripts:  # `su - user -c text`: options may stand behind operands
            scripts = tuple(argv[at].text for at in range(2, len(argv)) if argv[at - 1].text in _SCRIPT_OPTIONS)
    if inner and not inner[0].static:
        doubt = f"what {name} runs is not known"
    return Inner(inner, others, scripts, refusal, hull, doubt=doubt, places=places_of(name, argv, opened))


def open_env(argv: tuple[Word, ...]) -> Inner:
    """Open `env`, which sets variables, goes elsewhere and splits texts."""
    argv = tuple(_EMPTY_ENVIRONMENT if word.static and word.text == "-" else word for word in argv)
    opened = open_wrapper(SHAPES["env"], argv)
    inner = argv[opened.start :]
    refusal = None
    if not opened.known or opened.options:
        refusal = "its options to env are not read-only"
    if any(word.text.startswith("TZ=") and not known_zone(word.text[3:]) for word in argv[: opened.start]):
        refusal = refusal or "the time zone may be any file"
    for name in opened.assigns:
        if not name.startswith(_ENV_SAFE) or (name not in _ENV_SAFE and not name.startswith("LC_")):
            refusal = refusal or f"it sets {name} for the command"
    if not inner:
        refusal = refusal or "it prints the whole environment"
    scripts = _split_strings(opened, inner)
    others = () if opened.known else tails(argv, 1, options=True)
    doubt = "" if all(word.static for word in argv[: opened.start]) else "what env runs is not known"
    if any("\\" in script or "$" in script for script in scripts):  # env has escapes of its own
        doubt = "what env runs is not known"
    return Inner(inner, others, scripts, refusal, doubt=doubt, places=places_of("env", argv, opened))


def _split_strings(opened: Opened, rest: tuple[Word, ...]) -> tuple[str, ...]:
    """What `env -S` runs: the words of its texts, which may be options of its own, and those behind them."""
    texts = [value for option, value in opened.options if option == "-S"]
    if not texts:
        return ()
    behind = [quote(word.text) + ("" if word.static else '"$_"') for word in rest]
    again = ["env"] if any(text.lstrip().startswith("-") for text in texts) else []
    return (" ".join([*again, *texts, *behind]),)


def open_time(argv: tuple[Word, ...]) -> Inner:
    """Open `time`, which takes no options but `-p` for a proof."""
    opened = open_wrapper(SHAPES["time"], argv)
    plain = opened.known and all(word.text in ("-p", "--") for word in argv[1 : opened.start])
    start = opened.start
    while start < len(argv) and is_assignment(argv[start].text):
        start, plain = start + 1, False
    return Inner(
        argv[start:],
        refusal=None if plain else "its options to time are not known",
        hull=STRIP if plain else "exact",
    )


def open_command(argv: tuple[Word, ...]) -> Inner | None:
    """Open `command`, unless it only tells what a name means."""
    opened = open_wrapper(SHAPES["command"], argv)
    if any(option in ("-v", "-V") for option, _ in opened.options):
        return None
    refusal = None if opened.known and not opened.options else "its options to command are not known"
    return Inner(argv[opened.start :], refusal=refusal, hull=STRIP)


XARGS_DEFAULT: Final = (Word("echo", may_be_flag=False),)
"""What xargs runs when no command is written behind it."""
_XARGS_QUIET: Final = names("-0 -r -t -x -d -E -L -l -n -P -s -I -i")


def open_xargs(argv: tuple[Word, ...]) -> Inner:
    """Open `xargs`, which adds words that arrive at run time."""
    opened = open_wrapper(SHAPES["xargs"], argv)
    inner = argv[opened.start :]
    # Only the last one counts for xargs; none of them is taken as plain text here.
    for replaced in (value or "{}" for option, value in opened.options if option in ("-I", "-i")):
        inner = tuple(
            Word(word.text.partition(replaced)[0], static=False, may_be_flag=not word.text.partition(replaced)[0])
            if replaced in word.text
            else word
            for word in inner
        )
    quiet = opened.known and all(option in _XARGS_QUIET for option, _ in opened.options)
    refusal = None if quiet else "its options to xargs are not known"
    if inner and not inner[0].static:
        refusal = "what xargs runs is not known"
    if not inner:
        inner = XARGS_DEFAULT
    others = () if opened.known else tails(argv, 1, options=True)
    return Inner(inner, others, (), refusal, "exact" if opened.options or not quiet else STRIP, more=True)


def open_find(argv: tuple[Word, ...]) -> Inner | None:
    """Give what `-exec` and its kin run, and whether it changes what it finds."""
    commands: list[tuple[Word, ...]] = []
    texts, places = [word.text for word in argv], ()
    changes = not CHANGES.isdisjoint(texts)
    for action, begin, end in runs_of(texts):
        commands.append(
            tuple(
                Word("", static=False, may_be_flag=False) if word.static and "{}" in word.text else word
                for word in argv[begin:end]
            )
        )
        if action in IN_DIRECTORIES and any(_names_a_file(word) for word in argv[begin + 1 : end]):
            places = UNTOLD
    if not commands and not changes:
        return None
    first = commands[0] if commands else ()
    doubt = "what find runs is not known" if any(not c or not c[0].static for c in commands) else ""
    refusal = "it runs a command on every file found" if commands else "it deletes or writes what it finds"
    refusal = None if hands_to_readers(argv) else refusal  # what they read is judged with them
    return Inner(first, tuple(commands[1:]), (), refusal, doubt=doubt, places=places)


def _names_a_file(word: Word) -> bool:
    return word.static and word.text[:1] not in ("-", "/", "") and "{}" not in word.text


def _shell(argv: tuple[Word, ...]) -> Inner | None:
    if len(argv) == 2 and argv[1].text == "--version":
        return None
    refusal = f"it runs {argv[0].text} as a script interpreter"
    index, script = 1, False
    while index < len(argv):
        word = argv[index]
        text = word.text
        if not word.static or not text.startswith(("-", "+")) or text in ("-", "--"):
            break
        if text.startswith("--command="):
            return Inner(scripts=(text.partition("=")[2],), refusal=refusal, hull="opaque")
        if text.startswith("--"):
            index += 2 if text in ("--rcfile", "--init-file") else 1
            continue
        script = script or "c" in text
        index += 2 if text[-1] in "oO" else 1
    if index < len(argv) and argv[index].text in ("-", "--") and argv[index].static:
        index += 1
    if script:
        if index < len(argv) and argv[index].static:
            return Inner(scripts=(argv[index].text,), refusal=refusal, hull="opaque")
        return Inner(refusal=refusal, hull="opaque", doubt="the script it runs is not known before it runs")
    stdin = index >= len(argv)
    fed = stdin or argv[index].text.startswith(FED) or (argv[index].may_be_flag and not argv[index].static)
    return Inner(
        refusal=refusal, hull="opaque", reads_stdin=stdin, doubt="it runs its input as a script" if fed else ""
    )


def _joined(argv: tuple[Word, ...], start: int, refusal: str, hull: str = "exact") -> Inner:
    words = argv[start:]
    if all(word.static for word in words):
        return Inner(scripts=(" ".join(word.text for word in words),) if words else (), refusal=refusal, hull=hull)
    script = " ".join(word.text if word.static else word.text + "''" for word in words)
    return Inner(scripts=(script,), refusal=refusal, hull=hull, doubt="the text it runs is not known before it runs")


def open_eval(argv: tuple[Word, ...]) -> Inner:
    """Give the text that `eval` runs."""
    ended = len(argv) > 1 and argv[1].static and argv[1].text == "--"
    return _joined(argv, 2 if ended else 1, "it runs text as a command")


def open_trap(argv: tuple[Word, ...]) -> Inner:
    """Give the text that a trap will run."""
    operands = [word for word in argv[1:] if not (word.static and word.text in ("-l", "-p", "--"))]
    if not operands or not operands[0].static:
        return Inner(
            refusal="it sets what the shell runs later", doubt="" if not operands else "a trap that is not known"
        )
    return Inner(scripts=(operands[0].text,), refusal="it sets what the shell runs later")


def open_watch(argv: tuple[Word, ...]) -> Inner:
    """Give what `watch` repeats: words, and the text they make."""
    opened = open_wrapper(SHAPES["watch"], argv)
    inner = _joined(argv, opened.start, "it repeats a command until stopped")
    return inner._replace(argv=argv[opened.start :])


_FD_RUNS: Final = ("--exec", "--exec-batch")
_FD_VALUED: Final = frozenset("xXtdeEcjSo")  # short options whose value may follow in the same word


def open_fd(argv: tuple[Word, ...]) -> Inner | None:
    """Give what `fd -x` and `fd -X` run; both take every word up to `;` as the command."""
    for index, word in enumerate(argv[1:], start=1):
        text = word.text
        if text == "--":
            return None
        long, _, glued = text.partition("=")
        if long.startswith("--"):
            found = len(long) > len("--ex") and any(name.startswith(long) for name in _FD_RUNS)
        else:
            cut = next((at for at, letter in enumerate(text) if at and letter in _FD_VALUED), 0)
            found = text.startswith("-") and text[cut : cut + 1] in ("x", "X")
            glued = text[cut + 1 :].removeprefix("=")
        if found:
            first = (Word(glued, static=word.static),) if glued else ()
            inner = (*first, *argv[index + 1 :])
            others = tails(inner, 1, options=False)
            doubt = "" if inner and inner[0].static else "what fd runs is not known"
            places = places_of_runner("fd", argv)
            refusal = "it runs a command on every file found"
            return Inner(inner, others, (), refusal, more=True, doubt=doubt, places=places)
    return None


def _with_name(name: str) -> "Callable[[tuple[Word, ...]], Inner | None]":
    def open_it(argv: tuple[Word, ...]) -> Inner:
        return by_shape(name, argv)

    return open_it


STARTERS: Final = {
    "git": GIT_STARTS,
    "find": RUNS | CHANGES,
}
"""Common commands that start others only when one of these words is there."""


def _opener(place: str) -> "Callable[[tuple[Word, ...]], Inner | None]":
    module, _, function = place.partition(":")
    return getattr(runners if module == "runners" else sys.modules[__name__], function)


WRAPPERS: Final["dict[str, Callable[[tuple[Word, ...]], Inner | None]]"] = {
    **{name: _with_name(name) for name in SHAPES},
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(RUNNERS, open_runner),
    **{name: _opener(place) for name, place in told("opens").items()},
}
"""By name: a function that opens the wrapper, or gives None when this call starts nothing."""
