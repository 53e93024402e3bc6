"""sed: a small parser of its scripts. Only commands that print or change the output stream pass."""

import re
from typing import TYPE_CHECKING

from holdfast.permissions.shell.commands.facts import CommandFacts
from holdfast.permissions.shell.commands.options import scan
from holdfast.permissions.shell.commands.tool_table import Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words import Word

SED = Tool(
    "-n|--quiet|--silent --debug -e|--expression:text !-f|--file:file !-i|--in-place?"
    " -E|-r|--regexp-extended -s|--separate"
    " -u|--unbuffered -z|--null-data -l|--line-length:num --posix --sandbox --follow-symlinks --help --version",
    dashed_values=True,
    operands="any",
    kind="text",
)
_PRINTS = re.compile(r"(?:[0-9]++|\$)(?:,(?:\+?[0-9]++|\$))?[pd]\Z")
"""The usual scripts: print or leave out a range of lines."""
_SIMPLE = frozenset("=dDgGhHnNpPx")
_NUMBERED = frozenset("lqQ")
_LABELLED = frozenset("btT:")
_SUBSTITUTE_FLAGS = frozenset("gpiImM0123456789")


class ScriptRefusedError(ValueError):
    """The script does something other than reading, or is not understood."""


class ScriptBrokenError(ValueError):
    """sed itself stops at this script before it runs any of it."""


class _Script:
    """Reads a sed script from left to right.

    Programs disagree whether a delimiter counts inside brackets (`s/[^/]*$//`), hence `bracket_aware`.
    """

    def __init__(self, text: str, *, bracket_aware: bool) -> None:
        self.text, self.at, self.bracket_aware = text, 0, bracket_aware

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self, letters: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in letters:
            self.at += 1

    def number(self) -> bool:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1
        return self.at > start

    def run(self) -> None:
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
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def command(self, depth: int) -> int:
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
        delimiter = self.delimiter()
        self.section(delimiter, regex=True)
        self.section(delimiter, regex=False)
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
            _Script(script, bracket_aware=bracket_aware).run()
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
    if all(word.static for word in scripts):
        if reason := script_refusal("\n".join(word.text for word in scripts)):
            found.refuse(reason)
    else:
        found.refuse("the sed script is only known at run time")
    for word in files:
        found.note_path(word, "file")
    writes = tuple(word.text for word in files if word.static) if found.has("-i") else ()
    return CommandFacts(
        found.refusal, tuple(found.reads), writes, kind="edit" if writes else "text", reads_unknown=found.reads_unknown
    )
