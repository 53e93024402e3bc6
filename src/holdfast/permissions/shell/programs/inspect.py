"""One question for every external program: is this call proven to be read-only, and what does it touch."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs import special
from holdfast.permissions.shell.programs.awk import inspect_awk
from holdfast.permissions.shell.programs.binaries import BINARY_RULES
from holdfast.permissions.shell.programs.disks import inspect_findmnt, inspect_lsblk
from holdfast.permissions.shell.programs.effects import inspect_dd, inspect_effect
from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.find import inspect_find
from holdfast.permissions.shell.programs.git import inspect_git
from holdfast.permissions.shell.programs.jq import inspect_jq, inspect_yq
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.sed import inspect_sed
from holdfast.permissions.shell.programs.tables_system import FILE_TOOLS, SYSTEM_TOOLS, WRAPPERS
from holdfast.permissions.shell.programs.tables_text import SEARCH_TOOLS, TEXT_TOOLS
from holdfast.permissions.shell.programs.tool_table import Tool
from holdfast.permissions.shell.programs.versions import inspect_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.permissions.shell.words.word import Word

TABLES: "Mapping[str, Tool]" = {
    **TEXT_TOOLS,
    **SEARCH_TOOLS,
    **FILE_TOOLS,
    **SYSTEM_TOOLS,
    **WRAPPERS,
    "fdfind": SEARCH_TOOLS["fd"],
}
"""Every program that is judged by its option table alone."""

OWN_RULES: "Mapping[str, Callable[[Sequence[Word]], CommandFacts]]" = {
    "find": inspect_find,
    "sed": inspect_sed,
    "gsed": inspect_sed,
    "awk": inspect_awk,
    "gawk": inspect_awk,
    "mawk": inspect_awk,
    "nawk": inspect_awk,
    "jq": inspect_jq,
    "yq": inspect_yq,
    "git": inspect_git,
    "date": special.inspect_date,
    "tee": special.inspect_tee,
    "xxd": special.inspect_xxd,
    "tar": special.inspect_tar,
    "printenv": special.inspect_printenv,
    "getent": special.inspect_getent,
    "tput": special.inspect_tput,
    "lsof": special.inspect_lsof,
    "journalctl": special.inspect_journalctl,
    "ps": special.inspect_ps,
    "unzip": special.inspect_unzip,
    "zipinfo": special.inspect_zipinfo,
    "iconv": special.inspect_iconv,
    **BINARY_RULES,
    "lsblk": inspect_lsblk,
    "findmnt": inspect_findmnt,
    "dd": inspect_dd,
}
"""Programs with rules of their own."""


def inspect_command(name: str, args: "Sequence[Word]", *, stdin_is_data: bool = False) -> CommandFacts:
    """Judge one call of an external program.

    Args:
        name: the program's bare name.
        args: its arguments as the shell will pass them.
        stdin_is_data: standard input is a pipe, file or heredoc, so a search without operands reads that.

    Returns:
        The facts; `refusal` is None only when every word was understood and found harmless.
    """
    own = OWN_RULES.get(name)
    if own is not None:
        facts = own(args)
    elif (tool := TABLES.get(name)) is not None:
        facts = _by_table(tool, args, stdin_is_data=stdin_is_data)
    else:
        facts = inspect_version(name, args) or inspect_effect(name, args) or CommandFacts("not known to be read-only")
    if facts.refusal is None:
        for word in args:
            if word.secret:
                return facts._replace(refusal="it shows a variable whose name says it is secret")
    return facts


def _by_table(tool: Tool, args: "Sequence[Word]", *, stdin_is_data: bool) -> CommandFacts:
    found = scan(tool, args)
    reads = found.reads
    if stdin_is_data and tool.default and tool.kind == "search" and reads == [tool.default]:
        reads = []
    kind = tool.kind if not found.writes else "edit"
    return CommandFacts(found.refusal, tuple(reads), tuple(found.writes), False, kind, found.reads_unknown)  # noqa: FBT003 - hot
