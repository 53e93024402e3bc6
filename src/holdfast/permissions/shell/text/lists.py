"""Lists and pipelines: what joins one command to the next, in the order of the text as the shell reads it.

Lists of plain commands are read without the grammar: `cd src && grep -rn 'a b' . 2>/dev/null | head -5; ls`. Much of
what models run is this simple, and the tree costs a third of the whole time. What is found is, field by field, what the
walk of the tree finds.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.assignments import AssignmentReader
from holdfast.permissions.shell.words.quoting import certain_texts
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from tree_sitter import Node


_MAX_CHARS: Final = 1_000
_MAX_COMMANDS: Final = 64
_COMMAND: Final = re.compile(
    r"""([A-Za-z./][A-Za-z0-9_./+-]*(?![^ |;&])"""
    r"""(?:[A-Za-z_./:=@%+,^ -]+(?![A-Za-z_./:=@%+,^ -])|[0-9]+(?![0-9>])|(?<=[A-Za-z0-9^])~|'[^']*'|"[^"$`\\]*")*)"""
    r"((?:(?<= )2>(?: ?/dev/null|&1)(?![^ ;|&]) ?)*)(\|\|?|&&|;|\Z) ?"
)
"""One command, its redirects and what joins it to the next."""
_REDIRECT: Final = re.compile(r"2> ?[^ ]+")
_NOT_COMMANDS: Final = names(
    "if then else elif fi do done case esac while until for select in function coproc time"
    " declare typeset export readonly local unset unsetenv"
)
"""Words that begin something else than a simple command, for the shell or for the grammar."""


class PlainCommand(NamedTuple):
    """One command of a list.

    Attributes:
        joint: what joins it to the one before: "|", "||", "&&", ";", or "" for the first.
        start: where it starts in the text; `end`: where it ends, with its redirects.
        texts: its words with quotes removed.
        redirects: the usual ones, as written.
    """

    joint: str
    start: int
    end: int
    texts: list[str]
    redirects: "Sequence[str]"


def plain_commands(text: str) -> list[PlainCommand] | None:
    """Cut a text into commands whose every word is certain, or None when there is anything else in it."""
    if len(text) > _MAX_CHARS or not (text.isascii() and text.isprintable()) or " =" in text:
        return None
    found: list[PlainCommand] = []
    joint, at = "", 0
    while True:
        piece = _COMMAND.match(text, at)
        if piece is None or len(found) == _MAX_COMMANDS:
            return None
        words, redirects, following = piece.groups()
        source = words.rstrip(" ")
        texts = certain_texts(source) if "'" in source or '"' in source else source.split()
        if not texts or texts[0] in _NOT_COMMANDS:
            return None
        end = at + len(source)
        if redirects:
            if texts[-1] == "-" or "<" in source:  # there the grammar goes its own ways
                return None
            end = piece.end(2) - (redirects[-1] == " ")
        found.append(PlainCommand(joint, at, end, texts, _REDIRECT.findall(redirects) if redirects else ()))
        if not following:
            return found
        joint, at = following, piece.end()


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
