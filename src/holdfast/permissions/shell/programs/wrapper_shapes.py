"""How the arguments of wrappers look: where the command they start begins."""

from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.words.word import Word, names

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING: Final = Word("", static=True, may_be_flag=False)
STRIP: Final = "strip"
"""The hull of wrappers that rules look through."""


class Shape(NamedTuple):
    """How a wrapper's own arguments look.

    `flags` take no value, `valued` take one, `glued` only when it is glued on (letters, and long names); `operands`
    stand before the command, `assigns` says whether NAME=value words do, `mixed` whether options may follow those.
    """

    flags: str = ""
    valued: str = ""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    refusal: str | None = None
    hull: str = "exact"
    digits: bool = False
    glued: str = ""
    long_glued: frozenset[str] = frozenset()
    mixed: bool = False


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


def _unabbreviated(shape: Shape, name: str) -> str:
    """The option that an abbreviation stands for; such a call is still not known, since tables are not complete."""
    if name in shape.long_valued or name in shape.long_flags or name in shape.long_glued:
        return name
    meant = [full for full in shape.long_valued | shape.long_flags | shape.long_glued if name and full.startswith(name)]
    return meant[0] if len(meant) == 1 else name


def _option(shape: Shape, argv: "Sequence[Word]", index: int, options: list[tuple[str, str]]) -> tuple[int, bool]:
    text = argv[index].text
    if not argv[index].static:
        return 0, False
    value = argv[index + 1] if index + 1 < len(argv) else NOTHING
    following, single = value.text, value.static or not value.may_be_flag
    if text.startswith("--"):
        name, equals, glued = text[2:].partition("=")
        full = _unabbreviated(shape, name)
        takes = full in shape.long_valued
        options.append((full, glued if equals else following if takes else ""))
        known = (takes and (bool(equals) or single)) or name in shape.long_flags or name in shape.long_glued
        return (1 if takes and not equals else 0), known and full == name
    if shape.digits and text[1:].isdigit():
        options.append(("n", text[1:]))
        return 0, True
    for position, letter in enumerate(text[1:], start=2):
        glued = text[position:]
        if letter in shape.glued:
            options.append((letter, glued))
            return 0, True
        if letter in shape.valued:
            options.append((letter, glued or following))
            return (0 if glued else 1), bool(glued) or single
        options.append((letter, ""))
        if letter not in shape.flags:
            return 0, False
    return 0, True


SHAPES: Final[dict[str, Shape]] = {
    "timeout": Shape("v", "ks", names("foreground preserve-status verbose"), names("kill-after signal"), 1, hull=STRIP),
    "nice": Shape("", "n", frozenset(), names("adjustment"), hull=STRIP, digits=True),
    "nohup": Shape(hull=STRIP),
    "stdbuf": Shape("", "ioe", frozenset(), names("input output error"), hull=STRIP),
    "builtin": Shape(hull=STRIP),
    "noglob": Shape(hull=STRIP, refusal="it is not a command of bash"),
    "env": Shape(
        "iv0",
        "uCS",
        names("ignore-environment null debug"),
        names("unset chdir split-string"),
        assigns=True,
    ),
    "sudo": Shape(
        "AbEeHikKlnPSsVv",
        "aCcDghpRrTtUu",
        names("askpass background preserve-env login non-interactive set-home shell stdin reset-timestamp"),
        names("user group host prompt chdir chroot role type close-from command-timeout"),
        assigns=True,
        refusal="it runs a command with other rights",
        hull="opaque",
        mixed=True,
    ),
    "doas": Shape("Lns", "aCu", refusal="it runs a command with other rights", hull="opaque"),
    "setsid": Shape("cfw", "", names("ctty fork wait"), refusal="it detaches a command"),
    "ionice": Shape("t", "cnpPu", names("ignore"), names("class classdata pid"), refusal="it changes priorities"),
    "chrt": Shape("abdfimoprRvG", "TPD", names("fifo rr batch idle other reset-on-fork"), names("pid"), 1),
    "taskset": Shape("ac", "p", names("all-tasks cpu-list"), names("pid"), 1),
    "chroot": Shape(
        "", "", names("skip-chdir"), names("userspec groups"), 1, refusal="it changes the root", hull="opaque"
    ),
    "unshare": Shape(
        "fmunpUCTr", "SGRw", names("fork mount net pid user map-root-user"), names("root wd"), hull="opaque"
    ),
    "nsenter": Shape(
        "aFZe",
        "tSGW",
        names("all"),
        names("target wdns"),
        hull="opaque",
        glued="rwmuinpUCT",
        long_glued=names("root wd"),
    ),
    "strace": Shape("CdfFhiqrtTvVxyczkDZ", "abeIoOpPsSuEX", frozenset(), names("trace output"), hull="opaque"),
    "ltrace": Shape("cCfhirtTSVL", "aAeloplsuxXnD", hull="opaque"),
    "exec": Shape("cl", "a", refusal="it replaces the shell"),
    "fakeroot": Shape("hv", "lsib", hull="opaque"),
    "unbuffer": Shape("p", hull="opaque"),
    "caffeinate": Shape("disum", "tw", hull="opaque"),
    "systemd-run": Shape(
        "dGPtqSr",
        "EHMpu",
        names("user scope wait pty pipe quiet same-dir"),
        names("unit property working-directory"),
        hull="opaque",
    ),
    "prlimit": Shape("", "p", hull="opaque"),
    "setarch": Shape("", "", hull="opaque", operands=1),
    "numactl": Shape("", "CNmipl", hull="opaque"),
    "runuser": Shape("lpmPf", "ugGswc", names("login"), names("user group command shell"), hull="opaque"),
    "su": Shape("lpmPf", "gGswc", names("login"), names("group command shell"), 1, hull="opaque"),
    "script": Shape("aefqr", "cEoOIBTtm", frozenset(), names("command"), hull="opaque"),
    "flock": Shape(
        "sxeonuFv",
        "wEc",
        names("shared exclusive nonblock unlock close verbose"),
        names("wait timeout command conflict-exit-code"),
        1,
    ),
    "watch": Shape(
        "bcCdegprtvwx",
        "nq",
        names("beep color differences errexit chgexit no-title exec precise no-rerun no-wrap"),
        names("interval equexit"),
        refusal="it repeats a command until stopped",
    ),
    "torsocks": Shape(hull="opaque"),
    "proxychains": Shape("q", "f", hull="opaque"),
    "proxychains4": Shape("q", "f", hull="opaque"),
    "busybox": Shape(hull="opaque", refusal="it runs one of many programs"),
    "ssh-agent": Shape("cDdks", "aEtPO", hull="opaque"),
    "catchsegv": Shape(hull="opaque"),
    "dbus-run-session": Shape(hull="opaque"),
    "xvfb-run": Shape("al", "ensfpw", hull="opaque"),
    "entr": Shape("acdnprsz", "", hull="opaque"),
}
SHAPES["gtimeout"] = SHAPES["timeout"]._replace(refusal="it is not a known wrapper")
SHAPES["gnice"] = SHAPES["nice"]._replace(refusal="it is not a known wrapper")
