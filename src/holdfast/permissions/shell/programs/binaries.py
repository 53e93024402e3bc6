"""Tools that look into object files (strings, nm, size, readelf, objdump), without debug information from elsewhere."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.tables_text import TEXT_TOOLS
from holdfast.permissions.shell.programs.tool_table import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.permissions.shell.words.word import Word

# Options that use debug information are left out: it may be fetched from a server. `objdump -i` makes a file.
BINARY_TOOLS: "Mapping[str, Tool]" = {
    "strings": TEXT_TOOLS["strings"],
    "c++filt": TEXT_TOOLS["c++filt"],
    "nm": Tool(
        "-a|--debug-syms -A|-o|--print-file-name -B -C --demangle? --no-demangle -D|--dynamic -g|--extern-only"
        " -j|--just-symbols -n|--numeric-sort -p|--no-sort -P|--portability -r|--reverse-sort -S|--print-size --quiet"
        " --size-sort --special-syms --format:text -t|--radix:text -u|--undefined-only --defined-only -U -W|--no-weak"
        " --with-symbol-versions -h|--help -V|--version !--plugin:file !-l|--line-numbers",
        abbreviate=False,
        kind="read",
    ),
    "size": Tool(
        "-A -B -G --format:text -o -d -x --radix:text -t|--totals --common -h|-H|--help -v|-V|--version",
        abbreviate=False,
        kind="read",
    ),
    "readelf": Tool(
        "-a|--all -h|--file-header -l|--program-headers|--segments -S|--section-headers|--sections -g|--section-groups"
        " -t|--section-details -e|--headers -s|--syms|--symbols --dyn-syms -C --demangle? -n|--notes -r|--relocs"
        " -u|--unwind -d|--dynamic -V|--version-info -A|--arch-specific -c|--archive-index -D|--use-dynamic"
        " -x|--hex-dump:text -p|--string-dump:text -R|--relocated-dump:text -I|--histogram -W|--wide -H|--help"
        " -v|--version !-w? !--debug-dump? !-P|--process-links",
        abbreviate=False,
        kind="read",
    ),
    "objdump": Tool(
        "-a|--archive-headers -f|--file-headers -p|--private-headers -h|--headers|--section-headers -x|--all-headers"
        " -d --disassemble? -D|--disassemble-all -s|--full-contents -t|--syms -T|--dynamic-syms -r|--reloc"
        " -R|--dynamic-reloc -j|--section:text -M|--disassembler-options:text -C --demangle? -w|--wide"
        " -z|--disassemble-zeroes --start-address:text --stop-address:text --show-raw-insn --no-show-raw-insn"
        " --no-addresses --prefix-addresses -F|--file-offsets !-i|--info -H|--help -v|--version !-S|--source"
        " !-l|--line-numbers !-g|--debugging !-W? !--dwarf? !-L|--process-links",
        abbreviate=False,
        kind="read",
    ),
}
"""By name. Each takes `@file` as a file of further arguments."""


def _judge(name: str) -> "Callable[[Sequence[Word]], CommandFacts]":
    tool = BINARY_TOOLS[name]

    def inspect(args: "Sequence[Word]") -> CommandFacts:
        found = scan(tool, args)
        for word in args:
            if word.text.startswith("@") or not (word.text or word.static or tool.plain):
                found.refuse(f"{name} takes its arguments from a file when a word starts with '@'")
        reads = tuple(found.reads) or (() if tool.plain or tool.operands == "text" else ("a.out",))
        return CommandFacts(found.refusal, reads, (), kind=tool.kind, reads_unknown=found.reads_unknown)

    return inspect


BINARY_RULES: "Mapping[str, Callable[[Sequence[Word]], CommandFacts]]" = {name: _judge(name) for name in BINARY_TOOLS}
"""What judges each of them."""
