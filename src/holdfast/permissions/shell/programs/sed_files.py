"""sed: the files that a script itself opens, and the commands that it runs, for what is not read-only anyway."""

import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.sed import SED, ScriptBrokenError, ScriptRefusedError, SedScript

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.permissions.shell.programs.options import Scan
    from holdfast.permissions.shell.words.word import Word

__all__ = ["SedFiles", "sed_backups", "sed_files", "sed_scripts"]

_STREAMS: Final = frozenset({"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null", ""})
_FLAGS: Final = "gpiImM0123456789e"


class SedFiles(NamedTuple):
    """What a script opens: `r` and `R` files, `w` and `W` files, and texts that `e` gives to a shell."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    understood: bool = True
    """Whether it was read to its end, so that nothing else is opened."""


class _Files(SedScript):
    """Reads a whole script, also what is not read-only in it."""

    def __init__(self, text: str, *, bracket_aware: bool) -> None:
        super().__init__(text, bracket_aware=bracket_aware)
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.commands: list[str] = []

    def rest_of_line(self) -> str:
        start = self.at
        self.line_end()
        return self.text[start : self.at].strip(" \t")

    def action(self, letter: str) -> None:
        if letter and letter in "wW":
            self.writes.append(self.rest_of_line())
        elif letter and letter in "rR":
            self.reads.append(self.rest_of_line())
        elif letter == "e":
            self.commands.append(self.rest_of_line())
        elif letter and letter in "aic":
            self.added_text()
        elif letter and letter in "Fz":
            self.finish()
        elif letter == "v":
            self.line_end()
        else:
            super().action(letter)

    def added_text(self) -> None:
        """Pass over the text of `a`, `i` or `c`: a backslash at its end takes the next line with it."""
        self.line_end()
        while self.at < len(self.text) and self.text[self.at - 1] == "\\":
            self.at += 1
            self.line_end()

    def flags(self) -> None:
        self.skip(_FLAGS)
        if self.peek() == "w":
            self.at += 1
            self.writes.append(self.rest_of_line())
        self.finish()


def sed_files(script: str) -> SedFiles:
    """What a script opens; programs disagree how brackets are read, so that both readings count."""
    reads, writes, commands = dict[str, None](), dict[str, None](), dict[str, None]()
    understood = False
    for bracket_aware in (True, False) if "[" in script else (True,):
        found = _Files(script, bracket_aware=bracket_aware)
        try:
            found.run()
            understood = True
        except (ScriptRefusedError, ScriptBrokenError):
            pass
        reads.update(dict.fromkeys(found.reads))
        writes.update(dict.fromkeys(found.writes))
        commands.update(dict.fromkeys(found.commands))
    return SedFiles(
        tuple(name for name in reads if name not in _STREAMS),
        tuple(name for name in writes if name not in _STREAMS),
        tuple(filter(None, commands)),
        understood,
    )


def sed_scripts(args: "Sequence[Word]") -> "tuple[list[Word], list[Word], Scan]":
    """The scripts and the files of a call, as sed tells them apart."""
    found = scan(SED, args)
    scripts, files = found.values("-e"), found.operands
    if not found.has("-e", "-f", "--help", "--version"):
        scripts, files = (files, files) if found.unknown else (files[:1], files[1:])
    return scripts, files, found


def sed_backups(suffix: str, files: "Sequence[str]") -> "Iterator[str]":
    """The names under which `-i` keeps what a file was before; a star in the suffix stands for the file's name."""
    for name in files if suffix else ():
        folder, base = posixpath.split(name)
        kept = suffix.replace("*", base) if "*" in suffix else base + suffix
        yield kept if "/" in kept else posixpath.join(folder, kept)
