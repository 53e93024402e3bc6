"""Lists and pipelines: what joins one command to the next, in the order of the text as the shell reads it."""

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.assignments import AssignmentReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tree_sitter import Node

_GROUPS = frozenset({g.LIST, g.PIPELINE, g.REDIRECTED})
_REDIRECTS = frozenset({g.FILE_REDIRECT, g.HEREDOC, g.HERESTRING})
_PIPES = frozenset({"|", "|&"})


class Step(NamedTuple):
    """One command of a list; `body` is None where there are redirects alone."""

    joint: str
    """What joins it to the one before: "|", "|&", "||", "&&", ";", or "" for the first."""
    body: "Node | None"
    behind: "Sequence[Node]" = ()
    """Redirects behind it."""


class _Joined(Protocol):
    @property
    def joint(self) -> str: ...


_Any = TypeVar("_Any", bound=_Joined)


class ListReader(AssignmentReader):
    """Reads commands that are joined by `&&`, `||`, `|` and `;`."""

    def add_steps(self, found: "list[Step]", node: "Node", kind: int, joint: str = "") -> None:
        """Find the commands of a statement in the order of the text.

        The grammar groups them unlike the shell: `a | b | c && d` as `a | (b | c && d)`, `a && b 2>f` as
        `(a && b) 2>f`, and what follows `<<END` on its line as a part of that redirect.
        """
        if kind == g.REDIRECTED:
            self.add_redirected(found, node, joint)
        elif kind in _GROUPS:
            for child, child_kind in self.children(node):
                if child_kind == g.TOKEN:
                    joint = child.type
                elif child_kind != g.COMMENT:
                    self.add_steps(found, child, child_kind, joint)
        else:
            found.append(Step(joint, node))

    def add_redirected(self, found: "list[Step]", node: "Node", joint: str) -> None:
        """Find the commands of a statement with redirects behind it, which belong to the last of them."""
        body, *behind = node.children
        kind = self.kinds[body.kind_id]
        if kind in _REDIRECTS:
            behind = node.children
            found.append(Step(joint, None, behind))
        else:
            self.add_steps(found, body, kind, joint)
            last = found.pop()
            found.append(Step(last.joint, last.body, [*last.behind, *behind]))
        for redirect in behind:
            if self.kinds[redirect.kind_id] == g.HEREDOC:
                for child, child_kind in self.behind_heredoc(redirect):
                    if child_kind == g.TOKEN:
                        joint = child.type
                    else:
                        self.add_steps(found, child, child_kind, joint)

    def joined(self, steps: "Iterable[_Any]", read: "Callable[[_Any], None]") -> None:
        """Read the steps of a list: each knows how the ones before it may have ended."""
        pipelines: list[tuple[str, list[_Any]]] = []
        for step in steps:
            if step.joint in _PIPES and pipelines:
                pipelines[-1][1].append(step)
            else:
                pipelines.append((step.joint, [step]))
        known, ok, fail = len(self.variables), self.cwds, self.cwds
        for how, stages in pipelines:
            self.cwds = self.merge(ok, fail) if how == ";" else fail if how == "||" else ok
            self.pipeline(stages, read)
            ok, fail = (
                self.merge(ok, self.ok) if how == "||" else self.ok,
                self.merge(fail, self.fail) if how == "&&" else self.fail,
            )
        if len(pipelines) > 1:
            self.forget(known)
        self.ok, self.fail = ok, fail

    def pipeline(self, stages: "list[_Any]", read: "Callable[[_Any], None]") -> None:
        """Read the stages of a pipeline: each runs in its own shell."""
        if len(stages) == 1:
            read(stages[0])
            return
        cwds, piped, known = self.cwds, self.piped, len(self.variables)
        for stage in stages:
            self.cwds = cwds
            read(stage)
            self.piped = True
        self.cwds, self.piped = cwds, piped
        self.forget(known)
        self.settle()
