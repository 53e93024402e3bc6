"""Programs and built-ins that hand text or words to something that runs them: what the deny rules must look at."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.git_calls import Front, git_front
from holdfast.permissions.shell.programs.program import words_told
from holdfast.permissions.shell.programs.runner_shapes import command_start
from holdfast.permissions.shell.programs.wrapper_places import places_of_runner
from holdfast.permissions.shell.programs.wrapper_shapes import Inner, tails
from holdfast.permissions.shell.words.word import Word, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "FED", "GIT_STARTS", "RUNNERS", "open_alias", "open_at", "open_callback", "open_crontab", "open_git", "open_hash",
    "open_parallel", "open_runner", "open_source", "starts_another",
]  # fmt: skip

RUNNERS: Final = words_told("runs")
"""Programs that run another command, always or only behind one of these words."""
FED: Final = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Names under which a shell finds a script that is not a file of its own."""


def open_parallel(argv: tuple[Word, ...]) -> Inner:
    """Give every word as the start of what it runs, since its options take values of many kinds."""
    others = tails(argv, 1, options=False)
    text = " ".join(word.text for word in argv[1:] if not word.text.startswith("-"))
    scripts = (text, *(word.text for word in argv[1:] if word.static and " " in word.text))
    refusal = "it runs commands built from its input"
    return Inner(others=others, scripts=scripts, refusal=refusal, more=True, places=places_of_runner("parallel", argv))


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
        doubt="the text it runs is not known before it runs" if unknown else "",
        places=places_of_runner(name, argv), guessed=start is not None,
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
_STEPPING: Final = frozenset({"rebase", "difftool"})
_GIT_PROGRAMS: Final = names(
    "pager editor sshcommand askpass external command textconv clean smudge process driver program helper cmd fsmonitor"
)


def open_git(argv: tuple[Word, ...]) -> Inner | None:
    """Give what `git` runs on every step, and programs that its options configure."""
    front = git_front(argv[1:])
    if front.end + 1 < len(argv) and any(name != "--no-pager" for name, _ in front.options):
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
    refusal = "its options in front of the subcommand are not read-only"
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
        doubt = "" if value.static else "the text it runs is not known before it runs"
        return Inner(scripts=(value.text,), refusal="it runs text as a command", doubt=doubt)
    return None


def open_source(argv: tuple[Word, ...]) -> Inner | None:
    """Doubt a script that comes from another command; one from a file is like any program of the project."""
    if len(argv) < 2 or not argv[1].text.startswith(FED):
        return None
    return Inner(refusal="it runs its input as a script", doubt="it runs its input as a script")


def open_at(argv: tuple[Word, ...]) -> Inner | None:
    """Give what a later shell will run: its input."""
    if argv[-1].text == "at":
        return None
    return Inner(refusal="it runs a script later", reads_stdin=True, doubt="it runs its input as a script")


def open_crontab(argv: tuple[Word, ...]) -> Inner | None:
    """Give what cron will run: its input, when no file or option says otherwise."""
    if len(argv) > 1 and argv[-1].text != "-":
        return None
    return Inner(refusal="it runs a script later", reads_stdin=True, doubt="it runs its input as a script")


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
    doubt = "" if all(word.static for word in values) else "the text it runs is not known before it runs"
    return Inner(scripts=scripts, refusal="it changes what command names mean", doubt=doubt)
