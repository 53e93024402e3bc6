"""Walk the syntax tree once: statements, commands and directories. Unknown syntax is doubted, never skipped."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.lists import ListReader, PlainCommand, Step
from holdfast.permissions.shell.words.parts import Redirect
from holdfast.permissions.shell.words.quoting import certain_texts, known_literal, literal, plain_words, utf8
from holdfast.permissions.shell.words.word import Word

if TYPE_CHECKING:
    from tree_sitter import Node


_VARIABLE_AND_REST: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:[./-][A-Za-z0-9_./-]*)?")
_ENDS_IN_DOLLAR: Final = re.compile(r"[A-Za-z0-9_./-]\$\Z")


class Walker(ListReader):
    """Visits statements and hands every simple command to the emitter."""

    handlers: ClassVar["tuple[Callable[[Any, Node], None] | None, ...]"] = ()

    def visit(self, node: "Node") -> None:
        """Visit a statement."""
        if self.depth > g.MAX_DEPTH:
            self.stop("it is nested too deeply to follow")
            return
        handler = self.handlers[self.kinds[node.kind_id]]
        if handler is None:
            self.give_up(f"syntax this analysis does not know ({node.type})")
            handler = Walker.sequence
        self.depth += 1
        handler(self, node)
        self.depth -= 1

    def statement(self, node: "Node", kind: int) -> None:
        """Read a statement, which may be a simple command."""
        if kind == g.COMMAND:
            self.command(node)
        else:
            self.visit(node)

    def sequence(self, node: "Node") -> None:
        """Visit statements one after the other; what lies between them may only be white space."""
        for child, kind in self.children(node):
            if not g.TOKEN <= kind <= g.COMMENT:
                self.statement(child, kind)
                self.cwds = self.ok if self.ok is self.fail else self.merge(self.ok, self.fail)
        self.settle()

    def listed(self, node: "Node") -> None:
        """Read a list, a pipeline, or a statement with redirects behind it."""
        steps: list[Step] = []
        self.add_steps(steps, node, self.kinds[node.kind_id])
        self.joined(steps, self.step)

    def plain_list(self, commands: "list[PlainCommand]") -> None:
        """Read a list of commands of which every word is certain; no tree was made of it."""
        self.joined(commands, self.plain_step)
        self.cwds = self.merge(self.ok, self.fail)
        self.settle()

    def plain_step(self, command: "PlainCommand") -> None:
        """Read one command of certain words, with the usual redirects."""
        self.settle()
        redirects = tuple(map(self.usual_redirect, command.redirects)) if command.redirects else ()
        self.start_plain(command.texts, self.view[command.start : command.end], redirects)

    def step(self, step: "Step") -> None:
        """Read one command of a list, and the redirects behind it."""
        body, behind = step.body, step.behind
        if body is not None and not behind:
            self.statement(body, self.kinds[body.kind_id])
            return
        source = self.view[(body or behind[0]).start_byte : behind[-1].end_byte]
        piped, self.piped = self.piped, self.piped or "<" in source
        if body is not None and self.kinds[body.kind_id] == g.COMMAND:
            self.command(body, behind)
        else:
            self.redirected(body, behind, utf8(source))
        self.piped = piped

    def redirected(self, body: "Node | None", behind: "Sequence[Node]", source: str) -> None:
        """Read a group, or nothing, with redirects behind it."""
        words: list[Word] = []
        redirects: list[Redirect] = []
        position, ok, fail = behind[0].start_byte, self.cwds, self.cwds
        if body is not None:
            self.visit(body)
            position, ok, fail = body.end_byte, self.ok, self.fail
        self.redirects(behind, position, redirects, words, [])
        if words:
            self.doubt("words behind a redirect of a group")
        self.bare_redirects(source, redirects)
        self.ok, self.fail = (self.cwds, self.cwds) if body is None or self.cwds is None else (ok, fail)

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

    def command(self, node: "Node", behind: "Sequence[Node]" = ()) -> None:
        """Read a simple command, and the redirects behind it."""
        end = behind[-1].end_byte if behind else node.end_byte
        texts = certain_texts(self.view[node.start_byte : node.end_byte]) or []
        plain = bool(texts) and "=" not in texts[0]
        words: list[Word] = []
        assigns: list[str] = []
        redirects: list[Redirect] = []
        if not plain:
            words, texts, assigns, redirects = self.read_words(node)
        self.redirects(behind, node.end_byte, redirects, words, texts)
        source = utf8(self.view[node.start_byte : end])
        if plain and not words:
            self.settle()
            self.start_plain(texts, source, tuple(redirects))
            return
        if plain:
            words = [*map(known_literal, texts[: len(texts) - len(words)]), *words]
        self.command_with(source, words, texts, assigns, redirects)

    def read_words(self, node: "Node") -> "tuple[list[Word], list[str], list[str], list[Redirect]]":
        """Read a command's children one by one."""
        words: list[Word] = []
        texts: list[str] = []
        assigns: list[str] = []
        redirects: list[Redirect] = []
        kinds, view, position = self.kinds, self.view, node.start_byte
        for child in node.children:
            kind, start, end = kinds[child.kind_id], child.start_byte, child.end_byte
            if start != position and (start != position + 1 or view[position] != " "):
                self.gap(view[position:start], words, texts)
            if kind == g.COMMAND_NAME:
                child = child.children[0]  # noqa: PLW2901 - the name is its only child
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
            assigns.append(self.assignment(node)[0])
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

    def redirects(
        self, nodes: "Sequence[Node]", position: int, redirects: "list[Redirect]", words: list[Word], texts: list[str]
    ) -> None:
        """Read the redirects behind a command; stray words behind a redirect belong to the command."""
        for node in nodes:
            kind = self.kinds[node.kind_id]
            if node.start_byte > position:
                self.gap(self.view[position : node.start_byte], words, texts)
            position = node.end_byte
            if kind == g.FILE_REDIRECT:
                self.file_redirect(node, redirects, words, texts)
            elif kind == g.HEREDOC:
                self.heredoc(node, redirects, words, texts)
            elif kind == g.HERESTRING:
                redirects.append(self.herestring(node))
            elif kind == g.COMMENT:
                self.separate(node.start_byte, position, "#")
            else:
                self.give_up("text the parser passed over")
                self.visit_or_descend(node, kind)
