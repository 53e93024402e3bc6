"""Ends of lines that the grammar takes for a blank: `a | b | c` and `rm x 2>y` on the next line become one command."""

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node, Tree

_ONE_LINE: Final = frozenset(
    {
        "command",
        "declaration_command",
        "unset_command",
        "file_redirect",
        "herestring_redirect",
        "redirected_statement",
        "variable_assignments",
    }
)
"""What ends with its line for the shell, unless a quote or a bracket is open."""
_DOCUMENT: Final = "heredoc_redirect"
_BLANK: Final = " \t\n"
_ROUNDS: Final = 4


def lines_apart(view: str, data: bytes, tree: "Tree", parse: "Callable[[bytes], Tree]") -> "Tree":
    """Parse again with a `;` at each end of a line that the grammar passed over, for which the shell ends a command.

    Args:
        view: the text, a character for each byte.
        data: what was parsed. Only blanks of it change, so that places in the tree still are places in the text.
        tree: what came out.
        parse: the parser.
    """
    for _ in range(_ROUNDS):
        places = list(_passed_over(view, tree.root_node))
        if not places:
            break
        changed = bytearray(data)
        for place in places:
            changed[place] = ord(";")
        data = bytes(changed)
        again = parse(data)
        if again.root_node.has_error and not tree.root_node.has_error:
            break
        tree = again
    return tree


def _passed_over(view: str, root: "Node") -> "Iterator[int]":
    """The blanks behind the last word of each line that is followed by more of the same command."""
    stack = [root]
    while stack:
        node = stack.pop()
        children = [child for child in node.children if view.find("\n", child.start_byte, child.end_byte) >= 0]
        stack.extend(children)
        if node.type not in _ONE_LINE or any(child.type == _DOCUMENT for child in node.children):
            continue
        yield from _gaps(view, [child for child in node.children if child.type != "comment"])


def _gaps(view: str, words: "list[Node]") -> "Iterator[int]":
    for one, two in pairwise(words):
        start, end = one.end_byte, two.start_byte
        if view.startswith("\n", end):  # the grammar takes it for the begin of `\rm`
            end += 1
        if view.find("\n", start, end) < 0 or view[start] not in _BLANK:
            continue
        lines = (line.strip(_BLANK) for line in view[start:end].split("\n"))
        if all(not line or line[0] == "#" for line in lines):
            yield start
