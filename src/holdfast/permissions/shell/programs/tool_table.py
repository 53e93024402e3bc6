"""What a table says about a program: its options and how it reads its words.

A table is a text of tokens, one per option, aliases joined by `|`:

    -n|--lines:num      needs a value: `-n 5`, `-n5`, `--lines 5`, `--lines=5`
    -M|--find-renames?  takes a value only when glued: `-M90`, `--find-renames=90`
    !-o|--output:out    known, and refused; listed so that abbreviations and clusters are read rightly
    !-d|--delete=removes    takes no value; with it the operands are removed (`=writes`: written)

Value kinds: `num`, `text`, `file` (its content is read), `path` (only its metadata is), `out` (written),
`shown` (how git shows a submodule).
Whatever is not in the table is refused (law L3).
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.permissions.shell.programs.program import PROGRAMS, Program, by_subcommand

if TYPE_CHECKING:
    from collections.abc import Mapping


ANY_NUMBER = 10_000


class Option(NamedTuple):
    """One option of a tool."""

    name: str
    """The first alias, which is what `Scan.given` reports."""
    allowed: bool
    takes: str
    """`none`, `value` (glued or the next word) or `glued` (optional, glued only)."""
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """How one program reads its arguments, and what they mean."""

    options: str
    operands: str = "file"
    """Meaning of the words that are not options: a value kind, `pattern` or
    `pattern-paths` (first a pattern, then files), `inner` (a
    command follows, options end there), `none`, or `any`."""
    plain: bool = False
    """No option of the tool can do harm, so words that are only known at run time are fine."""
    most: int = ANY_NUMBER
    """More operands than this are refused (a later one may name an output)."""
    least: int = 0
    numeric: bool = False
    """`-5` is a count."""
    plus: bool = False
    """`+5` is a count."""
    abbreviate: bool = True
    """The tool accepts unique prefixes of its long options."""
    permute: bool = True
    """Options may follow operands."""
    optionless: bool = False
    """The tool has no options, every word is an operand."""
    default: str = ""
    """What is read when there is no operand."""
    recursive: str = ""
    """Space-separated names of the options that make it read whole directories (`*`: always)."""
    lists: str = ""
    """The option with which a file it is given lists further files, which are then read too."""
    kind: str = "text"
    dashed_values: bool = False
    """A separate value may begin with `-`; elsewhere such a word is refused, in case versions of a tool disagree."""
    glued_values: bool = True
    """`-n5` is `-n 5`; otherwise only a number may be glued, since the tool reads the rest as further options."""
    reads_on: bool = False
    """Words behind `--` may still be read as options, as `git blame -- file --output=x` does."""
    alone_is_file: bool = False
    """Of a tool that reads on: one word alone behind `--` is a file, whatever it looks like."""


def ends_at_dashes(tool: Tool) -> bool:
    """Whether `--` is sure to end the options, so that any word may follow it."""
    is_known = tool.plain or tool.dashed_values or tool.kind == "git" or tool.operands == "inner"
    return is_known and not tool.reads_on


class Compiled(NamedTuple):
    """A tool's options, ready for look-up."""

    tool: Tool
    short: "Mapping[str, Option]"
    long: "Mapping[str, Option]"
    recursive: frozenset[str]
    flags: "dict[str, list[tuple[str, None]]]"
    """Words met before that hold allowed options without values only, and what they give."""
    valued: "dict[str, Option]"
    """Words that are one option whose value is the next word."""


def parse_options(text: str) -> tuple[dict[str, Option], dict[str, Option]]:
    """Turn an option text into look-ups for short letters and long names."""
    short: dict[str, Option] = {}
    long: dict[str, Option] = {}
    for token in text.split():
        allowed = not token.startswith("!")
        body, takes, kind = token.lstrip("!"), "none", ""
        for mark, meaning in ((":", "value"), ("?", "glued"), ("=", "none")):
            head, found, tail = body.partition(mark)
            if found and head != "-":
                body, takes, kind = head, meaning, tail or "text"
                break
        names = body.split("|")
        option = Option(names[0], allowed, takes, kind)
        for name in names:
            if name.startswith("--"):
                long[name[2:]] = option
            else:
                short[name[1:]] = option
    return short, long


@cache
def compiled(tool: Tool) -> Compiled:
    """Return the tool's look-ups, made once."""
    short, long = parse_options(tool.options)
    valued = {
        f"-{letter}": option
        for letter, option in short.items()
        if option.takes == "value" and len(letter) == 1 and not (tool.numeric and letter.isdigit())
    }
    valued.update({f"--{name}": option for name, option in long.items() if option.takes == "value"})
    return Compiled(tool, short, long, frozenset(tool.recursive.split()), {}, valued)


def find_long(table: Compiled, name: str) -> Option | None:
    """Resolve a long option name, also when abbreviated as GNU programs allow."""
    exact = table.long.get(name)
    if exact is not None or not table.tool.abbreviate or not name:
        return exact
    found = {option for known, option in table.long.items() if known.startswith(name)}
    return found.pop() if len(found) == 1 else None


_OF_GIT = {"abbreviate": False, "kind": "git", "operands": "text"}


def tool_of(program: Program) -> Tool:
    """How a program reads its words, as its entry says."""
    said: dict[str, Any] = dict(_OF_GIT) if program.names[0].startswith("git:") else {}
    for word in program.fields.get("table", "").split():
        name, equals, value = word.partition("=")
        name = name.replace("-", "_")
        if equals:
            said[name] = int(value) if value.isdigit() else value.replace(",", " ")
        else:
            said[name.removeprefix("no_")] = not name.startswith("no_")
    return Tool(program.fields.get("options", ""), **said)


def _tools() -> "dict[str, Tool]":
    made = {id(program): tool_of(program) for program in PROGRAMS.values() if "table" in program.fields}
    return {name: made[id(program)] for name, program in PROGRAMS.items() if id(program) in made}


TOOLS: "Mapping[str, Tool]" = _tools()
"""Every program whose options an entry tells for a proof that it only reads, by name."""
GIT_READS: "Mapping[str, Tool]" = by_subcommand(TOOLS)
"""The same for git's subcommands, with the second word where that decides."""
