"""What entries say about options, and how programs read their words.

Options are words, one per option, aliases joined by `|`:

    -n|--lines:num      needs a value: `-n 5`, `-n5`, `--lines 5`, `--lines=5`
    -M|--find-renames?  takes a value only when glued: `-M90`, `--find-renames=90`
    +D:path             starts with a plus
    -i??local           takes a value when glued, or when the next word is no option
    !-o|--output:out    known, and refused; listed so that abbreviations and clusters are read rightly
    !-d|--delete=removes    takes no value; with it the operands are removed (`=writes`: written)

What a value is: `text`, `file` (its content is read), `path` (only its metadata is), `out` (written), or a kind of
`LOOKS`, which it must look like.
Whatever is not there is refused (law L3).
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from holdfast.permissions.shell.programs.program import PROGRAMS, Program, by_subcommand

ANY_NUMBER = 10_000
PATH_KINDS: Final = {kind: kind for kind in ("file", "path", "out")} | {"archive": "file", "place": "path"}
"""Kinds of values that name files, and what happens to those."""
LOOKS: Final = {
    kind: re.compile(pattern, re.DOTALL | re.ASCII)
    for kind, pattern in {
        "num": r"(?!-(?![0-9]))(?=.*[0-9A-Za-z])[0-9A-Za-z+.,:%-]+",  # perhaps with a sign or a unit
        "archive": r"-|[^:]*\.tar",  # others start a decompressor or a remote shell
        "count": r"[+-]?[0-9][0-9A-Fa-fxkmg]*",
        "encoding": r"[^/]*(?://[A-Za-z,/]*[A-Za-z][A-Za-z,/]*)?",  # with another slash it is a file
        "form": r"(?!.*(?:%[-+ ]?G|signature)).*",  # one that asks for a signature starts gpg
        "format": r"\+.*",
        "local": r"[A-Za-z0-9:,-]*",  # no name of another machine
        "place": r"[^=]*",  # no label, for which every disk is read
        "shown": r"log|short",  # for others git runs in the submodules that a commit names
        "variable": r"(?!.*(?i:TOKEN|SECRET|KEY|PASSW|PASSPHRASE|CREDENTIAL)).*",
        "when": r"(?!.*TZ=).*",  # a zone of its own may be any file
    }.items()
}
"""What values of a kind look like, where not any text will do."""


class Option(NamedTuple):
    """One option of a tool."""

    name: str
    """The first alias, which is what `Scan.given` reports."""
    allowed: bool
    takes: str
    """`none`, `value` (glued or the next word), `glued` (optional, glued only) or `perhaps` (optional)."""
    kind: str


class Tool(msgspec.Struct, frozen=True, eq=False):
    """How one program reads its arguments, and what they mean."""

    options: str
    operands: str = "file"
    """Meaning of the words that are not options: a value kind, `pattern` or
    `pattern-paths` (first a pattern, then files), `members` (a file, then what is looked for in it), `inner` (a
    command follows, options end there), `none`, or `any`."""
    plain: bool = False
    """No option of the tool can do harm, so words that are only known at run time are fine."""
    most: int = ANY_NUMBER
    """More operands than this are refused (a later one may name an output)."""
    least: int = 0
    first: str = ""
    """What the first operand must look like: `column`, or a kind of `LOOKS`."""
    columns: str = ""
    """What values of the kind `column` hold, by the entry's field."""
    needs: str = ""
    """Space-separated options without which it does more than read, those of which one will do joined by `/`."""
    otherwise: str = ""
    """What it writes without them."""
    why: str = ""
    """Why it is refused without them, or without its operands, by the entry's field."""
    alone: str = ""
    """An option with which no file may be named."""
    asks: bool = False
    """What it does besides asks other machines."""
    numeric: bool = False
    """`-5` is a count."""
    plus: bool = False
    """`+5` is a count."""
    abbreviate: bool = True
    """The tool accepts unique prefixes of its long options."""
    one_dash: bool = False
    """Long options start with one dash, and letters stand alone."""
    bundled: bool = False
    """The first word holds letters of options without a dash, whose values follow."""
    expands: bool = False
    """A word `@file` stands for words in that file."""
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
    before: int = 0
    """Of a wrapper: how many operands stand before the command that it starts."""
    assigns: bool = False
    """`NAME=value` may stand before it, too; with `mixed` options may follow those."""
    mixed: bool = False
    dashed: bool = False
    """All stands in front of `--`, except with one of the options `scripts`, which take a script."""
    scripts: str = ""
    cover: str = "exact"
    """See `Inner.cover`."""


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
    signs: str
    """How options start."""


def parse_options(text: str) -> tuple[dict[str, Option], dict[str, Option]]:
    """Turn an option text into look-ups for short letters and long names."""
    short: dict[str, Option] = {}
    long: dict[str, Option] = {}
    for token in text.split():
        allowed = not token.startswith("!")
        body, takes, kind = token.lstrip("!"), "none", ""
        for mark, meaning in ((":", "value"), ("??", "perhaps"), ("?", "glued"), ("=", "none")):
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
                short[name.removeprefix("-")] = option
    return short, long


@cache
def compiled(tool: Tool) -> Compiled:
    """Return the tool's look-ups, made once."""
    short, long = parse_options(tool.options)
    return Compiled(tool, short, long, frozenset(tool.recursive.split()), "-+" if " +" in tool.options else "-")


def named(tool: Tool, text: str) -> Option | None:
    """The option that a word is, spelled whole."""
    table = compiled(tool)
    return table.long.get(text[2:]) if text[:2] == "--" else table.short.get(text[1:])


def find_long(table: Compiled, name: str) -> Option | None:
    """Resolve a long option name, also when abbreviated as GNU programs allow."""
    exact = table.long.get(name)
    if exact is not None or not table.tool.abbreviate or not name:
        return exact
    found = {option for known, option in table.long.items() if known.startswith(name)}
    return found.pop() if len(found) == 1 else None


@cache
def read_tool(text: str, *, kind: str = "") -> Tool:
    """Read how words are read: options, and fields of `Tool` among them; of a wrapper, or of a subcommand of git."""
    return _read_tool(text, kind)


def _read_tool(text: str, kind: str, **more: Any) -> Tool:
    words = text.split()
    said: dict[str, Any] = {"options": " ".join(word for word in words if word[0] in "-!+")}
    if kind == "wrapper":
        said |= {"operands": "inner", "permute": False, "abbreviate": False, "dashed_values": True}
    elif kind == "git":
        said |= {"abbreviate": False, "kind": "git", "operands": "text"}
    for word in words:
        name, equals, value = word.partition("=")
        if word[0] in "-!+":
            continue
        field = name.replace("-", "_")
        if equals:
            said[field] = int(value) if value.isdigit() else value.replace(",", " ")
        else:
            said[field.removeprefix("no_")] = not field.startswith("no_")
    return Tool(**{**said, **more})


def tool_of(program: Program) -> Tool:
    """How a program reads its words for a proof, as its entry says."""
    fields, kind = program.fields, "git" if program.names[0].startswith("git:") else ""
    text = f"{fields.get('table', '')} {fields.get('options', '')}"
    return _read_tool(text, kind, columns=fields.get("columns", ""), why=fields.get("why", ""))


def _tools() -> "dict[str, Tool]":
    made = {id(program): tool_of(program) for program in PROGRAMS.values() if "table" in program.fields}
    return {name: made[id(program)] for name, program in PROGRAMS.items() if id(program) in made}


TOOLS: "Mapping[str, Tool]" = _tools()
"""Every program whose options an entry tells for a proof that it only reads, by name."""
GIT_READS: "Mapping[str, Tool]" = by_subcommand(TOOLS)
"""The same for git's subcommands, with the second word where that decides."""
