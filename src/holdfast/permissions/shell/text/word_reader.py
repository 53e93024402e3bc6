"""Words from the syntax tree: what is certain about an argument before the shell expands it."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.words.quoting import (
    CERTAIN,
    QUOTES,
    Bare,
    Building,
    ansi_c,
    home,
    literal,
    plain_word,
    quoted,
    unquoted,
    utf8,
)
from holdfast.permissions.shell.words.word import Word, is_secret

if TYPE_CHECKING:
    from tree_sitter import Node


_REVISION: Final = r"[A-Za-z0-9_@][A-Za-z0-9_./~^@-]*"
_HASHES: Final = re.compile(
    rf"\$\(git (?:merge-base(?: {_REVISION}){{2,4}}|rev-parse(?: --(?:short|verify|quiet))* {_REVISION}"
    rf"|rev-list(?: -n ?[0-9]+| -[0-9]+| --max-count=[0-9]+| --reverse| --no-merges)* {_REVISION})\)"
)
"""These print the names of commits; `rev-parse` prints a revision that it does not know as it stands."""
_NOT_GLUED: Final = re.compile(r"\"?(?:[\s;|&).~^:]|\Z)")
"""What follows in the text: of an expansion that gives nothing, the rest of the word alone is left."""


def gives_hashes(text: str, view: str, end: int) -> bool:
    """Whether a substitution, which ends there in the text, gives names of commits or nothing."""
    return _HASHES.fullmatch(text) is not None and _NOT_GLUED.match(view, end) is not None


_PLAIN_GLOB: Final = re.compile(r"([A-Za-z0-9_./@%+,-]*)[*?][A-Za-z0-9_./@%+,*?-]*\Z")
_ONE_VARIABLE: Final = re.compile(r'"\$[A-Za-z_][A-Za-z0-9_]*"\Z')
_LIVE: Final = re.compile(r"[$`\\]")
_OPERAND: Final = (
    r"(?:[^$`{}\\<>'\"]|'[^'\"$`{}\\]*'|\"[^'\"$`{}\\]*\"|[<>](?!\()"
    r"|\$[A-Za-z_][A-Za-z0-9_]*(?![A-Za-z0-9_])|\$'\\[nt]'|\\[/.*?+|^ _-])*"
)
"""Without a lone quote: bash looks for its other half behind the brace."""
SAFE_EXPANSION: Final = re.compile(
    r"\$\{(?:#(?P<counted>[A-Za-z_][A-Za-z0-9_]*|[@*#?])(?:\[(?:[@*]|[0-9]+)\])?"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$_-]|!(?=\}))(?P<index>\[(?:[@*]|-?[0-9]+|\$?[A-Za-z_][A-Za-z0-9_]*)\])?"
    rf"(?:(?::?[-+]|(?P<strict>:?\?)|%%?|##?|\^\^?|,,?|/[/#%]?){_OPERAND}|:(?: ?-?[0-9]+)?(?::-?[0-9]+)?)?)\}}"
)
_OPERAND_NAMES: Final = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
LENGTH: Final = re.compile(r"\$\{#([A-Za-z_][A-Za-z0-9_]*)(?:\[[@*]\])?\}|\$[#?]")
_NAMES: Final = re.compile(r"(?<![0-9A-Za-z_#$])\$?([A-Za-z_][A-Za-z0-9_]*)")
_NOT_ARITHMETIC: Final = re.compile(r"[^0-9A-Za-z_#\s()+\-*/%<>=!&|^~?:,]")
_BRACED_NAME: Final = re.compile(r"(?<![0-9A-Za-z_#$])\$\{([A-Za-z_][A-Za-z0-9_]*)\}(?![0-9A-Za-z_#\[])")
_BACKTICK_ESCAPE: Final = re.compile(r"\\([$`\\])")
_VARIABLE: Final = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*!_-])\Z")
_COUNTS: Final = frozenset("#?$")
_KERNEL_NAMES: Final = re.compile(r"dev|proc|[*?\[$`]")
_MAX_VALUES: Final = 1_024
TOO_MANY: Final = "/"
"""Stands for all values beyond those that are followed: the gravest there is."""
_LONE: Final = frozenset({"[", "]", "{", "}", "!"})


class Variable(NamedTuple):
    """What is known about the values of a variable this command itself sets.

    `plain`: without white space and glob characters; `numeric`: digits only; `ordinary`: literal text or globs that
    cannot name a device.
    """

    may_be_flag: bool = True
    plain: bool = False
    numeric: bool = False
    ordinary: bool = False


UNSURE: Final = Variable()


class Reader:
    """Reads words; what reads statements builds on it."""

    def __init__(self, view: str) -> None:
        self.view = view
        self.kinds = g.grammar().kinds
        self.variables: dict[str, Variable] = {}
        self.values: dict[str, list[str]] = {}
        self.doubts: list[str] = []
        self.refusals: list[str] = []
        self.depth = 0

    def substitution(self, node: "Node") -> None:
        """Read the commands inside `$(…)`, backquotes or `<(…)`."""
        raise NotImplementedError

    def reparse(self, text: str) -> None:
        """Read commands from text the grammar did not see as commands."""
        raise NotImplementedError

    def doubt(self, reason: str) -> None:
        """Note that hidden code may run: nothing is allowed without a question."""
        self.doubts.append(reason)

    def refuse(self, reason: str) -> None:
        """Note why the whole command is not read-only although its programs may be."""
        self.refusals.append(reason)

    def note_value(self, name: str, form: str) -> None:
        """Note one value that the text gives to a variable, as written."""
        known = self.values.setdefault(name, [])
        if len(known) <= _MAX_VALUES:
            known.append(form if len(known) < _MAX_VALUES else TOO_MANY)

    def word(self, node: "Node", kind: int) -> Word:
        """Read one word."""
        text = self.view[node.start_byte : node.end_byte]
        if kind == g.WORD:
            word = plain_word(text)
            if word is not None:
                return word
            if text in _LONE:
                return literal(text)
            found = _PLAIN_GLOB.match(text)
            if found is not None:
                prefix = found.group(1)
                flag, shallow = not prefix or prefix[0] == "-", text.rfind("/") < len(prefix)
                return Word(prefix, static=False, may_be_flag=flag, glob=True, shallow=shallow)
        elif kind == g.RAW or (kind == g.STRING and not _LIVE.search(text)):
            return literal(utf8(text[1:-1]))
        elif kind == g.CONCAT and CERTAIN.fullmatch(text):
            return literal(utf8(unquoted(text)))
        elif kind == g.OPERATOR_WORD:
            return literal(text)
        building = Building()
        if kind == g.STRING and _ONE_VARIABLE.match(text):
            building.single = True
            self._variable(building, text[2:-1], in_quotes=True)
        else:
            self._piece(building, node, kind, first=True)
        return building.word()

    def _piece(self, building: Building, node: "Node", kind: int, *, first: bool) -> None:
        text = self.view[node.start_byte : node.end_byte]
        if kind == g.WORD:
            self._bare(building, text, first=first)
        elif kind == g.RAW:
            building.add(text[1:-1])
        elif kind == g.STRING:
            self._string(building, node)
        elif kind == g.ANSI:
            self._ansi(building, text)
        elif kind == g.CONCAT:
            self._concatenation(building, node)
        elif kind == g.DOLLAR:
            building.add("$")
            if text != "$":  # the grammar takes the option in `-o$` into it
                self.doubt("words the parser and the shell cut differently")
        elif kind == g.BRACE:
            building.glob = True
            building.dynamic()
        else:
            self._expansion(building, node, kind, start=node.start_byte, in_quotes=False)

    def _bare(self, building: Building, text: str, *, first: bool) -> None:
        if first and text.startswith("~"):
            text = self._tilde(building, text)
        if "=~" in text or ":~" in text:  # bash expands a tilde there in words that look like assignments
            building.add(text.partition("~")[0])
            building.dynamic()
        bare = Bare(text)
        if bare.missed:
            self.doubt("an expansion the parser cannot see")
        if bare.text:
            building.add(bare.text)
        if bare.glob or ("{" in text and len(text) > 1):
            building.glob = True
            building.dynamic()

    def _tilde(self, building: Building, text: str) -> str:
        name, slash, rest = text[1:].partition("/")
        directory = home()
        if name or directory is None:
            building.dynamic(may_be_flag=False)
            return rest
        building.add(directory.rstrip("/"))
        return slash + rest

    def _ansi(self, building: Building, text: str) -> None:
        decoded = ansi_c(text[2:-1])
        if decoded is None:
            self.doubt("an escape inside $'…' that is not certain")
            building.dynamic()
        else:
            building.add(decoded)

    def _concatenation(self, building: Building, node: "Node") -> None:
        position, first = node.start_byte, True
        for child in node.children:
            kind, end = self.kinds[child.kind_id], child.end_byte
            if child.start_byte != position or not 0 < kind < g.LAST_WORD:
                self.doubt("a word the parser cannot join")
            if kind == g.WORD and self.view[position:end] == "{" and self._opens_brace(end, node.end_byte):
                building.glob = True
                building.dynamic()
            if not (kind == g.DOLLAR and self.view.startswith('"', end)):  # bash drops the `$` of `$"text"`
                self._piece(building, child, kind, first=first)
            position, first = end, False
        if position != node.end_byte:
            self.doubt("a word the parser cannot join")

    def _opens_brace(self, start: int, end: int) -> bool:
        rest = self.view[start:end]
        if rest.startswith("}") or not ("," in rest or ".." in rest):
            return False
        plain = rest.translate(QUOTES)
        if (plain.startswith("/") or ",/" in plain or "../" in plain) and _KERNEL_NAMES.search(plain):
            self.refuse("an alternative in braces may be a device or a process environment")
        return True

    def _string(self, building: Building, node: "Node") -> None:
        position = node.start_byte + 1
        for child in node.children:
            kind = self.kinds[child.kind_id]
            if g.SIMPLE_EXPANSION <= kind <= g.ARITHMETIC:
                start = child.start_byte
                while self.view[start] in " \t\n":  # inside quotes the grammar lets blanks lead the expansion
                    start += 1
                self._quoted(building, position, start)
                self._expansion(building, child, kind, start=start, in_quotes=True)
                position = child.end_byte
        self._quoted(building, position, node.end_byte - 1)

    def _quoted(self, building: Building, start: int, end: int) -> None:
        if end > start:
            text, missed = quoted(self.view[start:end])
            if missed:
                self.doubt("an expansion the parser cannot see")
            building.add(text)

    def _expansion(self, building: Building, node: "Node", kind: int, *, start: int, in_quotes: bool) -> None:
        if kind == g.SIMPLE_EXPANSION:
            self._variable(building, self.view[start + 1 : node.end_byte], in_quotes=in_quotes)
        elif kind == g.EXPANSION:
            self._braced(building, node, self.view[start : node.end_byte], in_quotes=in_quotes)
        elif kind == g.COMMAND_SUBSTITUTION:
            if not self.view.startswith(("$(", "`"), start):
                self.doubt("a substitution the parser and the shell read differently")
            self._backquotes(node)
            self.substitution(node)
            self._printed(building, self.view[start : node.end_byte], node.end_byte, in_quotes=in_quotes)
        elif kind == g.PROCESS_SUBSTITUTION:
            self.substitution(node)
            building.add("/dev/fd/")
            building.dynamic(may_be_flag=False)
        elif kind == g.ARITHMETIC:
            self.arithmetic(node)
            building.dynamic()
        else:
            self.doubt(f"syntax this analysis does not know ({node.type})")
            building.split = True
            building.dynamic()
            self._descend(node)

    def _printed(self, building: Building, text: str, end: int, *, in_quotes: bool) -> None:
        hashes = gives_hashes(text, self.view, end)
        building.split = building.split or not (in_quotes or hashes)
        building.glob = building.glob or (hashes and not in_quotes)  # perhaps several words
        building.dynamic(may_be_flag=not hashes)

    def _backquotes(self, node: "Node") -> None:
        text = self.view[node.start_byte : node.end_byte].lstrip(" \t\n")
        if text.startswith("`") and "`" in text[1:-1]:  # for bash it ended there, also within quotes
            self.doubt("a substitution the parser and the shell read differently")
        if text.startswith("`") and "\\" in text:
            self.doubt("escapes inside backquotes")
            self.reparse(_BACKTICK_ESCAPE.sub(r"\1", text[1:-1]))

    def _variable(self, building: Building, name: str, *, in_quotes: bool) -> None:
        known = self.variables.get(name)
        if name in _COUNTS:
            building.dynamic(may_be_flag=False)
            return
        if known is None and _VARIABLE.match(name) is None:  # the grammar joins `$` and a name on the next line
            self.doubt("an expansion the parser and the shell read differently")
        self._note_secret(building, name)
        if known is None:
            building.split = building.split or not in_quotes or name == "@"
            building.dynamic()
        else:
            building.split = building.split or not (in_quotes or known.plain)
            building.dynamic(may_be_flag=known.may_be_flag)

    def _note_secret(self, building: Building, name: str) -> None:
        if (name not in self.variables or name.isupper()) and is_secret(name):
            building.secret = True
            self.refuse(f"it expands ${name}, whose name says it is a secret")

    def no_secret_in(self, text: str, building: Building | None = None) -> None:
        """Refuse a variable with the name of a secret in text that is expanded but not read as a word."""
        for name in _OPERAND_NAMES.findall(text):
            self._note_secret(building or Building(), name)

    def _braced(self, building: Building, node: "Node", text: str, *, in_quotes: bool) -> None:
        found = SAFE_EXPANSION.fullmatch(text)
        if found is None or not self.safe_index(found["index"]):
            self.doubt(f"the expansion {utf8(text)[:60]!r} may run code or set a variable")
            building.split = building.split or not in_quotes
            building.dynamic()
            self._descend(node)
            return
        counted, name = found["counted"], found["name"]
        self.no_secret_in(text, building)
        if found["strict"] is not None:
            self.refuse(f"the expansion {utf8(text)[:60]!r} may end the shell")
        if counted is not None:
            self._note_secret(building, counted)
            building.dynamic(may_be_flag=False)
        elif text == f"${{{name}}}":
            self._variable(building, name, in_quotes=in_quotes)
        else:
            self._note_secret(building, name)
            building.split = building.split or not in_quotes or found["index"] == "[@]" or name == "@"
            building.dynamic()

    def safe_index(self, index: str | None) -> bool:
        """Whether bash finds nothing to evaluate in the index of an array."""
        if index is None or not (index[1].isalpha() or index[1] in "_$"):
            return True
        known = self.variables.get(index[1:-1].lstrip("$"))
        return known is not None and known.numeric

    def _descend(self, node: "Node") -> None:
        """Find the commands inside syntax that is not trusted, for the deny rules."""
        if self.depth > g.MAX_DEPTH:
            self.substitution(node)  # which gives up this deep
            return
        self.depth += 1
        for child in node.children:
            if self.kinds[child.kind_id] in (g.COMMAND_SUBSTITUTION, g.PROCESS_SUBSTITUTION):
                self._backquotes(child)
                self.substitution(child)
            else:
                self._descend(child)
        self.depth -= 1

    def arithmetic(self, node: "Node") -> None:
        """Check that arithmetic uses number literals and known counters only; bash runs code in anything else."""
        text = self.view[node.start_byte : node.end_byte].lstrip(" \t\n")
        for counted in LENGTH.findall(text):
            self._note_secret(Building(), counted)
        if not self.counts_only(LENGTH.sub("0", text[3:-2] if text.startswith("$((") else text[2:-1])):
            self.doubt(f"arithmetic in {utf8(text)[:40]!r}: bash evaluates names and text in it as code")
            self._descend(node)

    def counts_only(self, text: str) -> bool:
        """Whether arithmetic text holds numbers, operators and known counters only."""
        if "${" in text:
            text = _BRACED_NAME.sub(r" \1 ", text)
        if any(not self._counter(name) for name in _NAMES.findall(text)):
            return False
        return not _NOT_ARITHMETIC.search(_NAMES.sub("0", text))

    def _counter(self, name: str) -> bool:
        known = self.variables.get(name)
        return known is not None and known.numeric
