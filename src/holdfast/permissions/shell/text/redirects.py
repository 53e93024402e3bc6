"""Redirects, here-documents and here-strings; and how the children of a node are gone through."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.emit import Emitter
from holdfast.permissions.shell.text.surroundings import START
from holdfast.permissions.shell.text.word_reader import SAFE_EXPANSION
from holdfast.permissions.shell.words.parts import Redirect
from holdfast.permissions.shell.words.quoting import literal, utf8
from holdfast.permissions.shell.words.word import Word

if TYPE_CHECKING:
    from tree_sitter import Node


BLANK: Final = " \t\n"
SAME_LINE: Final = " \t"
_SEPARATES: Final = " \t\n;&|()<>`"
_PUNCTUATION: Final = " \t\n;&|()"  # a blank: where `tree_of` puts the end of a command
_OPENS: Final = "![{"
_HEREDOC_PIECES: Final = frozenset({"heredoc_start", "heredoc_body", "heredoc_end", "<<", "<<-"})
MISCUT: Final = "words the parser and the shell cut differently"
_AFTER_DELIMITER: Final = frozenset(" \t\n;&|<>)")
_WRITES: Final = frozenset({">", ">>", "&>", "&>>", ">|", "<>"})
_BARE_DELIMITER: Final = re.compile(r"[A-Za-z0-9_.+:@%-]+\Z")
_QUOTED_DELIMITER: Final = re.compile(r"'([^'\n]+)'\Z|\"([^\"\n$`\\]+)\"\Z|\\([A-Za-z0-9_]+)\Z")
_BRACED: Final = re.compile(r"\$\{[^}]*\}?")
_ESCAPED: Final = re.compile(r"\\[\\$`]")
_NEAR: Final = 24
_LOOSE_NUMBER: Final = re.compile(r"(?:\A|[\s;&|(){}])[0-9]+\Z")
_PLAIN_DUPLICATE: Final = re.compile(r"[0-9]*[<>]& *(?:[0-9]*-?|[A-Za-z0-9_./-]+)\Z")
_BACKQUOTED: Final = re.compile(r"`([^`]*)`")
_SUM: Final = re.compile(r"\$\(\([0-9 +*/%-]+\)\)")
_ON_ONE_LINE: Final = re.compile(rf"\$\(((?:[^()`\\\n#$]|\$(?!\()|{_SUM.pattern})*)\)")
"""A substitution that can only end where it seems to: a quoted bracket would leave its quote open. It may hold sums."""

USUAL_REDIRECTS: Final = {
    "2>&1": Redirect(">&", literal("1"), "dup", "2>&1"),
    "2>/dev/null": Redirect(">", literal("/dev/null"), "write", "2>/dev/null"),
    "2> /dev/null": Redirect(">", literal("/dev/null"), "write", "2> /dev/null"),
}
"""Redirects that nearly every command has, with a number in front, so that no other reading is possible."""


class RedirectReader(Emitter):
    """Reads what stands behind redirect operators."""

    def visit(self, node: "Node") -> None:
        """Visit a statement."""
        raise NotImplementedError

    def between(self, start: int, end: int, blank: str = BLANK) -> None:
        """Doubt text between two nodes that is not white space."""
        if self.view[start:end].strip(blank):
            self.doubt("text the parser passed over")

    def children(self, node: "Node", blank: str = BLANK) -> "Iterator[tuple[Node, int]]":
        """Go through the children of a node, with their kinds; only blanks may lie between."""
        kinds, view, position, children = self.kinds, self.view, node.start_byte, node.children
        for child in children:
            start = child.start_byte
            if start != position and (start != position + 1 or view[position] not in blank):
                self.between(position, start, blank)
            position = child.end_byte
            kind = kinds[child.kind_id]
            if g.TOKEN <= kind <= g.COMMENT:
                self.separate(start, position, child.type)
            yield child, kind
        if children and position != node.end_byte:
            self.between(position, node.end_byte, blank)

    def separate(self, start: int, end: int, name: str) -> None:
        """Doubt a keyword, a bracket or a comment that is glued to its neighbour: for bash both are one word."""
        view = self.view
        first = view[start : start + 1]
        if first in _PUNCTUATION:
            return
        before, after = view[start - 1] if start else " ", view[end] if end < len(view) else " "
        ends = first == "#" or after in (BLANK if first in _OPENS else _SEPARATES)
        escaped = start > 1 and view[start - 2] == "\\"
        if not ends or escaped or before not in _SEPARATES or not (first == "#" or view.startswith(name, start)):
            self.give_up(MISCUT)

    def file_redirect(self, node: "Node", redirects: list[Redirect], words: "list[Word]", texts: list[str]) -> None:
        """Read `> file` and its kin; words behind the target belong to the command."""
        self.no_variable_before(node)
        text = self.view[node.start_byte : node.end_byte]
        if text in USUAL_REDIRECTS:
            redirects.append(self.usual_redirect(text))
        else:
            self.read_redirect(node, redirects, words, texts)

    def usual_redirect(self, text: str) -> Redirect:
        """Note a redirect that nearly every command has."""
        found = USUAL_REDIRECTS[text]
        redirect = found if self.cwds is START else found._replace(cwds=self.cwds)
        self.redirections.append(redirect)
        return redirect

    def no_variable_before(self, node: "Node") -> None:
        """Doubt `{name}<file`: the shell puts a number into that variable, which may be PATH."""
        if node.start_byte and self.view[node.start_byte - 1] == "}":
            self.doubt("a redirect with a variable for its number")

    def read_redirect(self, node: "Node", redirects: list[Redirect], words: "list[Word]", texts: list[str]) -> None:
        """Read a redirect's children one by one."""
        operator, target, end, fd, commands = "", None, node.end_byte, "", False
        for child, kind in self.children(node, SAME_LINE):
            if 0 < kind < g.LAST_WORD:
                if target is None:
                    target, end = self.word(child, kind), child.end_byte
                    commands = kind == g.PROCESS_SUBSTITUTION and self.view.startswith("<(", child.start_byte)
                else:
                    self.take(child, kind, words, texts)
            elif child.type == "file_descriptor":
                fd = self.view[child.start_byte : child.end_byte]
                if not fd.isdecimal():  # the grammar takes the option in `-oy2>/dev/null` into the number
                    self.give_up(MISCUT)
            elif child.child_count or child.is_named:
                self.give_up("a redirect this analysis does not know")
                self._descend(child)
            else:
                operator = self.view[child.start_byte : child.end_byte]
        text = self.view[node.start_byte : end]
        if operator in ("<", ">") and "<>" in self.view[max(0, node.start_byte - 1) : node.start_byte + len(fd) + 2]:
            operator = "<>"  # the grammar knows no such sign, and takes one half of it for an error
        kind = "commands" if commands and operator == "<" else _kind(operator, target)
        redirect = Redirect(operator, target, kind, text, self.cwds)
        self.check_operator(node, operator, text, fd)
        redirects.append(redirect)
        self.redirections.append(redirect)

    def check_operator(self, node: "Node", operator: str, text: str, fd: str) -> None:
        """Doubt redirects that the grammar and the shell may cut differently."""
        before = (
            self.view[: node.start_byte]
            if node.start_byte < _NEAR
            else self.view[node.start_byte - _NEAR : node.start_byte]
        )
        if fd.startswith("{") or (not fd and _LOOSE_NUMBER.search(before)):
            self.doubt("a redirect whose number is not certain")
        if operator in (">&", "<&") and not _PLAIN_DUPLICATE.match(text):
            self.doubt("a redirect to something that is neither a number nor a plain name")

    def lone_redirect(self, node: "Node") -> None:
        """Read a redirect without a command, as in `$(< file)`."""
        redirects: list[Redirect] = []
        words: list[Word] = []
        self.file_redirect(node, redirects, words, [])
        if words:
            self.doubt("words behind a redirect without a command")
        self.bare_redirects(utf8(self.view[node.start_byte : node.end_byte]), redirects)
        self.settle()

    def take(self, node: "Node", kind: int, words: "list[Word]", texts: list[str]) -> None:
        """Read one word and the form rules see."""
        word = self.word(node, kind)
        words.append(word)
        start = node.start_byte
        if word.static and not self.view.startswith("~", start):
            texts.append(word.text)
        else:
            texts.append(utf8(self.view[start : node.end_byte]))

    def herestring(self, node: "Node") -> Redirect:
        """Read `<<< word`."""
        self.no_variable_before(node)
        target: Word | None = None
        for child, kind in self.children(node, SAME_LINE):
            if 0 < kind < g.LAST_WORD:
                if target is not None:
                    self.doubt("words behind a here-string")
                target = self.word(child, kind)
            elif child.is_named:
                self.doubt("a here-string this analysis does not know")
        if target is not None:
            self.stdin_texts.append(target.text)
        redirect = Redirect("<<<", target, "herestring", self.view[node.start_byte : node.end_byte])
        self.redirections.append(redirect)
        return redirect

    def heredoc(self, node: "Node", redirects: list[Redirect], words: "list[Word]", texts: list[str]) -> None:
        """Read `<<END … END` with the redirects and words behind it; commands on its first line are further steps."""
        self.no_variable_before(node)
        found: dict[str, str] = {}
        ended = node.start_byte
        for child in node.children:
            name, kind = child.type, self.kinds[child.kind_id]
            if self.view[ended : child.start_byte].strip(BLANK) and name != "heredoc_body":
                self.doubt("text the parser passed over")
            ended = child.end_byte
            if name in _HEREDOC_PIECES:
                found[name] = self.heredoc_piece(child, name)
            elif kind == g.FILE_REDIRECT:
                self.file_redirect(child, redirects, words, texts)
            elif 0 < kind < g.LAST_WORD:
                self.take(child, kind, words, texts)
        start, body, end = (found.get(name, "") for name in ("heredoc_start", "heredoc_body", "heredoc_end"))
        self.check_heredoc(node, start, body, end.lstrip("\t") if "<<-" in found else end)
        redirect = Redirect("<<", None, "heredoc", f"<<{start}")
        redirects.append(redirect)
        self.redirections.append(redirect)
        self.stdin_texts.append(utf8(body))

    def behind_heredoc(self, node: "Node") -> "Iterator[tuple[Node, int]]":
        """Give the commands, and what joins them, that the grammar makes a part of `<<END`: `cat <<END | grep x`."""
        for child in node.children:
            kind = self.kinds[child.kind_id]
            if not (0 < kind < g.LAST_WORD or kind == g.FILE_REDIRECT or child.type in _HEREDOC_PIECES):
                yield child, kind

    def heredoc_piece(self, node: "Node", name: str) -> str:
        """Give the text of a piece of a here-document; of its end the whole line, since it must stand alone there."""
        view, start, end = self.view, node.start_byte, node.end_byte
        if name == "heredoc_end":
            line = start + 1 if view.startswith("\n", start) else view.rfind("\n", 0, start) + 1
            ended = view.find("\n", end - 1)
            return view[line : ended if ended >= 0 else len(view)]
        if name == "heredoc_start" and view[end : end + 1] not in _AFTER_DELIMITER:
            self.give_up("a here-document whose end is not certain")
        if name[0] == "<" and view[start:end] != name:  # the grammar takes the option in `-delete<<E` into the operator
            self.give_up(MISCUT)
        return view[start:end]

    def check_heredoc(self, node: "Node", start: str, body: str, end: str) -> None:
        """Check that the grammar and the shell agree where the document ends, and what the shell expands in it."""
        found = _QUOTED_DELIMITER.match(start)
        if found is None and not _BARE_DELIMITER.match(start):
            self.doubt("a here-document whose end is not certain")
            return
        delimiter = next(filter(None, found.groups())) if found else start
        lines = [line.lstrip("\t") for line in body.split("\n")]
        if end != delimiter or delimiter in lines:
            self.doubt("a here-document whose end is not certain")
        if found is None:
            self.expanded_body(node, body)

    def expanded_body(self, node: "Node", body: str) -> None:
        """Judge a body in which the shell expands."""
        plain = _ESCAPED.sub("", body)
        if "`" in plain or "$(" in plain or "$[" in plain:
            self.body_commands(node, body, plain)
        for text in _BRACED.findall(plain):
            found = SAFE_EXPANSION.fullmatch(text)
            if found is None or not self.safe_index(found["index"]):
                self.doubt("a here-document with an expansion that may run code")
            elif found["strict"] is not None:
                self.refuse("a here-document with an expansion that may end the shell")
        self.no_secret_in(plain.replace("{", "").replace("#", ""))

    def body_commands(self, node: "Node", body: str, plain: str) -> None:
        """Read the commands that run while the document is read."""
        scripts = _ON_ONE_LINE.findall(body)
        # What a command prints makes no sum: bash evaluates it as code.
        rest = _ESCAPED.sub("", _SUM.sub(" ", _ON_ONE_LINE.sub("_", body)))
        if "`" in rest or "$(" in rest or "$[" in rest:
            self.doubt("a here-document that runs commands while it is read")
            for script in _BACKQUOTED.findall(plain):
                self.reparse(utf8(script))
            self._descend(node)
            return
        doubts = len(self.doubts)
        for script in scripts:
            self.reparse(utf8(script))
        if len(self.doubts) > doubts:  # `case x in x)` ends no substitution: let the rules see what the grammar finds
            self._descend(node)


def _kind(operator: str, target: "Word | None") -> str:
    if operator in _WRITES:
        return "write"
    if operator == "<":
        return "read" if target is not None else "unknown"
    if operator in ("<&-", ">&-"):
        return "dup" if target is None else "unknown"
    if operator in (">&", "<&") and target is not None:
        if target.static and target.text.rstrip("-").isdecimal():
            return "dup"
        if target.static and target.text == "-":
            return "dup"
        return "write" if operator == ">&" else "unknown"
    return "unknown"
