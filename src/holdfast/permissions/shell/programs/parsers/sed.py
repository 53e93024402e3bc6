"""sed: what its scripts do. Only commands that print or change the output stream are read-only."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import Scan, scan
from holdfast.permissions.shell.programs.tool_table import TOOLS
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.word import Word

SED = TOOLS["sed"]
_PRINTS: Final = re.compile(r"(?:[0-9]+|\$)(?:,(?:\+?[0-9]+|\$))?[pd]\Z")
"""The usual scripts: print or leave out a range of lines."""
_BETWEEN: Final = re.compile(r"(?:[ \t\n;]|#[^\n]*)*")
_LINE: Final = re.compile(r"\$|[0-9]+(?:~[0-9]+)?")
_SECOND_LINE: Final = re.compile(r"\$|[+~]?[0-9]+(?:~[0-9]+)?")
_COMMA: Final = re.compile(r"[ \t]*,[ \t]*")
_NOT: Final = re.compile(r"[ \t]*(?:![ \t]*)*")
_REGEX_FLAGS: Final = re.compile("[IM]*")
_END: Final = re.compile(r"[ \t]*(?=[;\n}#]|\Z)")
_NUMBER: Final = re.compile(r"[ \t]*[0-9]*")
_LABEL: Final = re.compile(r"[ \t]*[A-Za-z0-9_.-]*[ \t]*(?=[;\n}]|\Z)")
_FLAGS: Final = re.compile("[gpiImM0-9e]*")
_FILE: Final = re.compile(r"[ \t]*([^\n]*)")
_TEXT: Final = re.compile(r"[^\n]*(?:(?<=\\)\n[^\n]*)*")
_BRACKET: Final = (
    r"\[(?:\^|(?!\^))(?:\]|(?!\]))(?:(?=(?P<k>\[(?P<c>[:.=]).*?(?P=c)\]))(?P=k)|(?!\[[:.=]|\\\])[^]\n])*\]"
)
_STREAMS: Final = frozenset({"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null", ""})


class ScriptRefusedError(ValueError):
    """The script is not understood."""


class ScriptBrokenError(ValueError):
    """sed itself stops at this script before it runs any of it."""


class ScriptFiles(NamedTuple):
    """What a script in a small language opens: files it reads and writes, and texts that it gives to a shell."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    understood: bool = True
    """Whether every file that is written has a name in the text."""
    refusal: str = ""
    """Why it does more than print and change what is printed."""


@cache
def _section(delimiter: str, *, brackets: bool) -> "re.Pattern[str]":
    """What stands up to the next delimiter that no backslash escapes."""
    mark = re.escape(delimiter)
    if brackets and delimiter != "[":
        return re.compile(rf"(?:\\.|{_BRACKET}|[^\\\n\[{mark}])*{mark}", re.DOTALL)
    return re.compile(rf"(?:\\.|[^\\\n{mark}])*{mark}", re.DOTALL)


class SedScript:
    """Reads a sed script from left to right.

    Programs disagree whether a delimiter counts inside brackets (`s/[^/]*$//`), hence `brackets`.
    """

    def __init__(self, text: str, *, brackets: bool) -> None:
        self.refusal = ""
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.commands: list[str] = []
        self._text, self._at, self._brackets = text, 0, brackets

    def run(self) -> None:
        """Read the whole script."""
        depth = 0
        while self._take(_BETWEEN) and self._at < len(self._text):
            depth += self._command()
            if depth < 0:
                break
        if depth:
            raise ScriptBrokenError("braces do not match")

    def _take(self, pattern: "re.Pattern[str]") -> "re.Match[str] | None":
        found = pattern.match(self._text, self._at)
        self._at = self._at if found is None else found.end()
        return found

    def _command(self) -> int:
        """Read one command with its addresses; tell how it changes the depth of braces."""
        if self._address(_LINE) and self._take(_COMMA) and not self._address(_SECOND_LINE):
            raise ScriptRefusedError("the second address is not understood")
        self._take(_NOT)
        letter = self._text[self._at : self._at + 1]
        self._at += 1
        if letter == "{":
            return 1
        if letter == "}":
            self._finish()
            return -1
        self._action(letter)
        return 0

    def _address(self, line: "re.Pattern[str]") -> bool:
        if self._take(line):
            return True
        letter = self._text[self._at : self._at + 1]
        if letter not in ("/", "\\"):
            return False
        self._at += letter == "\\"
        self._sections(("regex",))
        self._take(_REGEX_FLAGS)
        return True

    def _sections(self, kinds: tuple[str, ...]) -> None:
        """Read a delimiter, and as many texts as there are kinds, each up to the next one."""
        letter = self._text[self._at : self._at + 1]
        self._at += 1
        if not letter or letter in "\n\\" or not letter.isascii():
            raise ScriptRefusedError("the delimiter is not understood")
        for kind in kinds:
            brackets = self._brackets and kind == "regex"
            if not self._take(_section(letter, brackets=brackets)):
                if brackets and "\\]" in self._text[self._at :]:
                    raise ScriptRefusedError("a backslash before ']' is read differently by each sed")
                raise ScriptBrokenError("a delimiter is missing")

    def _finish(self) -> None:
        """After a command only spaces, then `;`, a newline, `}` or a comment may follow."""
        if not self._take(_END):
            raise ScriptBrokenError(f"unexpected {self._text[self._at : self._at + 1]!r} after a command")

    def _note(self, what: str) -> None:
        self.refusal = self.refusal or f"{what} is not read-only"

    def _action(self, letter: str) -> None:
        """Read what follows the letter of a command."""
        if letter in ("w", "W", "r", "R", "e"):
            self._note(f"command {letter!r}")
            (self.writes if letter in "wW" else self.commands if letter == "e" else self.reads).append(self._rest())
        elif letter in ("a", "i", "c", "v"):
            self._note(f"command {letter!r}")
            self._take(_TEXT)  # a backslash at its end takes the next line with it
        elif letter in ("b", "t", "T", ":"):
            if not self._take(_LABEL):
                raise ScriptRefusedError("what follows a label is read differently by each sed")
        elif letter == "s":
            self._sections(("regex", "text"))
            self._flags()
        elif letter == "y":
            self._sections(("text", "text"))
            self._finish()
        elif letter and letter in "=dDgGhHnNpPxlqQFz":
            if letter in "Fz":
                self._note(f"command {letter!r}")
            if letter in "lqQ":
                self._take(_NUMBER)
            self._finish()
        else:
            raise ScriptRefusedError(f"command {letter!r} is not read-only")

    def _flags(self) -> None:
        """Read what follows the replacement of `s`."""
        flags = self._take(_FLAGS)
        if flags is not None and "e" in flags[0]:
            self._note("flag 'e' of s")
        if self._text[self._at : self._at + 1] == "w":
            self._at += 1
            self._note("flag 'w' of s")
            self.writes.append(self._rest())
        self._finish()

    def _rest(self) -> str:
        found = self._take(_FILE)
        return "" if found is None else found[1].rstrip(" \t")


def files_among(names: "Iterable[str]", *others: str) -> tuple[str, ...]:
    """The names, each once, without those of the standard streams."""
    return tuple(name for name in dict.fromkeys(names) if name not in _STREAMS and name not in others)


def sed_files(script: str) -> ScriptFiles:
    """What a script does; programs disagree how brackets are read, so that both readings count."""
    runs = [SedScript(script, brackets=brackets) for brackets in ((True, False) if "[" in script else (True,))]
    understood, refusal, broken = False, "", ""
    for run in runs:
        try:
            run.run()
            understood = True
        except ScriptRefusedError as refused:
            refusal = refusal or run.refusal or str(refused)
        except ScriptBrokenError as problem:
            broken = str(problem)
        refusal = refusal or run.refusal
    reads, writes, commands = (
        files_among(name for one in found for name in one)
        for found in ([run.reads for run in runs], [run.writes for run in runs], [run.commands for run in runs])
    )
    return ScriptFiles(reads, writes, commands, understood, refusal or ("" if understood else broken))


def script_refusal(script: str) -> str | None:
    """Return why a sed script is not read-only, or None."""
    reason = "" if _PRINTS.match(script) else sed_files(script).refusal
    return f"sed script: {reason}" if reason else None


def _taken_apart(args: "Sequence[Word]") -> "tuple[Scan, list[Word], list[Word]]":
    """The options, the scripts and the files of a call, as sed tells them apart."""
    found = scan(SED, args)
    scripts, files = found.values("-e"), found.operands
    if not found.has("-e", "-f", "--help", "--version"):
        if not files:
            found.refuse("sed has no script")
        scripts, files = (files, files) if found.unknown else (files[:1], files[1:])
    return found, scripts, files


def inspect_sed(args: "Sequence[Word]") -> "CommandFacts":
    """Judge a `sed` call: its options, then its script."""
    found, scripts, files = _taken_apart(args)
    for word in files:
        found.note_path(word, "file")
    writes = _edited(files, found) if found.has("-i") else ()
    opened = ScriptFiles()
    if not all(word.static for word in scripts):
        found.refuse("the sed script is only known at run time")
    elif reason := script_refusal(script := "\n".join(word.text for word in scripts)):
        found.refuse(reason)
        opened = sed_files(script)
    found.reads[:0] = opened.reads
    facts = found.facts()
    return facts._replace(writes=(*writes, *opened.writes), kind="edit" if writes else "text")


def script_of(args: "Sequence[Word]") -> str | None:
    """The script of a call; empty when the text tells only some of it, None when it tells nothing."""
    _, scripts, _ = _taken_apart(args)
    if any(not word.static and not word.text for word in scripts):
        return None
    return "\n".join(word.text for word in scripts) if all(word.static for word in scripts) else ""


def edits_in_place(part: "Part") -> bool:
    """Whether a `sed -i` only rewrites the files that it names, by a script that starts and opens nothing."""
    if part.name not in ("sed", "gsed") or part.cover or part.more or part.assigns or part.redirects or not part.writes:
        return False
    argv = part.argv
    if argv[0].text != part.name or not all(word.static for word in argv):
        return False
    # `-i ''` takes no script from one sed and the next word as script from another.
    if not scan(SED, argv[1:]).has("-i") or not all(word.text for word in argv):
        return False
    # Without a suffix no copy is kept, and what is left is read like any script.
    return inspect_sed([word for word in argv[1:] if word.text not in ("-i", "--in-place")]).refusal is None


def _edited(files: "Sequence[Word]", found: "Scan") -> tuple[str, ...]:
    """The files that `-i` writes, with the copies it keeps of them."""
    names = [word.text for word in files if word.static]
    return (*names, *(kept for word in found.values("-i") for kept in sed_backups(word.text, names)))


def sed_backups(suffix: str, files: "Sequence[str]") -> "Iterator[str]":
    """The names under which `-i` keeps what a file was before; a star in the suffix stands for the file's name."""
    for name in files if suffix else ():
        folder, base = posixpath.split(name)
        kept = suffix.replace("*", base) if "*" in suffix else base + suffix
        yield kept if "/" in kept else posixpath.join(folder, kept)
