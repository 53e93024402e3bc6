"""Text in the arguments of a program that runs it: `tar --to-command='rm x'`, `awk 'BEGIN { system("rm x") }'`."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.program import having, is_interpreter, names_of, words_told
from holdfast.permissions.shell.words.quoting import rough_pieces
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.permissions.shell.words.parts import Part

_SED: Final = names_of("sed")
_SCRIPTED: Final = _SED | names_of("awk")
"""Programs of which most scripts run nothing: those count that are not proven to."""
_CODE: Final = names("-c -e -E -r -p -pe -ne -le --eval --print --run --command -Command")
_TAKING: Final = words_told("runs-text")
_STARTING: Final = (
    *("system", "exec", "popen", "spawn", "proc", "shell", "passthru", "pty", "pipe", "fork", "open3", "getoutput"),
    *("run(", "command(", "sh import", "fileutils", "`", "qx", "%x", "$(", '"|', "'|", '|"', "|'", "{|", "|}"),
)
"""What stands in the code of an interpreter that starts a program; other code may speak of `rm` and runs none."""
_EDITORS: Final = having("vi")
_OBEYS_BANG: Final = having("obeys-bang")
_MAKE: Final = names_of("make")
_EDITOR_STARTS: Final = ("!", "system", "term", "job", "exe", "lua", "py", "perl", "ruby", "tcl", "make", "grep")
_MAKE_PROGRAMS: Final = names(
    "SHELL .SHELLFLAGS AR AS CC CPP CXX FC LD RM MAKE INSTALL LEX YACC LINT GET CO PC M2C TEX MAKEINFO TANGLE WEAVE"
)
"""Variables of make whose value is a command by its own rules; of others only the makefile knows."""
_JOINTS: Final = str.maketrans({"=": "\n", "[": "\n", "]": "\n", ":": "\n", "!": "\n", ",": "\n"})


def handed_pieces(parts: "Iterable[Part]") -> tuple[str, ...]:
    """Rough pieces of texts that programs run themselves, for deny and ask rules only."""
    found: list[str] = []
    for part in parts:
        if part.refusal is None:
            continue
        if part.name in _TAKING or is_interpreter(part.name):
            texts = (text for text in _handed(part) if _may_start(part.name, text))
        elif part.name in _SCRIPTED:
            texts = _scripts(part)
        else:
            continue
        for text in texts:
            found += rough_pieces(text.translate(_JOINTS))
    return tuple(dict.fromkeys(found)) if found else ()


def _handed(part: "Part") -> "Iterator[str]":
    options = _TAKING.get(part.name, _CODE)
    before = ""
    for word in part.argv[1:]:
        text = word.text
        if " " in text or before in options:
            yield text
            if text[:1] == "-" and text[1:2] != "-":
                yield text[2:]  # the value is glued to its option
        elif "=" in text and text.partition("=")[0] in options:
            yield text.partition("=")[2]
        before = text


def _may_start(name: str, text: str) -> bool:
    """Whether a program that is given this text may start another because of it."""
    if is_interpreter(name):
        return text.isalnum() or any(mark in text.lower() for mark in _STARTING)
    if name in _EDITORS:
        return any(mark in text for mark in _EDITOR_STARTS)
    if name in _OBEYS_BANG:
        return text[:1] in ("+", "!")
    variable, equals, _ = text.partition("=")
    if equals and name in _MAKE and text[0] != "-" and "$" not in text:
        return variable.rstrip(":+?! ") in _MAKE_PROGRAMS
    return True


def _scripts(part: "Part") -> "Iterator[str]":
    from holdfast.permissions.shell.programs.awk import program_refusal  # noqa: PLC0415 - the tables are heavy
    from holdfast.permissions.shell.programs.sed import script_refusal  # noqa: PLC0415 - see above

    is_sed = part.name in _SED
    refusal = script_refusal if is_sed else program_refusal
    for word in part.argv[1:]:
        text = word.text
        starts = is_sed or "system" in text or "@" in text or "|" in text.replace("||", "")
        if " " in text and starts and refusal(text) is not None:
            yield text
