"""Loops, tests, cases, functions and declarations; and the table of which node is read how."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from holdfast.permissions.shell.programs.builtins import COUNT
from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.assignments import LoopValues, safe_variable
from holdfast.permissions.shell.text.redirects import BLANK, SAME_LINE
from holdfast.permissions.shell.text.walk import Walker
from holdfast.permissions.shell.text.word_reader import LENGTH, UNSURE, Variable
from holdfast.permissions.shell.words.parts import Redirect
from holdfast.permissions.shell.words.quoting import literal, utf8
from holdfast.permissions.shell.words.word import Word

if TYPE_CHECKING:
    from tree_sitter import Node


_COUNTER_START: Final = re.compile(r"(?:\A|,)\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*-?[0-9]+\s*(?=,|\Z)")
_MOVES: Final = re.compile(r"(?<!%)\b(?:cd|pushd|popd)\b")  # `%cd` is a date of git
_SHELL_OPERATORS: Final = frozenset({"<", ">", "&&", "||", "(", ")", "|", ";", "&"})
_NUMBER_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_TEST_WORDS: Final = frozenset({"[", "]", "!", "=", "==", "!="})
_EXPRESSION_WORDS: Final = _TEST_WORDS | {"[[", "]]", "(", ")", "&&", "||", "<", ">", "=~"}
_BLANKS: Final = frozenset(BLANK)
_NAME_TESTS: Final = frozenset({"-v", "-R", "-o"})
_HIDDEN: Final = re.compile(r"`|\$[({\[]|[<>]\(")
_PIECE: Final = (
    r"[^\s;&<>'\"\\()\[\]`|]|\\[^()\[\]\n]|'[^'\"()\[\]]*'|\"[^'\"\\()\[\]]*\""
    r"|\[(?:[^'\"\\()\[\]\s;&]|\[:[a-z]+:\])*\]|\|"
)
_WHOLE: Final = re.compile(rf"(?:{_PIECE}|\((?:{_PIECE}|\((?:{_PIECE})*\))*\))*")
"""A pattern that ends where it seems to: every quote and every bracket in it is closed in it."""
_DIGITS: Final = re.compile(r"-?[0-9]+\Z")


class Script(Walker):
    """The whole walker."""

    def moving(self, node: "Node") -> None:
        """Forget the directory before a body that runs many times and may move."""
        if _MOVES.search(self.view, node.start_byte, node.end_byte):
            self.cwds = None

    def repeated(self, node: "Node", visit: "Callable[[Node], None]", name: str = "") -> None:
        """Visit what runs many times: judged by one turn, it may change nothing for the next one, which sets `name`."""
        before, moves, somewhere = self.variables.copy(), len(self.cd_targets), self.cwds is not None
        visit(node)
        self.forget(len(before))
        if somewhere and len(self.cd_targets) != moves:
            self.doubt("a loop goes to another directory, in which its next turn starts")
        for known, variable in before.items():
            if variable != UNSURE and known != name and self.variables.get(known) != variable:
                self.doubt(f"a loop changes the variable {known}, which its next turn uses")

    def loop(self, node: "Node") -> None:
        """Read `for name in words; do … done` (and select)."""
        values = LoopValues()
        name = ""
        for child, kind in self.children(node):
            text = self.view[child.start_byte : child.end_byte]
            if 0 < kind < g.LAST_WORD:
                word = self.word(child, kind)
                values.add(word, text)
                self.note_value(name, word.text if word.static else utf8(text))
                self.no_special_file(word)
            elif kind == g.DO_GROUP:
                self.loop_body(name, values.known(), child)
            elif kind == g.UNKNOWN and child.type == "variable_name":
                name = text
            elif not g.TOKEN <= kind <= g.COMMENT:
                self.doubt("a loop this analysis does not know")
                self.visit(child)
        self.settle()

    def loop_body(self, name: str, known: Variable, body: "Node") -> None:
        """Visit a loop body with what is known about the loop variable."""
        if name == "_":
            known = UNSURE  # each command of the body puts its own last word there
        elif not safe_variable(name):
            self.refuse(f"it sets the variable {name}")
            self.assigned.append(name)
        self.moving(body)
        count = len(self.variables)
        self.variables[name] = known
        self.repeated(body, self.branches_of, name)
        self.variables[name] = UNSURE
        self.forget(count)  # without a single turn it is still what the environment says

    def branches_of(self, body: "Node") -> None:
        """Visit a body that may not run at all."""
        before = self.cwds
        self.visit(body)
        self.cwds = self.merge(before, self.merge(self.ok, self.fail))

    def while_loop(self, node: "Node") -> None:
        """Read `while … do … done` and until."""
        self.moving(node)
        self.repeated(node, self.branches)

    def counting_loop(self, node: "Node") -> None:
        """Read `for ((i = 0; i < n; i++)); do … done`."""
        start, end, seen, counters = 0, 0, False, list[str]()
        for child, kind in self.children(node):
            text = self.view[child.start_byte : child.end_byte]
            if text == "((":
                start = child.end_byte
            elif text == "))":
                end = child.start_byte
                counters = self.counting_header(self.view[start:end])
            elif kind in (g.DO_GROUP, g.COMPOUND):
                seen = True
                self.moving(child)
                self.repeated(child, self.branches_of)
            elif start and not end:
                self._descend(child)
        if not seen or not end:
            self.doubt("a loop this analysis does not know")
        self.variables.update(dict.fromkeys(counters, UNSURE))  # it may not have run, or in a shell of its own
        self.settle()

    def counting_header(self, header: str) -> list[str]:
        """Check the arithmetic of a counting loop and learn its counters."""
        counters: list[str] = list(filter(safe_variable, _COUNTER_START.findall(header.partition(";")[0])))
        known = Variable(may_be_flag=True, plain=True, numeric=True, ordinary=True)
        self.variables.update(dict.fromkeys(counters, known))
        if not self.counts_only(header.replace(";", " ")):
            self.doubt("arithmetic in a loop header that bash evaluates as code")
        return counters

    def compound(self, node: "Node") -> None:
        """Read `{ …; }` or `(( … ))`."""
        if not self.view.startswith("((", node.start_byte):
            if (
                self.view[node.start_byte + 1 : node.start_byte + 2] not in _BLANKS
            ):  # for bash `{ls` is the name of a command
                self.doubt("a group whose brace is part of a word")
            self.sequence(node)
            return
        if not self.counts_only(self.view[node.start_byte + 2 : node.end_byte - 2]):
            self.doubt("arithmetic on names or text: bash evaluates their values as code")
            self._descend(node)
        self.settle()

    def function(self, node: "Node") -> None:
        """Read a function definition: its body counts as run, and names may now mean something else."""
        self.refuse("it defines a function")
        self.defined.add("")
        self.cwds = None
        for child, kind in self.children(node):
            if kind == g.FILE_REDIRECT:
                self.lone_redirect(child)
            elif kind == g.WORD:
                self.defined.add(self.view[child.start_byte : child.end_byte])
            elif kind not in (g.TOKEN, g.COMMENT):
                self.visit(child)
        self.settle()

    def case_item(self, node: "Node") -> None:
        """Read one branch of a case statement; its pattern is text, its body statements."""
        pattern = True
        for child, kind in self.children(node):
            if pattern and self.view[child.start_byte : child.end_byte] == ")":
                pattern = False
            elif pattern:
                self.pattern(child, kind)
            elif self.view.startswith(";", child.start_byte):
                pass
            elif not g.TOKEN <= kind <= g.COMMENT:
                self.visit(child)
                self.cwds = self.merge(self.ok, self.fail)
        self.settle()

    def pattern(self, node: "Node", kind: int) -> None:
        """Read a pattern: literal text, globs and plain expansions."""
        text = self.view[node.start_byte : node.end_byte]
        if 0 < kind < g.LAST_WORD:
            self.word(node, kind)
        elif kind != g.TOKEN:
            if _HIDDEN.search(text) or not _WHOLE.fullmatch(text):
                self.doubt("a pattern with an expansion the parser cannot see")
                self._descend(node)
            self.no_secret_in(text)

    def case(self, node: "Node") -> None:
        """Read a case statement: every branch may run."""
        known = len(self.variables)
        before = reached = self.cwds
        falls = ";&" in self.view[node.start_byte : node.end_byte]  # a branch may run after another one
        for child, kind in self.children(node):
            if kind == g.CASE_ITEM:
                self.cwds = reached if falls else before
                self.visit(child)
                reached = self.merge(reached, self.ok)
            elif 0 < kind < g.LAST_WORD:
                self.word(child, kind)
            elif kind not in (g.TOKEN, g.COMMENT):
                self.doubt("a case statement this analysis does not know")
                self.visit(child)
        self.cwds = reached if before == reached else None
        self.forget(known)
        self.settle()

    def declaration(self, node: "Node") -> None:
        """Read declare, export, local, readonly, typeset and unset as the commands they are."""
        words: list[Word] = []
        texts: list[str] = []
        redirects: list[Redirect] = []
        for child, kind in self.children(node, SAME_LINE):
            text = self.view[child.start_byte : child.end_byte]
            if kind == g.ASSIGNMENT:
                name, _ = self.assignment(child)
                self.variables[name] = UNSURE
                self.assigned.append(name)
                words.append(Word(name + "=", static=False, may_be_flag=False))
                texts.append(utf8(text))
            elif 0 < kind < g.LAST_WORD:
                self.take(child, kind, words, texts)
            elif kind == g.TOKEN or child.type == "variable_name":
                if text in self.variables:
                    self.assigned.append(text)  # what the text set for its own use may now be for others
                words.append(literal(text))
                texts.append(text)
            else:
                self.other(child, kind, words, texts, [], redirects)
        self.command_with(utf8(self.view[node.start_byte : node.end_byte]), words, texts, [], redirects)

    def test(self, node: "Node") -> None:
        """Read `[ … ]` as a command and `[[ … ]]` as an expression."""
        words: list[Word] = []
        texts: list[str] = []
        if self.view.startswith("[[", node.start_byte):
            self.expression(node)
            self.settle()
            return
        self.bracket_words(node, words, texts)
        self.command_with(utf8(self.view[node.start_byte : node.end_byte]), words, texts, [], [])

    def bracket_words(self, node: "Node", words: list[Word], texts: list[str]) -> None:
        """Collect the words of `[ … ]` in order; an unquoted operator of the shell is not what the grammar thinks."""
        for child, kind in self.children(node, SAME_LINE):
            text = self.view[child.start_byte : child.end_byte]
            if text in _SHELL_OPERATORS:
                self.doubt(f"{text} inside [ ] is not a comparison for the shell")
            elif 0 < kind < g.LAST_WORD:
                self.take(child, kind, words, texts)
            elif kind == g.UNKNOWN and child.type.endswith("_expression"):
                self.bracket_words(child, words, texts)
            else:
                if text not in _TEST_WORDS and child.type != "test_operator":
                    self.give_up("syntax inside [ ] this analysis does not know")
                    self.visit_or_descend(child, kind)
                words.append(literal(text))
                texts.append(text)

    def expression(self, node: "Node") -> list[tuple[Word, str]]:
        """Read the inside of `[[ … ]]`; operands that bash evaluates as code are doubted, all are returned."""
        tests: list[str] = []
        operands: list[tuple[Word, str]] = []
        for child, kind in self.children(node):
            text = self.view[child.start_byte : child.end_byte]
            if 0 < kind < g.LAST_WORD and kind != g.OPERATOR_WORD:
                operands.append((self.word(child, kind), text))
            elif kind == g.UNKNOWN and child.type.endswith("_expression"):
                operands += self.expression(child)  # `! a -gt b` nests the `! a`, which bash reads the other way
            elif kind == g.UNKNOWN and child.type in ("regex", "extglob_pattern"):
                self.pattern(child, kind)
            else:
                if text not in _EXPRESSION_WORDS and child.type != "test_operator":
                    self.give_up("syntax inside [[ ]] this analysis does not know")
                    self.visit_or_descend(child, kind)
                if text in ("<", ">") and self.view.startswith("(", child.end_byte):
                    self.give_up("a process substitution that the parser takes for a comparison")
                tests.append(text)
        self.check_operands(tests, operands)
        return operands

    def check_operands(self, tests: list[str], operands: list[tuple[Word, str]]) -> None:
        """Doubt operands of `[[` that bash evaluates."""
        if not _NAME_TESTS.isdisjoint(tests):
            self.doubt("[[ tests a variable by name: bash evaluates the name as code")
        if not _NUMBER_TESTS.isdisjoint(tests):
            for word, text in operands:
                name = text.strip('"').lstrip("$").strip("{}")
                count = (
                    COUNT.match(text.strip('"'))
                    or LENGTH.fullmatch(text.strip('"'))
                    or name in ("#", "?")
                    or self.counts_only(f"${name}")
                )
                if not (count or (word.static and _DIGITS.match(word.text))):
                    self.doubt("[[ compares as numbers: bash evaluates the text as code")


_HANDLERS: Final["dict[int, Callable[[Any, Node], None]]"] = {
    g.PROGRAM: Walker.sequence,
    g.DO_GROUP: Walker.sequence,
    g.COMPOUND: Script.compound,
    g.COMMAND: Walker.command,
    g.LIST: Walker.listed,
    g.PIPELINE: Walker.listed,
    g.SUBSHELL: Walker.subshell,
    g.REDIRECTED: Walker.listed,
    g.NEGATED: Walker.negated,
    g.FOR: Script.loop,
    g.C_FOR: Script.counting_loop,
    g.WHILE: Script.while_loop,
    g.IF: Walker.branches,
    g.ELIF: Walker.branches,
    g.ELSE: Walker.branches,
    g.CASE: Script.case,
    g.CASE_ITEM: Script.case_item,
    g.FUNCTION: Script.function,
    g.TEST: Script.test,
    g.DECLARATION: Script.declaration,
    g.UNSET: Script.declaration,
    g.ASSIGNMENT: Walker.bare_assignment,
    g.ASSIGNMENTS: Walker.each_of_one,
    g.FILE_REDIRECT: Walker.lone_redirect,
}
Script.handlers = tuple(_HANDLERS.get(kind) for kind in range(g.SUBSCRIPT + 1))
