"""Lists and pipelines: what joins one command to the next, also where the grammar groups them unlike the shell."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell import parse as g
from holdfast.permissions.shell.assignments import AssignmentReader

if TYPE_CHECKING:
    from tree_sitter import Node

    from holdfast.permissions.shell.parts import Cwds

BLANK: Final = " \t\n"


class ListReader(AssignmentReader):
    """Reads commands that are joined by `&&`, `||` and `|`."""

    __slots__ = ()

    def simple(self, node: "Node", start: int, end: int) -> None:
        """Read the simple command between two places."""
        raise NotImplementedError

    def between(self, start: int, end: int) -> None:
        """Doubt text between two nodes that is not white space."""
        if self.view[start:end].strip(BLANK):
            self.doubt("text the parser passed over")

    def listed(self, _node: "Node", piped: bool | None = None) -> None:  # noqa: FBT001 - as the handlers are called
        """Read `a && b` and `a || b`: the right side knows how the left ended.

        With `piped` the grammar has it end a pipeline; this is then the input of what stands behind its first operator.
        """
        cursor, known = self.cursor, len(self.variables)
        cursor.goto_first_child()
        left = cursor.node
        assert left is not None
        position = left.end_byte
        kind = self.kinds[left.kind_id]
        if kind == g.COMMAND:
            self.simple(left, left.start_byte, position)
        elif piped is not None and kind == g.PIPELINE:
            self.pipeline(left, piped)
        else:
            self.visit(left)
        if piped is not None:
            self.piped = piped
        ok, fail, conjunction = self.ok, self.fail, True
        while cursor.goto_next_sibling():
            child = cursor.node
            assert child is not None
            start = child.start_byte
            if start != position and (start != position + 1 or self.view[position] not in BLANK):
                self.between(position, start)
            position = child.end_byte
            kind = self.kinds[child.kind_id]
            if kind == g.TOKEN:
                conjunction = self.view.startswith("&&", start)
            elif kind != g.COMMENT:
                self.cwds = ok if conjunction else fail
                if kind == g.COMMAND:
                    self.simple(child, start, position)
                else:
                    self.visit(child)
                if conjunction:
                    ok, fail = self.ok, fail if fail is self.fail else self.merge(fail, self.fail)
                else:
                    ok, fail = ok if ok is self.ok else self.merge(ok, self.ok), self.fail
        cursor.goto_parent()
        self.forget(known)
        self.ok, self.fail = ok, fail

    def pipeline(self, node: "Node", behind: bool | None = None) -> None:  # noqa: FBT001 - as the handlers are called
        """Read `a | b`: each side runs in its own shell.

        The grammar reads `a | b | c && d` as `a | (b | c && d)`, and `a && b 2>f | c` as `(a && b 2>f) | c`; for the
        shell `d` and `a` are no part of the pipeline. `behind` tells whether `d` has an input.
        """
        cursor, cwds, piped, position = self.cursor, self.cwds, self.piped, node.start_byte
        first, known = behind is None, len(self.variables)
        behind = piped if behind is None else behind
        cursor.goto_first_child()
        while True:
            child = cursor.node
            assert child is not None
            start = child.start_byte
            if start != position and (start != position + 1 or self.view[position] not in BLANK):
                self.between(position, start)
            position = child.end_byte
            kind = self.kinds[child.kind_id]
            if kind == g.COMMAND:
                self.simple(child, start, position)
            elif kind == g.TOKEN:
                self.cwds, self.piped, first = cwds, True, False
            elif kind == g.LIST:
                self.listed(child, behind)
                cwds = self.merge(cwds, self.merge(self.ok, self.fail))
            elif kind != g.COMMENT:
                self.visit(child)
                if kind == g.REDIRECTED:
                    cwds = self.redirected_stage(child, cwds, first=first)
            if not cursor.goto_next_sibling():
                break
        cursor.goto_parent()
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
