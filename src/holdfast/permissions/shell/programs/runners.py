"""Programs and built-ins that hand text or words to something that runs them: what the deny rules must look at."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Final

from holdfast.permissions.shell.programs.parsers.find import CHANGES, RUNS
from holdfast.permissions.shell.programs.parsers.git import Front, git_front
from holdfast.permissions.shell.programs.program import PROGRAMS, having, told, words_told
from holdfast.permissions.shell.programs.tool_table import Tool, read_tool
from holdfast.permissions.shell.programs.wrappers import (
    FED,
    LATER,
    WRAPPING,
    Inner,
    open_shell,
    open_wrapper,
    opened,
    places_of,
    tails,
)
from holdfast.permissions.shell.words.word import Word, names

RUNNERS: Final = words_told("runs")
"""Programs that run another command, always or only behind one of these words."""


def open_parallel(argv: tuple[Word, ...]) -> Inner:
    """Give every word as the start of what it runs, since its options take values of many kinds."""
    others = tails(argv, 1, options=False)
    text = " ".join(word.text for word in argv[1:] if not word.text.startswith("-"))
    scripts = (text, *(word.text for word in argv[1:] if word.static and " " in word.text))
    refusal = "it runs commands built from its input"
    return Inner(others=others, scripts=scripts, refusal=refusal, more=True, places=places_of("parallel", argv))


def starts_another(subcommands: frozenset[str], texts: "Sequence[str]") -> bool:
    """Whether the words hold a subcommand that runs another command; options with values may stand in front of it."""
    return texts[1:2] != [] and (texts[1] in subcommands or not (subcommands - {"x"}).isdisjoint(texts))


_TEXTS: Final = names("--command --exec --run --wrap --call --entrypoint --cmd --script --shell-command")
"""Options of such programs whose value is a command, when it is glued on."""


def open_runner(argv: tuple[Word, ...]) -> Inner | None:
    """Give every later word as a possible command: the deny rules must see it, nothing is allowed by it."""
    name = argv[0].text.rpartition("/")[2]
    subcommands = RUNNERS[name]
    if subcommands and not starts_another(subcommands, [word.text for word in argv]) and not _may_start(argv):
        return None
    others = tails(argv, 1, options=False)
    scripts = tuple(text for word in argv[1:] if word.static for text in _texts_of(word.text))
    unknown = any(not word.static and word.text.startswith(_SCRIPTS) for word in argv)
    if not others and not scripts and not unknown:
        return None
    start = command_start(name, argv)
    return Inner(
        () if start is None else argv[start:], others, scripts, "it runs another command", "opaque",
        doubt=LATER if unknown else "", places=places_of(name, argv), guessed=start is not None,
    )  # fmt: skip


_SCRIPTS: Final = ("--call=", "--command=", "--run=", "--entrypoint=")
"""Options of runners whose glued value is a command."""


def _may_start(argv: "Sequence[Word]") -> bool:
    """Whether the subcommand is only known at run time."""
    first = next((word for word in argv[1:] if not word.static or word.text[:1] != "-"), None)
    return first is not None and not first.static and len(argv) > 2


def _texts_of(text: str) -> "Iterator[str]":
    """The commands that one word may hold: itself, or the value of its option."""
    if " " in text:
        yield text
    option, equals, value = text.partition("=")
    if text[:2] == "--":
        if equals and (" " in value or option in _TEXTS):
            yield value
    elif " " in text and text[:1] == "-":
        yield text[2:]


GIT_STARTS: Final = frozenset({"rebase", "submodule", "bisect", "filter-branch", "difftool", "config", "-c"})
"""Words without which `git` runs nothing that the text names."""
GIT_MOVES: Final = "it runs git in another directory"
"""Why `git -C` is more than a reader; where it goes may be a part of the same repository."""
_STEPPING: Final = frozenset({"rebase", "difftool"})
_GIT_PROGRAMS: Final = names(
    "pager editor sshcommand askpass external command textconv clean smudge process driver program helper cmd fsmonitor"
)


def open_git(argv: tuple[Word, ...]) -> Inner | None:
    """Give what `git` runs on every step, and programs that its options configure."""
    front = git_front(argv[1:])
    if front.end + 1 < len(argv) and (front.unknown or any(name != "--no-pager" for name, _ in front.given)):
        return _open_bare(argv, front)
    texts = [word.text for word in argv]
    scripts: list[str] = []
    inner: tuple[Word, ...] = ()
    for index, text in enumerate(texts[:-1]):
        following, before = texts[index + 1], texts[:index]
        stepping = text in ("-x", "--exec", "--extcmd") and not _STEPPING.isdisjoint(before)
        if stepping or (text.endswith("-filter") and "filter-branch" in before):
            scripts.append(following)
        elif "config" in before[:3] and "." in text:
            scripts += _configured(f"{text}={following}")
        elif text == "foreach" and "submodule" in before:
            scripts.append(" ".join(word for word in texts[index + 1 :] if not word.startswith("-")))
        elif text == "run" and "bisect" in before:
            inner = argv[index + 1 :]
        elif text == "-c":
            scripts += _configured(following)
    if not _STEPPING.isdisjoint(texts):
        glued = [text for text in texts if text.startswith(("--exec=", "--extcmd=", "-x")) and text != "-x"]
        scripts += [text[2:] if text[1] == "x" else text.partition("=")[2] for text in glued]
    if not scripts and not inner:
        return None
    return Inner(inner, (), tuple(scripts), "it runs a command on every step", "opaque")


def _open_bare(argv: tuple[Word, ...], front: Front) -> Inner:
    """Give the same command without the options in front of its subcommand, and programs that those configure."""
    bare = (argv[0], *argv[front.end + 1 :])
    scripts = tuple(script for setting in front.values("-c") for script in _configured(setting.text))
    moves = all(
        name == "--no-pager" or (name == "-C" and value is not None and value.static and value.text)
        for name, value in front.given
    )
    refusal = GIT_MOVES if moves and not front.unknown else "its options in front of the subcommand are not read-only"
    return Inner(bare, (), scripts, refusal, "opaque" if scripts else "same", places=front.places)


def _configured(setting: str) -> list[str]:
    key, _, value = setting.lower().partition("=")
    program = key.startswith(("alias.", "pager.")) or key.rpartition(".")[2] in _GIT_PROGRAMS
    return [setting.partition("=")[2].lstrip("!")] if program and value else []


def open_callback(argv: tuple[Word, ...]) -> Inner | None:
    """Give the text behind `-C`, which `mapfile`, `compgen` and `complete` hand to the shell."""
    for index, word in enumerate(argv[1:], start=1):
        text = word.text
        if not text.startswith("-") or "C" not in text:
            continue
        glued = text.partition("C")[2]
        value = Word(glued, static=word.static) if glued else argv[index + 1] if index + 1 < len(argv) else None
        if value is None:
            return None
        doubt = "" if value.static else LATER
        return Inner(scripts=(value.text,), refusal="it runs text as a command", doubt=doubt)
    return None


def open_source(argv: tuple[Word, ...]) -> Inner | None:
    """Doubt a script that comes from another command; one from a file is like any program of the project."""
    if len(argv) < 2 or not argv[1].text.startswith(FED):
        return None
    return Inner(refusal="it runs its input as a script", doubt="it runs its input as a script")


_LATER_INPUT: Final = Inner(refusal="it runs a script later", reads_stdin=True, doubt="it runs its input as a script")


def open_at(argv: tuple[Word, ...]) -> Inner | None:
    """Give what a later shell will run: its input."""
    return None if argv[-1].text == "at" else _LATER_INPUT


def open_crontab(argv: tuple[Word, ...]) -> Inner | None:
    """Give what cron will run: its input, when no file or option says otherwise."""
    return None if len(argv) > 1 and argv[-1].text != "-" else _LATER_INPUT


def open_hash(argv: tuple[Word, ...]) -> Inner | None:
    """Give the program that a name will stand for."""
    at = next((index for index, word in enumerate(argv) if index and word.text.startswith("-p")), 0)
    glued = Word(argv[at].text[2:], static=argv[at].static) if at and argv[at].text != "-p" else None
    program = glued or (argv[at + 1] if at and at + 1 < len(argv) else None)
    if program is None:
        return None
    doubt = "" if program.static else "the program it names is not known before it runs"
    return Inner((program,), refusal="it changes what command names mean", doubt=doubt)


def open_alias(argv: tuple[Word, ...]) -> Inner | None:
    """Give the commands that names will stand for."""
    values = [word for word in argv[1:] if "=" in word.text]
    if not values:
        return None
    scripts = tuple(word.text.partition("=")[2] for word in values)
    doubt = "" if all(word.static for word in values) else LATER
    return Inner(scripts=scripts, refusal="it changes what command names mean", doubt=doubt)


def open_trap(argv: tuple[Word, ...]) -> Inner:
    """Give the text that a trap will run."""
    operands = [word for word in argv[1:] if not (word.static and word.text in ("-l", "-p", "--"))]
    refusal = "it sets what the shell runs later"
    if not operands or not operands[0].static:
        return Inner(refusal=refusal, doubt="" if not operands else "a trap that is not known")
    return Inner(scripts=(operands[0].text,), refusal=refusal)


_STARTS: Final[Mapping[str, Mapping[tuple[str, ...], Tool]]] = {
    name: {
        tuple(field.split(" ")[1:]): read_tool(text, kind="wrapper")
        for field, text in program.fields.items()
        if field.split(" ")[0] == "start"
    }
    for name, program in PROGRAMS.items()
    if any(field.split(" ")[0] == "start" for field in program.fields)
}
"""By program and subcommands: what stands in front of the command that is started."""


def command_start(name: str, argv: tuple[Word, ...]) -> int | None:
    """Find the command that a runner starts, the number of words when it names none; None when that is not sure.

    Only what is sure counts: an option outside its entry, or a word that may become several, leaves it unknown.
    """
    starts, at, path = _STARTS.get(name), 1, list[str]()
    certain = _certain(argv)
    if certain is None or starts is None:
        return None
    while (tool := starts.get(tuple(path))) is None:
        front = PROGRAMS[name].fields.get(" ".join(("front", *path)))
        if front is None:
            return None
        found = opened(read_tool(front, kind="wrapper"), certain[at - 1 :], 0)
        at += found.start
        if not found.known or at > len(argv) or not argv[at - 1].static:
            return None
        path.append(argv[at - 1].text)
    start = _behind_dashes(tool, argv, at) if tool.dashed else _behind_operands(tool, argv, certain, at)
    return start if start is not None and _is_command(argv, start) else None


def _certain(argv: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The words, with something certain in place of those whose text is not known but which stay one word."""
    if any(word.whole and not word.static and word.text[:1] == "-" and "=" not in word.text for word in argv):
        return None
    return tuple(Word(f"{word.text}x") if word.whole and not word.static else word for word in argv)


def _behind_operands(tool: Tool, argv: tuple[Word, ...], certain: tuple[Word, ...], at: int) -> int | None:
    found = opened(tool, certain[at - 1 :], 0)
    start = at - 1 + found.start
    passed = argv[start : start + tool.before]
    if not found.known or any(not word.static and (word.may_be_flag or not word.whole) for word in passed):
        return None
    return start + len(passed)


def _behind_dashes(tool: Tool, argv: tuple[Word, ...], at: int) -> int | None:
    for index in range(at, len(argv)):
        word = argv[index]
        if not (word.static or word.whole) or word.text.partition("=")[0] in tool.scripts.split():
            return None
        if word.static and word.text == "--":
            return index + 1
    return None


def _is_command(argv: tuple[Word, ...], start: int) -> bool:
    """Whether a program's name stands there, and not options for one the text does not tell, or a whole script."""
    if not all(word.static or word.whole for word in argv[:start]):
        return False
    if start >= len(argv):
        return True
    name = argv[start]
    return name.static and name.text[:1] != "-" and not any(blank in name.text for blank in " \t\n")


STARTERS: Final = {"git": GIT_STARTS, "find": RUNS | CHANGES}
"""Common commands that start others only when one of these words is there."""
_Opener = Callable[[tuple[Word, ...]], Inner | None]


def _by_entry(name: str) -> _Opener:
    return lambda argv: open_wrapper(name, argv)


def _opener(place: str) -> _Opener:
    module, _, function = place.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), function)


WRAPPERS: Final[Mapping[str, _Opener]] = {
    **{name: _by_entry(name) for name in WRAPPING},
    **dict.fromkeys(having("shell"), open_shell),
    **dict.fromkeys(RUNNERS, open_runner),
    **{name: _opener(place) for name, place in told("opens").items()},
}
"""By name: a function that opens the wrapper, or gives None when this call starts nothing."""
