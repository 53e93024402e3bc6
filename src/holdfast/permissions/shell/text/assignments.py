"""Assignments: what they expand, and what they put into variables."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.wrapper_shapes import known_zone
from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.redirects import RedirectReader
from holdfast.permissions.shell.text.word_reader import UNSURE
from holdfast.permissions.shell.words.quoting import utf8
from holdfast.permissions.shell.words.values import PERHAPS_EMPTY

if TYPE_CHECKING:
    from tree_sitter import Node

_NO_BLANK: Final = ""
_CERTAIN_DEPTH: Final = 2  # a statement of the text itself, in no list, branch or loop


class AssignmentReader(RedirectReader):
    """Reads `name=value`."""

    __slots__ = ()

    def assignment(self, node: "Node") -> str:
        """Read `name=value`; what the value expands is seen, the name is returned."""
        name, before = "", [""]
        for child, kind in self.children(node, _NO_BLANK):
            label = self.names[child.kind_id]
            if label == "variable_name":
                name = self.view[child.start_byte : child.end_byte]
            elif 0 < kind < g.LAST_WORD:
                word = self.word(child, kind)
                form = word.text if word.static else utf8(self.view[child.start_byte : child.end_byte])
                for value in before:
                    self.assigned_value(name, value + form)
                if name == "TZ":
                    self.time_zone(form)
            elif kind in (g.ARRAY, g.SUBSCRIPT):
                name = self.indexed(child, kind, name)
            elif label == "+=":
                before = list(self.values.get(name, before))
            elif label != "=":
                self.doubt("an assignment this analysis does not know")
                self._descend(child)
        return name

    def time_zone(self, form: str) -> None:
        """Refuse a time zone that is a path out of the list of zones: it is opened and read."""
        name = form.strip('"').lstrip("$").strip("{}")
        for zone in self.values.get(name, ()) if "$" in form else (form,):
            if not known_zone(zone):
                self.refuse(f"the time zone {zone!r} may be any file")

    def indexed(self, node: "Node", kind: int, name: str) -> str:
        """Read `(…)` behind an assignment, or `name[…]` in front of one."""
        text = utf8(self.view[node.start_byte : node.end_byte])
        if kind == g.ARRAY:
            self.refuse(f"it sets the array {name}")
            for form in text[1:-1].split():
                self.assigned_value(name, form)
        else:
            name = name or text.partition("[")[0]
            self.doubt("an array index that bash evaluates as code")
        self._descend(node)
        return name

    def assigned_value(self, name: str, form: str) -> None:
        """Note the value of an assignment; one that may not happen leaves the variable perhaps empty."""
        if self.depth > _CERTAIN_DEPTH or self.nested:
            self.note_value(name, PERHAPS_EMPTY)
        self.note_value(name, form)

    def bare_assignment(self, node: "Node") -> None:
        """Read an assignment that stands alone: it changes the shell for what follows."""
        name = self.assignment(node)
        self.variables[name] = UNSURE
        self.assigned.append(name)
        self.refuse(f"it sets the variable {name}")
        self.settle()
