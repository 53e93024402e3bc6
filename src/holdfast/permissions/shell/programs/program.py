"""What is known about programs: one entry each in `entries/*.txt`; every set and table of names is made from them.

An entry is `names = roles; field: value; …`, and goes on in indented lines. Names in one entry are judged alike: the
same program, or programs of which the same is known. `git:log` is a subcommand; `here:pip:list` is a call that only
reads with the variables of a session (reach/known_here.py), `edits:black` one that rewrites files and starts nothing
(judge/rewriters.py). `@name = text` gives a piece of options a name in its file.
`ROLES` and `FIELDS` say what may stand in an entry; docs/extend/program.md shows how.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from sys import intern
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

ROLES: Final = {
    "archives": "a first word tells it to write the archive named behind it",
    "checker": "a checker or test runner: it runs the project's own code, whoever starts it",
    "compares-trees": "opens every file of two directories",
    "compiler": "turns source into programs; `-o` names what it writes",
    "container": "may be given this machine's rights or files for a container",
    "copies-trees": "copies directories with all that is in them",
    "database": "runs statements on a database",
    "deletes": "removes what it is given",
    "devices": "writes to disks",
    "edits-named": "an editor: changes the files it is given",
    "evaluates": "runs text in this very shell",
    "fetches": "gets things from the network",
    "file-command": "only makes, touches, moves or copies the files it names",
    "fills": "puts many files into a directory",
    "forge": "speaks to a code forge",
    "in-container": "runs a command in a container",
    "in-place": "rewrites files with `-i`",
    "input-is-data": "never runs its input",
    "interpreter": "runs code that it is given, in every version (`python3.12`)",
    "kills": "signals processes",
    "lists": "prints names of files",
    "lists-refs": "git: lists references",
    "loads": "reads more than its options name",
    "logs-in": "has words that touch credentials",
    "migrator": "changes databases by its subcommands",
    "modes": "changes rights or owners of files",
    "names-files": "git: its words name files",
    "network": "git: talks to another machine",
    "neutral": "says nothing about what a whole command is for",
    "o-is-no-file": "`-o` names no file to write, or another field says which",
    "obeys-bang": "runs a word that begins with `!` or `+`",
    "opens-nothing": "opens no file, however `find` starts it",
    "options-tell-no-files": "its options mostly hold other things than files",
    "packs": "replaces files by packed or unpacked ones",
    "passes-on": "prints the names it reads",
    "paths": "git: its operands may be paths",
    "places": "puts files under a name or into a directory",
    "plain-subcommand": "git: known, and nothing else is",
    "posts": "speaks to other people",
    "prints-content": "git: prints content of files",
    "prints-words": "prints the words it is given",
    "privilege": "runs something as somebody else, or with more rights",
    "reads-all": "reads whatever it is given",
    "reads-regular": "may be handed any regular file by `find`: it prints what is in it, or what it is",
    "rewrites": "writes the files it is given",
    "runs-anything": "runs or fetches whatever its arguments say",
    "schedules": "leaves something running or starts it later",
    "scratch": "only puts down what it is told to",
    "script-runner": "runs scripts of the project by their names",
    "searches": "searches files, by options that no table knows",
    "searches-here": "searches the directory it runs in when it is given none",
    "second-word": "git: its second word decides what it does",
    "selects": "prints some of what it reads",
    "sends": "can send files to another machine",
    "shell": "runs shell text",
    "shows-file": "prints the file it is given",
    "system": "changes the machine",
    "takes-content": "git: its operands may be hashes of content",
    "tells-names": "prints names that the text tells",
    "unknown-words": "git: nothing is known about its words",
    "vault": "keeps secrets",
    "vi": "obeys the commands of vi",
    "words-are-no-files": "its words are mostly no files",
    "writes-first": "writes its first operand",
    "writes-last": "writes its last operand",
    "writes-named": "git: writes the files it names",
    "writes-tree": "git: changes the working tree",
}
"""What a program may be, in a word."""
FIELDS: Final = {
    "changes": "its kind, what its operands mean (`write`, `last`, `skip`, `second`; see inspect.py), and `network`",
    "chosen-by": "files of a project that choose what it starts",
    "columns": "what its values of the kind `column` may hold",
    "deploys": "subcommands that put something into use; `*`: always",
    "examples": "calls, cut by a bar; those behind `!` do more than read",
    "exit-1": "what exit code 1 says when it is no failure",
    "front": "options in front of the subcommand",
    "into": "options that name a directory to put files into",
    "judge": "the module and function that read its words, where options alone do not tell",
    "loses": "git: words with which it rewrites or throws away history (`-f*`: what begins so); `*`: always",
    "looks": "first words (or two, `pr:view`) with which it only looks; `*`: it always does",
    "moves": "options that move what it starts: into a directory, `lost` somewhere, `kept` here; `away` without any",
    "offer": "the rule to save after a yes: `none`, `exact` (these very words) or `subcommand`; else its name",
    "offer-deeper": "subcommands of which the next word belongs to the rule",
    "offer-never": "subcommands of which only the very call is saved",
    "opens": "the module and function that find what its words start",
    "operates": "subcommands that change running infrastructure; `*`: all",
    "options": "its options; see options.py",
    "outputs": "options that name a file or directory to write",
    "passes-over": "directories that it leaves out when it rewrites files",
    "patch-letters": "git: letters of options with which it prints content",
    "publishes": "subcommands that publish",
    "rewrites-with": "words with which it rewrites its operands; none: always",
    "runs": "subcommands that run another command which stands in its words; `*`: it always does",
    "runs-text": "options whose value it runs, besides words with blanks",
    "start": "options between that subcommand and the command it starts, with `before=`, `dashed`, `scripts=`",
    "starts-tools": "subcommands behind which a checker is named; `.`: none is needed",
    "suffixes": "files that it rewrites in a directory",
    "table": "that options tell all there is to judge, and how it reads them: the fields of `Tool`",
    "version": "besides `--version`, the words that ask for its version, cut by a bar; `not --version` first",
    "why": "why it is never read-only",
    "wraps": "how it starts the command behind its options: `cover=`, `before=` and the like; see tool_table.py",
    "wraps-why": "why it is not read-only whatever it starts",
}
"""What an entry may say besides; `start` and `front` may name subcommands behind a blank."""
_NEXT: Final = re.compile(r"\n(?=\S)")
_PIECE: Final = re.compile(r"(?:\A|(?<= ))@([a-z-]+)")
_VERSIONED: Final = re.compile(r"(.*?[A-Za-z])[-_.]?[0-9][0-9.]*(?:[a-z]|[-_](?:dbg|debug|config|intel64))?")


class EntryError(ValueError):
    """An entry cannot be read."""


class Program(NamedTuple):
    """All that is known about a program, or about several that are judged alike."""

    names: tuple[str, ...]
    """The first one stands for all."""
    roles: frozenset[str]
    fields: Mapping[str, str]


def read_entries(text: str, alike: dict[Any, Any] | None = None) -> Iterator[Program]:
    """Read the entries of a file; what several say alike is kept once, in `alike`."""
    pieces: dict[str, str] = {}
    alike = {} if alike is None else alike
    for entry in filter(None, _NEXT.split(text.strip("\n"))):
        if entry[0] == "#":
            continue
        head, equals, body = " ".join(entry.split()).partition(" = ")
        body = _PIECE.sub(lambda found: _piece(pieces, found[1]), body)
        if head[0] == "@":
            pieces[head[1:]] = body
            continue
        if not equals:
            raise EntryError(f"{head!r}: write `names = roles; field: value; …`")
        said = body.split("; ")
        roles = frozenset(said.pop(0).split() if ":" not in said[0] else ())
        roles = alike.setdefault(roles, roles)
        parts = (one.partition(":") for one in said)
        fields = {intern(name): alike.setdefault(value.strip(), value.strip()) for name, _, value in parts}
        unknown = sorted((roles - ROLES.keys()) | {name for name in fields if name.split(" ")[0] not in FIELDS})
        if unknown:
            raise EntryError(f"{head!r}: unknown role or field {unknown[0]!r}; see ROLES and FIELDS in program.py")
        yield Program(tuple(head.split()), roles, MappingProxyType(fields))


def _piece(pieces: Mapping[str, str], name: str) -> str:
    if name not in pieces:
        raise EntryError(f"@{name} must stand above the entry that uses it")
    return pieces[name]


def _read_all() -> dict[str, Program]:
    found: dict[str, Program] = {}
    alike: dict[Any, Any] = {}
    for entry in os.scandir(os.path.join(os.path.dirname(__file__), "entries")):
        with open(entry.path, encoding="utf-8") as file:
            text = file.read()
        for program in read_entries(text, alike):
            for name in program.names:
                if found.setdefault(name, program) is not program:
                    raise EntryError(f"{name!r} has two entries: all that is known about it belongs into one")
    return found


PROGRAMS: Final[Mapping[str, Program]] = _read_all()
"""Every program that is known, by name."""


@cache
def having(*roles: str) -> frozenset[str]:
    """The programs with one of these roles."""
    wanted = frozenset(roles)
    if not wanted <= ROLES.keys():
        raise EntryError(f"{sorted(wanted - ROLES.keys())} is no role")
    return frozenset(name for name, program in PROGRAMS.items() if not wanted.isdisjoint(program.roles))


def roles_of(name: str) -> frozenset[str]:
    """The roles of a program; none of one that is not known."""
    return PROGRAMS[name].roles if name in PROGRAMS else frozenset()


def told(field: str) -> dict[str, str]:
    """What the entries say in this field, by the name of the program."""
    if field.split(" ", maxsplit=1)[0] not in FIELDS:
        raise EntryError(f"{field!r} is not a field")
    return {name: program.fields[field] for name, program in PROGRAMS.items() if field in program.fields}


def words_told(field: str) -> dict[str, frozenset[str]]:
    """The words that the entries say in this field; none for `*`."""
    return {name: frozenset(text.split()) - {"*"} for name, text in told(field).items()}


_Told = TypeVar("_Told")


def by_subcommand(known: Mapping[str, _Told], kind: str = "git:") -> dict[str, _Told]:
    """What is known about git's subcommands, or about the calls of another kind, by their words."""
    return {name[len(kind) :].replace(":", " "): what for name, what in known.items() if name.startswith(kind)}


@cache
def git_having(*roles: str) -> frozenset[str]:
    """The subcommands of git with one of these roles."""
    return frozenset(by_subcommand(dict.fromkeys(having(*roles))))


def names_of(name: str) -> frozenset[str]:
    """All names under which this program is known."""
    return frozenset(PROGRAMS[name].names)


def family(name: str) -> str:
    """The name that stands for a program: `tar` for `gtar`."""
    program = PROGRAMS.get(name)
    return name if program is None else program.names[0]


def known(name: str) -> Program | None:
    """The entry of a program, also of one version of an interpreter: `python3.12`, `lua5.4`."""
    program = PROGRAMS.get(name)
    return PROGRAMS.get(unversioned(name)) if program is None and is_interpreter(name) else program


@lru_cache(maxsize=256)
def is_interpreter(name: str) -> bool:
    """Whether a program runs code that it is given, in whichever version: `python3.11`, `pypy3`, `lua5.4`, `node18`."""
    interpreters = having("interpreter")
    return name in interpreters or unversioned(name) in interpreters


def runs_code(name: str) -> bool:
    """Whether a program is an interpreter or a shell."""
    shells = having("shell")
    return name in shells or is_interpreter(name) or unversioned(name) in shells


def unversioned(name: str) -> str:
    """The name of a program without its version."""
    found = _VERSIONED.fullmatch(name.removesuffix(".exe"))
    return found[1] if found else name.removesuffix(".exe")
