"""Walk the syntax tree once: statements, commands and directories. Unknown syntax is doubted, never skipped."""

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.lists import ListReader
from holdfast.permissions.shell.words.quoting import certain_texts, known_literal, literal, plain_words, utf8
from holdfast.permissions.shell.words.word import Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from holdfast.permissions.shell.words.parts import Cwds, Redirect


_VARIABLE_AND_REST: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:[./-][A-Za-z0-9_./-]*)?")
_ENDS_IN_DOLLAR: Final = re.compile(r"[A-Za-z0-9_./-]\$\Z")


class Walker(ListReader):
    """Visits statements and hands every simple command to the emitter."""

    __slots__ = ()
    handlers: ClassVar["tuple[Callable[[Any, Node], None] | None, ...]"] = ()

    def visit(self, node: "Node") -> None:
        """Visit the statement the cursor stands on."""
        if self.depth > g.MAX_DEPTH:
            self.stop("it is nested too deeply to follow")
            return
        handler = self.handlers[self.kinds[node.kind_id]]
        if handler is None:
            self.give_up(f"syntax this analysis does not know ({self.names[node.kind_id] or 'error'})")
            handler = Walker.sequence
        self.depth += 1
        handler(self, node)
        self.depth -= 1

    def sequence(self, node: "Node") -> None:
        """Visit statements one after the other; what lies between them may only be white space."""
        for child, kind in self.children(node):
            if not g.TOKEN <= kind <= g.COMMENT:
                self.statement(child, kind)
                self.cwds = self.ok if self.ok is self.fail else self.merge(self.ok, self.fail)
        self.settle()

    def branches(self, node: "Node") -> None:
        """Visit statements of which only some run: every directory reached so far stays possible."""
        before, known = self.cwds, len(self.variables)
        self.each(node)
        self.cwds = self.merge(before, self.cwds)
        self.forget(known)
        self.settle()

    def each(self, node: "Node") -> None:
        """Visit every child, adding up the directories."""
        reached = self.cwds
        for child, kind in self.children(node):
            if not g.TOKEN <= kind <= g.COMMENT:
                self.cwds = reached
                self.visit(child)
                reached = self.merge(reached, self.merge(self.ok, self.fail))
        self.cwds = reached

    def subshell(self, node: "Node") -> None:
        """Read `( … )`: what it changes ends with it."""
        cwds, known = self.cwds, len(self.variables)
        self.sequence(node)
        self.cwds = cwds
        self.forget(known)
        self.settle()

    def substitution(self, node: "Node") -> None:
        """Read the commands inside `$(…)`, backquotes or `<(…)`."""
        if self.depth > g.MAX_DEPTH:
            self.stop("it is nested too deeply to follow")
            return
        cwds, ok, fail, piped, known = self.cwds, self.ok, self.fail, self.piped, len(self.variables)
        self.depth += 1
        self.inside += 1
        for child, kind in self.children(node):
            if child.is_named and kind != g.COMMENT:
                self.visit(child)
                self.cwds = self.merge(self.ok, self.fail)
        self.depth -= 1
        self.inside -= 1
        self.cwds, self.ok, self.fail, self.piped = cwds, ok, fail, piped
        self.forget(known)

    def negated(self, node: "Node") -> None:
        """Read `! command`."""
        self.each_of_one(node)
        self.inverted = True
        self.ok, self.fail = self.fail, self.ok

    def each_of_one(self, node: "Node") -> None:
        """Visit the only statement of a node."""
        for child, kind in self.children(node):
            if not g.TOKEN <= kind <= g.COMMENT:
                self.visit(child)

    def command(self, node: "Node") -> None:
        """Read a simple command."""
        self.simple(node, node.start_byte, node.end_byte)

    def simple(self, node: "Node", start: int, end: int) -> None:
        """Read the simple command between two places."""
        source = self.view[start:end]
        texts = certain_texts(source)
        if texts and "=" not in texts[0]:
            self.ok = self.fail = self.cwds
            self.start_plain(texts, source)
        else:
            self.command_with(node, *self.read_words(node))

    def read_words(self, node: "Node") -> "tuple[list[Word], list[str], list[str], list[Redirect]]":
        """Read a command's children one by one."""
        words: list[Word] = []
        texts: list[str] = []
        assigns: list[str] = []
        redirects: list[Redirect] = []
        cursor, kinds, view, position = self.cursor, self.kinds, self.view, node.start_byte
        named = False
        cursor.goto_first_child()
        while True:
            child = cursor.node
            assert child is not None
            kind, start, end = kinds[child.kind_id], child.start_byte, child.end_byte
            if start != position and (start != position + 1 or view[position] != " "):
                self.gap(view[position:start], words, texts)
            if kind == g.COMMAND_NAME:
                named = cursor.goto_first_child()
                child = cursor.node
                assert child is not None
                kind = kinds[child.kind_id]
            known = plain_words.get(view[start:end]) if kind == g.WORD else None
            if known is not None and (start != position or not (words or assigns)):
                words.append(known)
                texts.append(known.text)
            elif 0 < kind < g.LAST_WORD:
                if start != position or not (words or assigns):
                    self.take(child, kind, words, texts)
                elif not self.goes_on(view[start:end], words, texts):
                    self.adjoining(kind, words, texts)
                    self.take(child, kind, words, texts)
            else:
                self.other(child, kind, words, texts, assigns, redirects)
            position = end
            if named:
                named = False
                cursor.goto_parent()
            if not cursor.goto_next_sibling():
                break
        cursor.goto_parent()
        return words, texts, assigns, redirects

    def goes_on(self, text: str, words: list[Word], texts: list[str]) -> bool:
        """Read the rest of a word such as `$a/$b.txt`, which the grammar cuts in front of its second variable."""
        found = _VARIABLE_AND_REST.fullmatch(text)
        if found is None or not words or words[-1].static or not _ENDS_IN_DOLLAR.search(texts[-1]):
            return False
        self.no_secret_in(f"${text}")
        known = self.variables.get(found[1])
        splits = known is None or not known.plain
        words[-1] = words[-1]._replace(may_be_flag=words[-1].may_be_flag or splits, single=False, shallow=False)
        texts[-1] += text
        return True

    def adjoining(self, kind: int, words: list[Word], texts: list[str]) -> None:
        """Judge two nodes without anything between them: `$"text"` is one word, the rest bash reads differently."""
        if kind == g.STRING and texts and texts[-1] == "$":
            words.pop()
            texts.pop()
        else:
            self.doubt("words the parser and the shell cut differently")

    def gap(self, between: str, words: list[Word], texts: list[str]) -> None:
        """Judge the text between two children of a command."""
        rest = between.strip(" \t")
        if not rest:
            return
        if rest == "-" and texts:  # the grammar drops a lone `-` in front of a heredoc
            words.append(literal("-"))
            texts.append("-")
            return
        self.doubt("text the parser passed over")

    def other(
        self,
        node: "Node",
        kind: int,
        words: list[Word],
        texts: list[str],
        assigns: list[str],
        redirects: "list[Redirect]",
    ) -> None:
        """Read what stands among the words of a command."""
        if kind == g.ASSIGNMENT:
            assigns.append(self.assignment(node))
        elif kind == g.FILE_REDIRECT:
            self.file_redirect(node, redirects, words, texts)
        elif kind == g.HERESTRING:
            redirects.append(self.herestring(node))
        else:
            self.give_up("syntax this analysis does not know")
            self.visit_or_descend(node, kind)

    def visit_or_descend(self, node: "Node", kind: int) -> None:
        """Find the commands in a node that stands where it should not."""
        if kind > g.LAST_WORD and self.handlers[kind] is not None:
            self.visit(node)
        else:
            self._descend(node)

    def redirected(self, node: "Node") -> None:
        """Read a statement with redirects behind it; stray words behind a redirect belong to the command."""
        cursor = self.cursor
        piped, self.piped = self.piped, self.piped or "<" in self.view[node.start_byte : node.end_byte]
        cursor.goto_first_child()
        body = cursor.node
        assert body is not None
        kind = self.kinds[body.kind_id]
        words: list[Word] = []
        texts: list[str] = []
        assigns: list[str] = []
        redirects: list[Redirect] = []
        after: tuple[Cwds, Cwds] | None = None
        more = True
        plain: list[str] | None = None
        if kind == g.COMMAND:
            plain = certain_texts(self.view[body.start_byte : body.end_byte])
            if plain and "=" not in plain[0]:
                texts = plain
            else:
                plain = None
                words, texts, assigns, redirects = self.read_words(body)
            more = cursor.goto_next_sibling()
        elif kind not in (g.FILE_REDIRECT, g.HEREDOC, g.HERESTRING):
            self.visit(body)
            after = self.ok, self.fail
            more = cursor.goto_next_sibling()
        if more:
            self.redirects(body.end_byte if after or texts else node.start_byte, redirects, words, texts)
        cursor.goto_parent()
        if plain is not None:
            self.plain_redirected(node, texts, words, redirects)
        elif kind == g.COMMAND:
            self.command_with(node, words, texts, assigns, redirects)
        else:
            if words:
                self.doubt("words behind a redirect of a group")
            self.bare_redirects(utf8(self.view[node.start_byte : node.end_byte]), redirects)
            self.ok, self.fail = after if after and self.cwds is not None else (self.cwds, self.cwds)
        self.piped = piped

    def plain_redirected(self, node: "Node", texts: list[str], words: list[Word], redirects: "list[Redirect]") -> None:
        """Judge a command of certain words with redirects, and perhaps further words, behind it."""
        if words:
            known = list(map(known_literal, texts[: len(texts) - len(words)]))
            self.command_with(node, known + words, texts, [], redirects)
        else:
            self.settle()
            self.start_plain(texts, utf8(self.view[node.start_byte : node.end_byte]), tuple(redirects))

    def redirects(self, position: int, redirects: "list[Redirect]", words: list[Word], texts: list[str]) -> None:
        """Read sibling redirects from the cursor on."""
        cursor = self.cursor
        while True:
            child = cursor.node
            assert child is not None
            kind = self.kinds[child.kind_id]
            if child.start_byte > position:
                self.gap(self.view[position : child.start_byte], words, texts)
            position = child.end_byte
            if kind == g.FILE_REDIRECT:
                self.file_redirect(child, redirects, words, texts)
            elif kind == g.HEREDOC:
                self.heredoc(child, redirects, words, texts)
            elif kind == g.HERESTRING:
                redirects.append(self.herestring(child))
            elif kind == g.COMMENT:
                self.separate(child.start_byte, position, "#")
            else:
                self.give_up("text the parser passed over")
                self.visit_or_descend(child, kind)
            if not cursor.goto_next_sibling():
                break
