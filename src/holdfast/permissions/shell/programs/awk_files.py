"""awk: the files that a program itself opens, and the commands that it runs, for what is not read-only anyway."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.programs.awk import AWK, AwkProgram, ProgramRefusedError
from holdfast.permissions.shell.programs.options import scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from holdfast.permissions.shell.programs.options import Scan
    from holdfast.permissions.shell.words.word import Word

__all__ = ["AwkFiles", "awk_files"]

_STREAMS: Final = frozenset({"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null", "-", ""})
_TEXT: Final = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_TARGET: Final = re.compile(
    rf"[ \t]*(?![ \t])(?P<open>\(?)[ \t]*(?P<texts>{_TEXT}(?:[ \t]*{_TEXT})*)[ \t]*(?:\)[ \t]*)?"
)
_ENDS: Final = frozenset(";}\n#")
_PIECE: Final = re.compile(_TEXT)
_VARIABLE: Final = re.compile(r"[ \t]*(?:\([ \t]*)?([A-Za-z_]\w*)")
_ESCAPE: Final = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
_BEFORE: Final = re.compile(rf"({_TEXT})[ \t]*(?:\)[ \t]*)?\Z")
_CALLED: Final = re.compile(rf"\bsystem[ \t]*\([ \t]*({_TEXT})")
_READ: Final = re.compile(rf"<[ \t]*(?:\([ \t]*)?({_TEXT})")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_DUMPS: Final = {"-o": "awkprof.out", "-p": "awkprof.out", "-d": "awkvars.out"}
"""Options that write a file, and its name when none is given."""


class AwkFiles(NamedTuple):
    """What a call opens beyond its operands: files by `<`, by `>` and `>>`, and texts for a shell."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    understood: bool = True
    """Whether every file that is written has a name in the text."""


class _Files(AwkProgram):
    """Reads a whole program, also what is not read-only in it."""

    refused = frozenset[str]()

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.targets: list[str] = []
        self.variables: list[str] = []
        self.commands: list[str] = []
        self.command_variables: list[str] = []
        self.untold = False

    def sends(self, found: str) -> None:
        after = self.at + (0 if found == ">" else len(found))
        target = _TARGET.match(self.text, after)
        text = "".join(map(_unescaped, _PIECE.findall(target["texts"]))) if target is not None else ""
        variable = _VARIABLE.match(self.text, after) if target is None else None
        if variable is not None:
            (self.variables if found[0] == ">" else self.command_variables).append(variable[1])
        if found[0] == ">":
            if target is not None:
                self.targets.append(text)
            ended = target is not None and self.text[target.end() : target.end() + 1] in ("", *_ENDS)
            self.untold = self.untold or not ended
            return
        before = _BEFORE.search(self.text, max(0, self.at - 4_096), self.at)
        self.commands += filter(None, (text, _unescaped(before[1]) if before is not None else ""))


def _unescaped(quoted: str) -> str:
    return _ESCAPE.sub(_escape, quoted[1:-1]) if "\\" in quoted else quoted[1:-1]


def _escape(found: "re.Match[str]") -> str:
    octal, hexadecimal, letter = found.groups()
    if octal or hexadecimal:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return _ESCAPES.get(letter, letter)


def awk_files(args: "Sequence[Word]") -> AwkFiles:
    """What a call opens beyond the files that it is given to read."""
    found = scan(AWK, args)
    programs, files = found.values("-e"), found.operands
    if not found.has("-e", "-f", "-E"):
        programs, files = files[:1], files[1:]
    reads, writes, commands = list[str](), list(_by_options(found, files)), list[str]()
    understood = True
    for word in programs:
        read = _Files(word.text)
        try:
            read.run()
        except ProgramRefusedError:
            read.untold = read.untold or not {">", "|"}.isdisjoint(word.text)
        writes += read.targets
        writes += (value for name in dict.fromkeys(read.variables) for value in _values(name, word.text, found, files))
        commands += read.commands
        commands += (
            value for name in dict.fromkeys(read.command_variables) for value in _values(name, word.text, found, files)
        )
        commands += map(_unescaped, _CALLED.findall(word.text))
        reads += map(_unescaped, _READ.findall(word.text))
        understood = understood and not read.untold and (word.static or bool(word.text))
    return AwkFiles(_files(reads), _files(writes), tuple(dict.fromkeys(commands)), understood)


def _files(names: "Iterable[str]") -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name not in _STREAMS)


def _by_options(found: "Scan", files: "Sequence[Word]") -> "Iterator[str]":
    if any(word.text in ("inplace", "inplace.awk") for word in found.values("-i", "-l")):
        yield from (word.text for word in files if word.static)
    for name, value in found.given:
        if name in _DUMPS:
            yield value.text if value is not None else _DUMPS[name]


def _values(name: str, program: str, found: "Scan", files: "Sequence[Word]") -> "Iterator[str]":
    """What the text puts into a variable that stands for a file."""
    for word in (*found.values("-v"), *files):
        key, equals, value = word.text.partition("=")
        if equals and key == name:
            yield value
    yield from map(_unescaped, re.findall(rf"\b{name}[ \t]*=[ \t]*({_TEXT})", program))
