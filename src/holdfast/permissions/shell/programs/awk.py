"""awk: a lexer of its programs that lets through only what computes and prints to standard output."""

import re
from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.tool_table import TOOLS
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.programs.options import Scan
    from holdfast.permissions.shell.words.word import Word

AWK = TOOLS["awk"]
FUNCTIONS = names(
    "length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand"
    " tolower toupper"
    " gensub patsplit asort asorti strftime systime mktime strtonum and or xor lshift rshift compl isarray typeof"
    " mkbool"
)
"""Functions that compute; any other call must be to a function the program defines itself."""
KEYWORDS = names(
    "BEGIN END BEGINFILE ENDFILE if else while for do break continue next nextfile exit return"
    " delete in function func"
    " print printf switch case default"
)
REFUSED = names("system getline close fflush extension ENVIRON PROCINFO SYMTAB FUNCTAB ARGV ARGC")
_PRINTS = re.compile(r"\{ *print(?: *\$(?:[0-9]+|NF)(?: *, *\$(?:[0-9]+|NF))*)? *\}\Z")
"""The usual programs: print some fields."""
_NAME = re.compile(r"[A-Za-z0-9_]+")
_NUMBER = re.compile(r"[0-9.]+")
_BEFORE_REGEX = names("{ } ( , ; ! ~ !~ && || ? : = == != < <= > >= + - * % ^ += -= *= /= %= ^= ** **=")
_WORDS_BEFORE_REGEX = names("print printf return else do exit")
"""Not `case`: only gawk knows it as a keyword, elsewhere it is a variable and the `/` divides."""
_CONTINUES = frozenset({",", "&&", "||", "?", ":", "{", "else", "do", ""})
_DANGLING = names("! ~ !~ = == != < <= > >= + - * / % ^ += -= *= /= %= ^= ** **= $ in function func")
_OPERATORS = (
    "**=", "|&", "||", "&&", ">>", "!~", "==", "!=", "<=", ">=", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**",
)  # fmt: skip
_WORD_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SINGLE = frozenset("{}()[];,!~?:=<>+-*%^$|/")


class ProgramRefusedError(ValueError):
    """The program does something other than computing and printing, or is not understood."""


class AwkProgram:
    """Reads an awk program token by token and stops at the first thing that is not allowed."""

    refused = REFUSED

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.previous = ""
        self.previous_is_value = False
        self.open: list[tuple[str, str]] = []
        self.print_depth = -1
        self.called: set[str] = set()
        self.defined: set[str] = set()

    def run(self) -> None:
        """Read the whole program."""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in " \t\n#" or self.text.startswith("\\\n", self.at):
                self.blank(letter)
            elif letter == '"':
                self.string()
            elif letter in "0123456789.":
                self.number()
            elif letter in _WORD_LETTERS:
                self.word()
            else:
                self.operator()
        if self.open:
            raise ProgramRefusedError("brackets do not match")
        if unknown := self.called - self.defined:
            raise ProgramRefusedError(f"function {min(unknown)!r} is not known")

    def blank(self, letter: str) -> None:
        """Pass over blanks and comments."""
        if letter == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
            return
        self.at += 2 if letter == "\\" else 1
        if letter == "\n":
            self.newline()

    def token(self, text: str, *, value: bool) -> None:
        """Remember the last token."""
        self.previous, self.previous_is_value = text, value

    def newline(self) -> None:
        """End a statement where the line ends."""
        if not self.previous_is_value and self.previous in _DANGLING:
            raise ProgramRefusedError("a line that ends in an operator goes on in some awks")
        if self.previous not in _CONTINUES and not self.open_parenthesis():
            self.print_depth = -1
            self.token(";", value=False)

    def open_parenthesis(self) -> bool:
        """Whether something other than a brace is open."""
        return bool(self.open) and self.open[-1][0] != "{"

    def string(self) -> None:
        """Read a string."""
        at = self.at + 1
        while at < len(self.text) and self.text[at] != '"':
            if self.text[at] == "\n":
                raise ProgramRefusedError("a string goes over the end of its line")
            at += 2 if self.text[at] == "\\" else 1
        if at >= len(self.text):
            raise ProgramRefusedError("a string has no end")
        self.at = at + 1
        self.token('"', value=True)

    def number(self) -> None:
        """Read a number."""
        # `3system("x")` is a number and a call, so letters never belong to the number here.
        found = _NUMBER.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        self.token("0", value=True)

    def word(self) -> None:
        """Read a name."""
        found = _NAME.match(self.text, self.at)
        assert found is not None
        name, self.at = found.group(), found.end()
        if name in self.refused:
            raise ProgramRefusedError(f"{name!r} is not read-only")
        if self.previous in ("function", "func"):
            self.defined.add(name)
        elif name in ("print", "printf"):
            self.print_depth = len(self.open)
        elif name not in KEYWORDS and name not in FUNCTIONS and self.text.startswith("(", self.at):
            self.called.add(name)
        self.token(name, value=name not in KEYWORDS)

    def operator(self) -> None:
        """Read an operator or a pattern."""
        letter = self.text[self.at]
        if letter == "/" and self.regex_allowed():
            self.regex()
            return
        found = next((sign for sign in _OPERATORS if self.text.startswith(sign, self.at)), letter)
        if found in (">>", "|", "|&"):
            self.sends(found)
        if found == "/=" and "/" in self.text[self.at + 2 :]:
            raise ProgramRefusedError("a '/=' here may divide or start a pattern")
        if found not in _SINGLE and found not in _OPERATORS:
            raise ProgramRefusedError(f"{found!r} is not understood")
        self.at += len(found)
        if found == ">" and 0 <= self.print_depth >= len(self.open):
            self.sends(found)
        value = found in ("++", "--")
        if found in ("(", "[", "{"):
            self.open.append((found, self.previous))
        elif found in (")", "]", "}"):
            value = self.close(found)
        if found in (";", "{", "}") and not self.open_parenthesis():
            self.print_depth = -1
        self.token(found, value=value)

    def sends(self, found: str) -> None:
        """Judge an operator that takes output to a file or a program."""
        if found == ">":
            raise ProgramRefusedError("'>' after print writes a file")
        raise ProgramRefusedError(f"{found!r} sends output to a file or a program")

    def close(self, found: str) -> bool:
        """Close a bracket; tell whether a value ends there."""
        if not self.open or self.open[-1][0] != {")": "(", "]": "[", "}": "{"}[found]:
            raise ProgramRefusedError("brackets do not match")
        _, before = self.open.pop()
        return found == "]" or (found == ")" and before not in ("if", "while", "for"))

    def regex_allowed(self) -> bool:
        """Decide whether `/` starts a regular expression here; a doubtful place is refused."""
        if self.previous in ("++", "--", "$", "length", "getline") or self.previous in FUNCTIONS:
            raise ProgramRefusedError("a '/' here may divide or start a pattern")
        if self.previous_is_value:
            return False
        known = self.previous in _BEFORE_REGEX or self.previous in _WORDS_BEFORE_REGEX or self.previous in ("", ")")
        if not known:
            raise ProgramRefusedError("a '/' here may divide or start a pattern")
        return True

    def regex(self) -> None:
        """Read a pattern."""
        at = self.at + 1
        in_bracket = False
        while at < len(self.text) and self.text[at] != "\n":
            letter = self.text[at]
            if letter == "\\":
                at += 1
            elif letter == "/":
                if in_bracket:
                    raise ProgramRefusedError("a '/' inside brackets is read differently by each awk")
                self.at = at + 1
                self.token("/re/", value=True)
                return
            elif in_bracket:
                at, in_bracket = self.in_bracket(at)
            elif letter == "[":
                in_bracket = True
                at += self.text.startswith("^", at + 1)
                at += self.text.startswith("]", at + 1)
            at += 1
        raise ProgramRefusedError("a pattern has no end")

    def in_bracket(self, at: int) -> tuple[int, bool]:
        """Read on inside the brackets of a pattern."""
        if self.text[at] == "]":
            return at, False
        if self.text[at] == "[" and self.text[at + 1 : at + 2] in (":", ".", "="):
            end = self.text.find(self.text[at + 1] + "]", at + 2)
            if end < 0 or "/" in self.text[at:end]:
                raise ProgramRefusedError("a bracket expression has no end")
            return end + 1, True
        return at, True


def program_refusal(program: str) -> str | None:
    """Return why an awk program is not read-only, or None."""
    if _PRINTS.match(program):
        return None
    try:
        AwkProgram(program).run()
    except ProgramRefusedError as problem:
        return f"awk program: {problem}"
    return None


def inspect_awk(args: "Sequence[Word]") -> CommandFacts:
    """Judge an `awk` call: its options, its program, its files."""
    found = scan(AWK, args)
    program, files = found.operands[:1], found.operands[1:]
    if found.has("--version") and not found.operands:
        return CommandFacts(found.refusal, kind="version")
    if not program:
        found.refuse("awk has no program")
    elif not program[0].static:
        found.refuse("the awk program is only known at run time")
    elif reason := program_refusal(program[0].text):
        found.refuse(reason)
    for word in files:
        _judge_operand(word, found)
    writes: tuple[str, ...] = ()
    if found.refusal is not None:
        from holdfast.permissions.shell.programs.awk_files import awk_files  # noqa: PLC0415 - few programs open files

        opened = awk_files(args)
        found.reads += opened.reads
        writes = opened.writes
    return CommandFacts(found.refusal, tuple(found.reads), writes, kind="text", reads_unknown=found.reads_unknown)


def _judge_operand(word: "Word", found: "Scan") -> None:
    if not word.static and word.may_be_flag:
        found.refuse("a word known only at run time may become an option")
    if word.static and word.text.startswith("-") and word.text != "-":
        found.refuse(f"{word.text!r} after the program may be read as an option")
    if word.text.startswith("/inet"):
        found.refuse("awk opens /inet names as network connections")
    name, is_assignment, _ = word.text.partition("=")
    if not (is_assignment and name.isidentifier()):
        found.note_path(word, "file")
