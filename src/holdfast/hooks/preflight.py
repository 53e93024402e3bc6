"""Look at a command before it is ever run: would it start at all?

Only what is sure is said. A command is text for a shell, which may do anything; here only its first program is looked
at, and the script that a known interpreter is told to run. Whatever cannot be told passes.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from holdfast.host.programs import find_program

__all__ = ["why_not_started"]

_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-[^}$`]*)?\})")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_UNSURE: Final = re.compile(r"[$`*?\[\]{}\\!]")
_ENDS: Final = frozenset({"&&", "||", ";", "|", "|&", "&", ";;", "\n"})
_INTERPRETERS: Final = re.compile(r"(?:ba|z|da|k)?sh|python[\d.]*|node|ruby|perl|php")
_UV_FLAGS: Final = frozenset({"--script", "-s", "--quiet", "-q", "--no-project", "--offline", "--frozen"})
_OF_SHELLS: Final = """
. : [ [[ alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare dirs disown
do done echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help history if in
jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt source
suspend test then time times trap true type typeset ulimit umask unalias unset until wait while { } ( ) ((
"""
_SHELL_WORDS: Final = frozenset(_OF_SHELLS.split())
_FIRST_LINE_BYTES: Final = 256
_MAX_CHARS: Final = 10_000
_UNKNOWN: Final = b"\0"


def why_not_started(command: str, args: Sequence[str] | None, variables: Mapping[str, str], cwd: str) -> str:
    """Say why this command cannot start in this directory; empty when it can, or nobody knows.

    Args:
        command: What is configured.
        args: Given: the program is started with these, without a shell.
        variables: What the command sees beyond our own environment.
        cwd: Where it would run.
    """
    if len(command) > _MAX_CHARS or "\0" in command:
        return ""
    if args is not None:
        return _of_words([command, *args], variables, cwd, in_shell=False)
    words = _first_command(command)
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    return _of_words(words, variables, cwd, in_shell=True)


def _first_command(text: str) -> list[str]:
    """The words before the first operator, quotes removed; none where they cannot be told."""
    lexer = shlex.shlex(text.strip(), posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if word in _ENDS:
                break
            if word and set(word) <= set("();<>|&\n"):
                return words[:1]  # a redirection: what follows is no word of the command
            words.append(word)
    except ValueError:
        return []
    return words


def _of_words(words: Sequence[str], variables: Mapping[str, str], cwd: str, *, in_shell: bool) -> str:
    filled = [_filled(word, variables) for word in words]
    if not filled or not (program := filled[0]):
        return ""
    if "/" in program:
        return _of_program(os.path.join(cwd, program), program, in_shell=in_shell)
    if in_shell and program in _SHELL_WORDS:
        return ""
    if find_program(program, outside=(), path=variables.get("PATH")) is None:
        return f"{program!r} is not on the PATH"
    script = _script(program, filled[1:])
    return _of_script(os.path.join(cwd, script), script) if script else ""


def _filled(word: str, variables: Mapping[str, str]) -> str:
    """The word as the program gets it, or nothing where a shell would do more than we know."""

    def value_of(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        value = variables.get(name) or os.environ.get(name)
        return "`" if value is None or _UNSURE.search(value) else value

    text = _VARIABLE.sub(value_of, word)
    if text.startswith("~/"):
        text = os.path.expanduser(text)
    return "" if _UNSURE.search(text) or text.startswith("~") else text


def _script(program: str, rest: Sequence[str]) -> str:
    """The file that an interpreter is told to run, where it comes first."""
    if program == "uv" and rest[:1] == ["run"]:
        rest = list(_without_flags(rest[1:]))
        return rest[0] if rest and rest[0].endswith(".py") else ""
    if not rest or not _INTERPRETERS.fullmatch(program) or rest[0].startswith("-"):
        return ""
    return rest[0]


def _without_flags(words: Sequence[str]) -> Iterator[str]:
    found = iter(words)
    for word in found:
        if word not in _UV_FLAGS:
            yield word
            yield from found


def _of_program(path: str, shown: str, *, in_shell: bool) -> str:
    problem = _of_script(path, shown)
    if problem:
        return problem
    if not os.access(path, os.X_OK):
        return f"{shown!r} may not be executed; `chmod +x` it"
    return _of_first_line(path, shown, in_shell=in_shell)


def _of_script(path: str, shown: str) -> str:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return f"{shown!r} is not there"
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(found.st_mode):
        return f"{shown!r} is a directory"
    return ""


def _of_first_line(path: str, shown: str, *, in_shell: bool) -> str:
    """A script names its interpreter in the first line; one that is not there is told as a missing script."""
    line = _first_line(path)
    if not line.startswith(b"#!"):
        # A shell runs a text without such a line itself, the system does not.
        return f"{shown!r} does not say who runs it; begin it with `#!`" if not in_shell and _is_text(line) else ""
    if line.endswith(b"\r"):
        return f"the first line of {shown!r} ends with a carriage return; save it with Unix line ends"
    words = os.fsdecode(line[2:]).split()
    if not words or (os.path.isabs(words[0]) and not os.path.exists(words[0])):
        return f"{shown!r} wants to be run by {words[0] if words else ''!r}, which is not there"
    if os.path.basename(words[0]) == "env" and len(words) == 2 and find_program(words[1], outside=()) is None:
        return f"{shown!r} wants to be run by {words[1]!r}, which is not on the PATH"
    return ""


def _first_line(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return _UNKNOWN
    try:
        begin = os.read(handle, _FIRST_LINE_BYTES)
    except OSError:
        return _UNKNOWN
    finally:
        os.close(handle)
    line, end, _ = begin.partition(b"\n")
    return line if end or len(begin) < _FIRST_LINE_BYTES else _UNKNOWN


def _is_text(line: bytes) -> bool:
    return b"\0" not in line and not line.startswith((b"\x7fELF", b"\xcf\xfa", b"\xca\xfe", b"MZ"))
