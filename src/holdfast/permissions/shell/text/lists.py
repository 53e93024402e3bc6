"""Lists and pipelines: what joins one command to the next, also where the grammar groups them unlike the shell."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.assignments import AssignmentReader

if TYPE_CHECKING:
    from tree_sitter import Node

    from holdfast.permissions.shell.words.parts import Cwds


class ListReader(AssignmentReader):
    """Reads commands that are joined by `&&`, `||` and `|`."""

    __slots__ = ()

    def simple(self, node: "Node", start: int, end: int) -> None:
        """Read the simple command between two places."""
        raise NotImplementedError

    def statement(self, node: "Node", kind: int) -> None:
        """Read the statement the cursor stands on."""
        if kind == g.COMMAND:
            self.simple(node, node.start_byte, node.end_byte)
        else:
            self.visit(node)

    def listed(self, node: "Node", piped: bool | None = None) -> None:  # noqa: FBT001 - as the handlers are called
        """Read `a && b` and `a || b`: the right side knows how the left ended.

        With `piped` the grammar has it end a pipeline; this is then the input of what stands behind its first operator.
        """
        known, left, conjunction = len(self.variables), True, True
        ok, fail = self.cwds, self.cwds
        for child, kind in self.children(node):
            if left:
                self.first_listed(child, kind, piped)
                ok, fail, left = self.ok, self.fail, False
            elif kind == g.TOKEN:
                conjunction = self.view.startswith("&&", child.start_byte)
            elif kind != g.COMMENT:
                self.cwds = ok if conjunction else fail
                self.statement(child, kind)
                if conjunction:
                    ok, fail = self.ok, fail if fail is self.fail else self.merge(fail, self.fail)
                else:
                    ok, fail = ok if ok is self.ok else self.merge(ok, self.ok), self.fail
        self.forget(known)
        self.ok, self.fail = ok, fail

    def first_listed(self, node: "Node", kind: int, piped: bool | None) -> None:  # noqa: FBT001 - as it was handed on
        """Read the left side of a list, which may be a pipeline whose last stage the grammar put here."""
        if piped is not None and kind == g.PIPELINE:
            self.pipeline(node, piped)
        else:
            self.statement(node, kind)
        if piped is not None:
            self.piped = piped

    def pipeline(self, node: "Node", behind: bool | None = None) -> None:  # noqa: FBT001 - as the handlers are called
        """Read `a | b`: each side runs in its own shell.

        The grammar reads `a | b | c && d` as `a | (b | c && d)`, and `a && b 2>f | c` as `(a && b 2>f) | c`; for the
        shell `d` and `a` are no part of the pipeline. `behind` tells whether `d` has an input.
        """
        cwds, piped, kind = self.cwds, self.piped, g.PIPELINE
        first, known = behind is None, len(self.variables)
        behind = piped if behind is None else behind
        for child, kind in self.children(node):
            if kind == g.TOKEN:
                self.cwds, self.piped, first = cwds, True, False
            elif kind == g.LIST:
                self.listed(child, behind)
                cwds = self.merge(cwds, self.merge(self.ok, self.fail))
            elif kind != g.COMMENT:
                self.statement(child, kind)
                if kind == g.REDIRECTED:
                    cwds = self.redirected_stage(child, cwds, first=first)
        self.piped = piped
        self.forget(known)
        if kind != g.LIST:
            self.cwds = cwds
            self.settle()

    def redirected_stage(self, node: "Node", cwds: "Cwds", *, first: bool) -> "Cwds":
        """Give the directories of what stands behind a stage with redirects, which may hold too much for a stage."""
        body = node.child(0)
        several = body is not None and self.kinds[body.kind_id] in (g.LIST, g.PIPELINE, g.NEGATED)
        if several and not first:
            text = self.view[node.start_byte : node.end_byte]
            if "&&" in text or "||" in text:
                self.doubt("a list that the parser and the shell group differently")
        return self.merge(cwds, self.merge(self.ok, self.fail)) if several or self.cwds is None else cwds
