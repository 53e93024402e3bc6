"""Tools that look into object files (strings, nm, size, readelf, objdump), without debug information from elsewhere.

Options that use debug information are in no table: it may be fetched from a server. `objdump -i` makes a file.
"""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.tool_table import TOOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.word import Word


def inspect_binary(name: str, args: "Sequence[Word]") -> CommandFacts:
    """Judge a call; `@file` is a file of further arguments."""
    tool = TOOLS[name]
    found = scan(tool, args)
    for word in args:
        if word.text.startswith("@") or not (word.text or word.static or tool.plain):
            found.refuse(f"{name} takes its arguments from a file when a word starts with '@'")
    reads = tuple(found.reads) or (() if tool.plain or tool.operands == "text" else ("a.out",))
    return CommandFacts(found.refusal, reads, (), kind=tool.kind, reads_unknown=found.reads_unknown)
