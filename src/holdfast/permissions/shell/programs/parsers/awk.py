"""awk: what its programs do. Only what computes and prints to standard output is read-only."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import Scan, scan
from holdfast.permissions.shell.programs.parsers.sed import ScriptFiles, files_among
from holdfast.permissions.shell.programs.tool_table import TOOLS
from holdfast.permissions.shell.words.word import Word, names

AWK = TOOLS["awk"]
FUNCTIONS = names(
    "length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper gensub"
    " patsplit asort asorti strftime systime mktime strtonum and or xor lshift rshift compl isarray typeof mkbool"
)
"""Functions that compute; any other call must be to a function the program defines itself."""
KEYWORDS = names(
    "BEGIN END BEGINFILE ENDFILE if else while for do break continue next nextfile exit return delete in function func"
    " print printf switch case default"
)
REFUSED = names("system getline close fflush extension ENVIRON PROCINFO SYMTAB FUNCTAB ARGV ARGC")
_KNOWN: Final = FUNCTIONS | KEYWORDS | REFUSED
_PRINTS = re.compile(r"\{ *print(?: *\$(?:[0-9]+|NF)(?: *, *\$(?:[0-9]+|NF))*)? *\}\Z")
"""The usual programs: print some fields."""
_TOKEN: Final = re.compile(
    r"(?P<blank>[ \t]+|\\\n|#[^\n]*)|(?P<newline>\n)|(?P<string>\"(?:[^\"\\\n]|\\.)*\")|(?P<number>[0-9.]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*=|\|&|\|\||&&|>>|!~|==|!=|<=|>=|\+\+|--|\+=|-=|\*=|/=|%=|\^=|\*\*|[]{}()[;,!~?:=<>+*%^$|/-])",
    re.DOTALL,
)
"""`3system("x")` is a number and a call, so letters never belong to a number."""
_REGEX: Final = re.compile(
    r"/(?:\\.|[^\\/\[\n]|\[(?:\^|(?!\^))(?:\]|(?!\]))"
    r"(?:\\.|(?=(?P<k>\[(?P<c>[:.=])[^/]*?(?P=c)\]))(?P=k)|(?!\[[:.=])[^]\\/\n])*\])*/",
    re.DOTALL,
)
_BEFORE_REGEX = names("{ } ( , ; ! ~ !~ && || ? : = == != < <= > >= + - * % ^ += -= *= /= %= ^= ** **= )")
_WORDS_BEFORE_REGEX = names("print printf return else do exit")
"""Not `case`: only gawk knows it as a keyword, elsewhere it is a variable and the `/` divides."""
_CONTINUES = frozenset({",", "&&", "||", "?", ":", "{", "else", "do", ""})
_DANGLING = names("! ~ !~ = == != < <= > >= + - * / % ^ += -= *= /= %= ^= ** **= $ in function func")
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}

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


class ProgramRefusedError(ValueError):
    """The program is not understood."""


class AwkProgram:
    """Reads an awk program token by token.

    Attributes:
        refusal: why it does more than compute and print, or nothing.
        targets: texts that are written to as files; `variables`: the same by name.
        commands: texts that it runs; `command_variables`: the same by name.
        untold: something is written to what is neither.
    """

    def __init__(self, text: str) -> None:
        self.refusal = ""
        self.targets: list[str] = []
        self.variables: list[str] = []
        self.commands: list[str] = []
        self.command_variables: list[str] = []
        self.untold = False
        self._text, self._at = text, 0
        self._previous, self._is_value = "", False
        self._open: list[tuple[str, str]] = []
        self._print_depth = -1
        self._called: set[str] = set()
        self._defined: set[str] = set()

    def run(self) -> None:
        """Read the whole program."""
        while self._at < len(self._text):
            start = self._at
            is_regex = self._text[start] == "/" and self._regex_allowed()
            found = (_REGEX if is_regex else _TOKEN).match(self._text, start)
            if found is None:
                what = "a pattern" if is_regex else repr(self._text[start])
                raise ProgramRefusedError(f"{what} is not understood, or not by each awk in the same way")
            self._at, kind = found.end(), found.lastgroup
            if kind == "newline":
                self._newline()
            elif kind == "name":
                self._name(found[0])
            elif kind == "sign":
                self._sign(found[0], start)
            elif kind != "blank":
                self._token(found[0][0], value=True)
        if self._open:
            raise ProgramRefusedError("brackets do not match")
        if unknown := self._called - self._defined:
            raise ProgramRefusedError(f"function {min(unknown)!r} is not known")

    def _note(self, what: str) -> None:
        self.refusal = self.refusal or what

    def _token(self, text: str, *, value: bool) -> None:
        self._previous, self._is_value = text, value

    def _newline(self) -> None:
        """End a statement where the line ends."""
        if not self._is_value and self._previous in _DANGLING:
            raise ProgramRefusedError("a line that ends in an operator goes on in some awks")
        if self._previous not in _CONTINUES and not self._in_parenthesis():
            self._print_depth = -1
            self._token(";", value=False)

    def _in_parenthesis(self) -> bool:
        return bool(self._open) and self._open[-1][0] != "{"

    def _name(self, name: str) -> None:
        if name in REFUSED:
            self._note(f"{name!r} is not read-only")
        if self._previous in ("function", "func"):
            self._defined.add(name)
        elif name in ("print", "printf"):
            self._print_depth = len(self._open)
        elif name not in _KNOWN and self._text.startswith("(", self._at):
            self._called.add(name)
        self._token(name, value=name not in KEYWORDS)

    def _sign(self, sign: str, start: int) -> None:
        if sign == "/=" and "/" in self._text[self._at :]:
            raise ProgramRefusedError("a '/=' here may divide or start a pattern")
        if sign in (">>", "|", "|&") or (sign == ">" and 0 <= self._print_depth >= len(self._open)):
            self._sends(sign, start)
        value = sign in ("++", "--")
        if sign in ("(", "[", "{"):
            self._open.append((sign, self._previous))
        elif sign in _PAIRS:
            if not self._open or self._open[-1][0] != _PAIRS[sign]:
                raise ProgramRefusedError("brackets do not match")
            before = self._open.pop()[1]
            value = sign == "]" or (sign == ")" and before not in ("if", "while", "for"))
        if sign in (";", "{", "}") and not self._in_parenthesis():
            self._print_depth = -1
        self._token(sign, value=value)

    def _sends(self, sign: str, start: int) -> None:
        """Note where an operator takes output: to a file or a program."""
        self._note("'>' after print writes a file" if sign == ">" else f"{sign!r} sends output to a file or a program")
        target = _TARGET.match(self._text, self._at)
        text = "".join(map(_unescaped, _PIECE.findall(target["texts"]))) if target is not None else ""
        variable = _VARIABLE.match(self._text, self._at) if target is None else None
        if variable is not None:
            (self.variables if sign[0] == ">" else self.command_variables).append(variable[1])
        if sign[0] == ">":
            if target is not None:
                self.targets.append(text)
            ended = target is not None and self._text[target.end() : target.end() + 1] in ("", *_ENDS)
            self.untold = self.untold or not ended
            return
        before = _BEFORE.search(self._text, max(0, start - 4_096), start)
        self.commands += filter(None, (text, _unescaped(before[1]) if before is not None else ""))

    def _regex_allowed(self) -> bool:
        """Decide whether `/` starts a regular expression here; a doubtful place is refused."""
        previous = self._previous
        doubtful = previous in ("++", "--", "$", "length", "getline") or previous in FUNCTIONS
        if self._is_value and not doubtful:
            return False
        if doubtful or not (previous in _BEFORE_REGEX or previous in _WORDS_BEFORE_REGEX or previous == ""):
            raise ProgramRefusedError("a '/' here may divide or start a pattern")
        return True


def _unescaped(quoted: str) -> str:
    return _ESCAPE.sub(_escape, quoted[1:-1]) if "\\" in quoted else quoted[1:-1]


def _escape(found: "re.Match[str]") -> str:
    octal, hexadecimal, letter = found.groups()
    if octal or hexadecimal:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return _ESCAPES.get(letter, letter)


def program_refusal(program: str) -> str | None:
    """Return why an awk program is not read-only, or None."""
    if _PRINTS.match(program):
        return None
    read = AwkProgram(program)
    try:
        read.run()
    except ProgramRefusedError as problem:
        return f"awk program: {read.refusal or problem}"
    return f"awk program: {read.refusal}" if read.refusal else None


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
    opened = ScriptFiles() if found.refusal is None else awk_files(args)
    found.reads += opened.reads
    return found.facts()._replace(writes=opened.writes, kind="text")


def _judge_operand(word: "Word", found: "Scan") -> None:
    if not word.static and word.may_be_flag:
        found.refuse("a word known only at run time may become an option")
    if word.text.startswith("/inet"):
        found.refuse("awk opens /inet names as network connections")
    name, is_assignment, _ = word.text.partition("=")
    if not (is_assignment and name.isidentifier()):
        found.note_path(word, "file")


def awk_files(args: "Sequence[Word]") -> ScriptFiles:
    """What a call opens beyond the files that it is given to read."""
    found = scan(AWK, args)
    programs, files = found.values("-e"), found.operands
    if not found.has("-e", "-f", "-E"):
        programs, files = files[:1], files[1:]
    reads, writes, commands = list[str](), list(_by_options(found, files)), list[str]()
    understood = True
    for word in programs:
        read = AwkProgram(word.text)
        try:
            read.run()
        except ProgramRefusedError:
            read.untold = read.untold or not {">", "|"}.isdisjoint(word.text)
        writes += (*read.targets, *_values(read.variables, word.text, found, files))
        commands += (*read.commands, *_values(read.command_variables, word.text, found, files))
        commands += map(_unescaped, _CALLED.findall(word.text))
        reads += map(_unescaped, _READ.findall(word.text))
        understood = understood and not read.untold and (word.static or bool(word.text))
    return ScriptFiles(files_among(reads, "-"), files_among(writes, "-"), tuple(dict.fromkeys(commands)), understood)


def _by_options(found: "Scan", files: "Sequence[Word]") -> "Iterator[str]":
    if any(word.text in ("inplace", "inplace.awk") for word in found.values("-i", "-l")):
        yield from (word.text for word in files if word.static)
    for name, value in found.given:
        if name in _DUMPS:
            yield value.text if value is not None else _DUMPS[name]


def _values(variables: "Sequence[str]", program: str, found: "Scan", files: "Sequence[Word]") -> "Iterator[str]":
    """What the text puts into variables that stand for files."""
    for name in dict.fromkeys(variables):
        for word in (*found.values("-v"), *files):
            key, equals, value = word.text.partition("=")
            if equals and key == name:
                yield value
        yield from map(_unescaped, re.findall(rf"\b{name}[ \t]*=[ \t]*({_TEXT})", program))
