"""sed: a small parser of its scripts. Only commands that print or change the output stream pass."""

import re
from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.tool_table import TOOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.programs.options import Scan
    from holdfast.permissions.shell.words.parts import Part
    from holdfast.permissions.shell.words.word import Word

SED = TOOLS["sed"]
_PRINTS = re.compile(r"(?:[0-9]+|\$)(?:,(?:\+?[0-9]+|\$))?[pd]\Z")
"""The usual scripts: print or leave out a range of lines."""
_SIMPLE = frozenset("=dDgGhHnNpPx")
_NUMBERED = frozenset("lqQ")
_LABELLED = frozenset("btT:")
_SUBSTITUTE_FLAGS = frozenset("gpiImM0123456789")


class ScriptRefusedError(ValueError):
    """The script does something other than reading, or is not understood."""


class ScriptBrokenError(ValueError):
    """sed itself stops at this script before it runs any of it."""


class SedScript:
    """Reads a sed script from left to right.

    Programs disagree whether a delimiter counts inside brackets (`s/[^/]*$//`), hence `bracket_aware`.
    """

    def __init__(self, text: str, *, bracket_aware: bool) -> None:
        self.text, self.bracket_aware = text, bracket_aware
        self.at: int = 0

    def peek(self) -> str:
        """The next character, or nothing at the end."""
        return self.text[self.at : self.at + 1]

    def skip(self, letters: str) -> None:
        """Pass over these characters."""
        while self.at < len(self.text) and self.text[self.at] in letters:
            self.at += 1

    def number(self) -> bool:
        """Read a number; tell whether there was one."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1
        return self.at > start

    def run(self) -> None:
        """Read the whole script."""
        depth = 0
        while True:
            self.skip(" \t\n;")
            if not self.peek():
                break
            if self.peek() == "#":
                self.line_end()
                continue
            depth = self.command(depth)
        if depth:
            raise ScriptBrokenError("braces do not match")

    def line_end(self) -> None:
        """Go to the end of the line."""
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def command(self, depth: int) -> int:
        """Read one command with its addresses; give the depth of braces behind it."""
        if self.address(first=True):
            self.skip(" \t")
            if self.peek() == ",":
                self.at += 1
                self.skip(" \t")
                if not self.address(first=False):
                    raise ScriptRefusedError("the second address is not understood")
        self.skip(" \t")
        while self.peek() == "!":
            self.at += 1
            self.skip(" \t")
        letter = self.peek()
        self.at += 1
        if letter == "{":
            return depth + 1
        if letter == "}":
            self.finish()
            if depth == 0:
                raise ScriptBrokenError("braces do not match")
            return depth - 1
        self.action(letter)
        return depth

    def action(self, letter: str) -> None:
        """Read what follows the letter of a command."""
        if letter and letter in _SIMPLE:
            self.finish()
        elif letter and letter in _NUMBERED:
            self.skip(" \t")
            self.number()
            self.finish()
        elif letter and letter in _LABELLED:
            self.label()
        elif letter == "s":
            self.substitute()
        elif letter == "y":
            delimiter = self.delimiter()
            self.section(delimiter, regex=False)
            self.section(delimiter, regex=False)
            self.finish()
        else:
            raise ScriptRefusedError(f"command {letter!r} is not read-only")

    def finish(self) -> None:
        """After a command only spaces, then `;`, a newline, `}` or a comment may follow."""
        self.skip(" \t")
        if self.peek() not in ("", ";", "\n", "}", "#"):
            raise ScriptBrokenError(f"unexpected {self.peek()!r} after a command")

    def label(self) -> None:
        """Read the name of a label."""
        self.skip(" \t")
        start = self.at
        while self.peek() and (self.peek().isalnum() or self.peek() in "_.-"):
            self.at += 1
        if not self.text[start : self.at].isascii():
            raise ScriptRefusedError("the label is not plain text")
        self.skip(" \t")
        if self.peek() not in ("", ";", "\n", "}"):
            raise ScriptRefusedError("what follows a label is read differently by each sed")

    def address(self, *, first: bool) -> bool:
        """Read an address; tell whether there was one."""
        letter = self.peek()
        if letter == "$":
            self.at += 1
            return True
        if not first and letter and letter in "+~":
            self.at += 1
            return self.number()
        if self.number():
            if self.peek() == "~":
                self.at += 1
                return self.number()
            return True
        if letter == "/":
            self.at += 1
            self.section("/", regex=True)
        elif letter == "\\":
            self.at += 1
            self.section(self.delimiter(), regex=True)
        else:
            return False
        self.skip("IM")
        return True

    def delimiter(self) -> str:
        """Read the character that parts the sections of a command."""
        letter = self.peek()
        self.at += 1
        if not letter or letter in "\n\\" or not letter.isascii():
            raise ScriptRefusedError("the delimiter is not understood")
        return letter

    def section(self, delimiter: str, *, regex: bool) -> None:
        """Read up to the next delimiter that no backslash escapes."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == "\\":
                self.at += 2
                continue
            if letter == delimiter:
                self.at += 1
                return
            if regex and letter == "[" and self.bracket_aware:
                self.at = _bracket_end(self.text, self.at + 1)
                if self.at < 0:
                    break
            elif letter == "\n":
                break
            self.at += 1
        raise ScriptBrokenError("a delimiter is missing")

    def substitute(self) -> None:
        """Read the sections of `s`."""
        delimiter = self.delimiter()
        self.section(delimiter, regex=True)
        self.section(delimiter, regex=False)
        self.flags()

    def flags(self) -> None:
        """Read what follows the replacement of `s`."""
        self.skip("gpiImM0123456789")
        if self.peek() and self.peek() in "ew":
            raise ScriptRefusedError(f"flag {self.peek()!r} of s writes or runs something")
        self.finish()


def _bracket_end(part: str, at: int) -> int:
    """Return the index of the closing bracket, or -1."""
    at += part.startswith("^", at)
    at += part.startswith("]", at)
    while at < len(part):
        if part[at] == "]":
            return at
        if part[at] == "\n":
            return -1
        if part.startswith("\\]", at):
            raise ScriptRefusedError("a backslash before ']' is read differently by each sed")
        if part[at] == "[" and part[at + 1 : at + 2] in (":", ".", "="):
            end = part.find(part[at + 1] + "]", at + 2)
            if end < 0:
                return -1
            at = end + 1
        at += 1
    return -1


def script_refusal(script: str) -> str | None:
    """Return why a sed script is not read-only, or None."""
    if _PRINTS.match(script):
        return None
    understood, problem = False, ""
    for bracket_aware in (True, False) if "[" in script else (True,):
        try:
            SedScript(script, bracket_aware=bracket_aware).run()
            understood = True
        except ScriptRefusedError as refused:
            return f"sed script: {refused}"
        except ScriptBrokenError as broken:
            problem = str(broken)
    return None if understood else f"sed script: {problem}"


def inspect_sed(args: "Sequence[Word]") -> CommandFacts:
    """Judge a `sed` call: its options, then its script."""
    found = scan(SED, args)
    scripts, files = found.values("-e"), found.operands
    if not found.has("-e", "-f", "--help", "--version"):
        scripts, files = files[:1], files[1:]
        if not scripts:
            found.refuse("sed has no script")
    opened: tuple[str, ...] = ()
    if all(word.static for word in scripts):
        script = "\n".join(word.text for word in scripts)
        if reason := script_refusal(script):
            found.refuse(reason)
            opened = _opened_by(script, found)
    else:
        found.refuse("the sed script is only known at run time")
    for word in files:
        found.note_path(word, "file")
    writes = _edited(files, found) if found.has("-i") else ()
    return CommandFacts(
        found.refusal,
        tuple(found.reads),
        (*writes, *opened),
        kind="edit" if writes else "text",
        reads_unknown=found.reads_unknown,
    )


def edits_in_place(part: "Part") -> bool:
    """Whether a `sed -i` only rewrites the files that it names, by a script that starts and opens nothing."""
    if part.name not in ("sed", "gsed") or part.hull or part.more or part.assigns or part.redirects or not part.writes:
        return False
    argv = part.argv
    if argv[0].text != part.name or not all(word.static for word in argv):
        return False
    # `-i ''` takes no script from one sed and the next word as script from another.
    if not scan(SED, argv[1:]).has("-i") or not all(word.text for word in argv):
        return False
    # Without a suffix no copy is kept, and what is left is read like any script.
    return inspect_sed([word for word in argv[1:] if word.text not in ("-i", "--in-place")]).refusal is None


def _opened_by(script: str, found: "Scan") -> tuple[str, ...]:
    """Note what a script reads itself; give what it writes."""
    from holdfast.permissions.shell.programs.sed_files import sed_files  # noqa: PLC0415 - few scripts open files

    opened = sed_files(script)
    found.reads += opened.reads
    return opened.writes


def _edited(files: "Sequence[Word]", found: "Scan") -> tuple[str, ...]:
    """The files that `-i` writes, with the copies it keeps of them."""
    from holdfast.permissions.shell.programs.sed_files import sed_backups  # noqa: PLC0415 - see above

    names = [word.text for word in files if word.static]
    suffixes = [word.text for word in found.values("-i")]
    return (*names, *(kept for suffix in suffixes for kept in sed_backups(suffix, names)))
