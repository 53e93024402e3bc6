"""The short road for commands whose every word is certain and usual.

Each judge here either gives exactly what `inspect_command` would give, or None: then that one is asked. It exists for
speed alone, so it only ever says that a command is read-only in the plainest forms, or gives a constant.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, cast

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.inspect import (
    OWN_RULES,
    TABLES,
    changed_by,
    is_constant,
    table_of,
    version_forms,
    why_never,
)
from holdfast.permissions.shell.programs.options import Scan
from holdfast.permissions.shell.programs.parsers.awk import AWK, program_refusal
from holdfast.permissions.shell.programs.parsers.find import ALONE, FILE_VALUES, LEADING, WITH_VALUE
from holdfast.permissions.shell.programs.parsers.git import CHECKS, GIT_NETWORK, GIT_SECOND_WORDS, PATHS, behind_colons
from holdfast.permissions.shell.programs.parsers.sed import SED, script_refusal
from holdfast.permissions.shell.programs.program import PROGRAMS, names_of
from holdfast.permissions.shell.programs.runners import RUNNERS, STARTERS, starts_another
from holdfast.permissions.shell.programs.tool_table import (
    ANY_NUMBER,
    GIT_READS,
    LOOKS,
    Tool,
    compiled,
    ends_at_dashes,
)
from holdfast.permissions.shell.words.quoting import known_literal

_new_facts: "Callable[[type[CommandFacts], tuple[object, ...]], CommandFacts]" = cast("Any", tuple).__new__
_MAX_LEARNT: Final = 256
_PROBE: Final = known_literal("5")
_PATTERN_OPTIONS: Final = frozenset({"-e", "-f", "--files", "--filename-pattern"})
_FIND_STARTS: Final = ("-", "(", "!", ",", ")")

# What is known about a word that starts with a dash.
_PATTERN: Final = 1  # the pattern comes by an option, so that every operand is a file
_RECURSIVE: Final = 2
_TAKES: Final = 4  # the next word is its value
_COUNTS: Final = 8  # the value must be a number
_ENDS: Final = 16  # `--`
_OUTSIDE: Final = 32  # left to the long road


Sorted = tuple[list[str], int]
"""The operands of a call, and the marks of its options."""


class Sorter:
    """Sorts the certain words of one tool's calls into options and operands; what it meets, it learns."""

    __slots__ = ("_dashed", "_ends", "_glued", "_known", "_numeric", "_permute", "_tool")

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._numeric = tool.numeric
        self._known: dict[str, int] = {}
        self._glued: dict[str, int] = {}
        self._permute = tool.permute
        self._dashed = tool.dashed_values or tool.plain
        self._ends = ends_at_dashes(tool)

    def sort(self, texts: "Sequence[str]", at: int) -> Sorted | None:
        """Sort the words from this one on, or None when one of them is unusual."""
        operands: list[str] = []
        marks, count, known, permute = 0, len(texts), self._known, self._permute
        while at < count:
            text = texts[at]
            at += 1
            if text[:1] != "-" or text == "-":
                operands.append(text)
                if not permute:
                    break
                continue
            mark = known.get(text)
            if mark is None:
                mark = self._learn(text)
            if mark >= _TAKES:
                if mark & _TAKES and at < count and self._fits(texts[at], mark):
                    at += 1
                elif mark == _ENDS and self._may_end(texts, at):
                    break
                else:
                    return None
            marks |= mark
        if at < count:
            operands.extend(texts[at:])
        return operands, marks

    def _fits(self, value: str, mark: int) -> bool:
        if value[:1] == "-" and len(value) > 1 and not self._dashed:
            return False
        return not mark & _COUNTS or LOOKS["num"].fullmatch(value) is not None

    def _may_end(self, texts: "Sequence[str]", at: int) -> bool:
        return self._ends or not any(text[:1] == "-" and len(text) > 1 for text in texts[at:])

    def _learn(self, text: str) -> int:
        """The marks of a word, which another count, or another text behind the same `=`, has too."""
        if text == "--" or (self._numeric and text[1:].isdigit()):
            return _ENDS if text == "--" else 0
        before = text.rstrip("0123456789")
        counted, named = (f"{before}0" if before != text else ""), text[: text.find("=") + 1]
        mark = self._glued.get(counted)
        if mark is None:
            mark = self._glued.get(named)
        if mark is None:
            found = Scan(self._tool, (known_literal(text), _PROBE))
            found.sort()
            mark, kind = self._marks(found)
            value = found.given[-1][1] if found.given and found.operands and not mark & _OUTSIDE else None
            if value is not None and value.text == text[len(before) :]:
                kept, meant = self._glued, counted
            elif value is not None and kind == "text" and named == text[: -len(value.text) or None]:
                kept, meant = self._glued, named
            else:
                kept, meant = self._known, text
            if len(kept) < _MAX_LEARNT:
                kept[meant] = mark
        return mark

    def _marks(self, found: Scan) -> tuple[int, str]:
        """What a word is that the long road has read, with a count behind it, and of which kind its value is."""
        if found.ended_at is not None:
            return _OUTSIDE, ""
        marks, kind, tool = 0 if found.refusal is None else _OUTSIDE, "", compiled(self._tool)
        for name, _ in found.given:
            option = tool.short.get(name[1:]) or tool.long[name[2:]]
            kind = option.kind
            if kind not in ("", "text", "num") or name in ("--no-index", self._tool.lists):
                marks |= _OUTSIDE
            marks |= _PATTERN if name in _PATTERN_OPTIONS else 0
            marks |= _RECURSIVE if name in tool.recursive else 0
        takes = 0 if found.operands else _TAKES
        if marks & _OUTSIDE:
            return _OUTSIDE, ""
        return marks | takes | (_COUNTS if takes and kind == "num" and not self._tool.plain else 0), kind


def _ordinary(paths: "Sequence[str]", recursive: int = 0) -> bool:
    """Whether none of these can be, or when read with all that is below it can hold, a device or a process."""
    for path in paths:  # noqa: SIM110 - a hot loop, and a generator costs more than its turns
        if "dev" in path or "proc" in path or (recursive and path[:1] == "/"):
            return False
    return True


class _Table:
    """A tool whose option table is all there is to know."""

    __slots__ = (
        "_always", "_default", "_files", "_kind", "_least", "_most", "_nothing", "_pattern", "_recurses", "_searches",
        "_sort",
    )  # fmt: skip

    def __init__(self, tool: Tool) -> None:
        kind, self._kind, self._default = tool.operands, tool.kind, tool.default
        self._sort = Sorter(tool).sort
        self._least, self._most = tool.least, tool.most
        self._always, self._searches = tool.recursive == "*", tool.kind == "search" and tool.default != ""
        self._pattern = kind in ("pattern", "pattern-paths")
        self._files, self._recurses = kind in ("file", "pattern"), tool.recursive != ""
        named = CommandFacts(None, (), (), network=False, kind=tool.kind, reads_unknown=False)
        self._nothing = named if kind in ("any", "text") else None

    def judge(self, texts: "Sequence[str]", piped: bool) -> CommandFacts | None:  # noqa: FBT001 - hot
        """Give the facts of a plain call."""
        found = self._sort(texts, 1)
        if found is None:
            return None
        operands, marks = found
        if not self._least <= len(operands) <= self._most:
            return None
        if self._nothing is not None:
            return self._nothing
        if self._pattern and not marks & _PATTERN:
            del operands[:1]
        recursive = self._always or marks & _RECURSIVE
        if self._files and not _ordinary(operands, recursive):
            return None
        if not operands and self._default and (recursive or not self._recurses):
            operands = [self._default]
        if piped and self._searches and operands == [self._default]:
            operands = ()
        return _new_facts(CommandFacts, (None, tuple(operands), (), False, self._kind, False))


def _by_table(tool: Tool) -> "Callable[[Sequence[str], bool], CommandFacts | None] | None":
    if tool.operands not in ("any", "text", "file", "path", "pattern", "pattern-paths") or tool.optionless or tool.plus:
        return None
    if tool.needs or tool.first or tool.expands or not tool.permute:
        return None
    return _Table(tool).judge


_GIT: Final = {
    name: Sorter(tool).sort
    for name, tool in GIT_READS.items()
    if not (name in GIT_SECOND_WORDS or name in GIT_NETWORK or name in CHECKS or " " in name or name == "version")
    and not (
        tool.plus or tool.optionless or tool.least or tool.most < ANY_NUMBER or tool.operands not in ("any", "text")
    )
}
_HERE: Final = (".",)
_GIT_STARTING: Final = STARTERS["git"]
_FIND_STARTING: Final = STARTERS["find"]


def _git(texts: "Sequence[str]", _piped: bool) -> CommandFacts | None:  # noqa: FBT001 - hot
    key = texts[1] if len(texts) > 1 else ""
    sort = _GIT.get(key)
    if sort is None or not _GIT_STARTING.isdisjoint(texts):
        return None
    found = sort(texts, 2)
    if found is None:
        return None
    operands, marks = found
    reads: Sequence[str] = _HERE
    if operands and key in PATHS:
        if key == "grep" and not marks & _PATTERN:
            operands = operands[1:]
        outside = key in ("hash-object", "diff")
        named: list[str] = []
        for text in operands:
            if ":" not in text:
                named.append(text)
            elif outside:
                return None
            else:
                named.extend(behind_colons(text))
        if outside and not _ordinary(operands):
            return None
        reads = named or reads
    return _new_facts(CommandFacts, (None, tuple(reads), (), False, "git", False))


def _find(texts: "Sequence[str]", _piped: bool) -> CommandFacts | None:  # noqa: FBT001 - hot
    at, count = 1, len(texts)
    while at < count and texts[at] in LEADING:
        at += 1
    start = at
    while at < count and not texts[at].startswith(_FIND_STARTS):
        at += 1
    reads = tuple(texts[start:at]) or (".",)
    while at < count:
        text = texts[at]
        at += 1
        if text in WITH_VALUE and text not in FILE_VALUES and at < count:
            if texts[at] in _FIND_STARTING:
                return None
            at += 1
        elif text not in ALONE:
            return None
    return _new_facts(CommandFacts, (None, reads, (), False, "search", False))


_sort_sed: Final = Sorter(SED).sort
_sort_awk: Final = Sorter(AWK).sort


def _sed(texts: "Sequence[str]", _piped: bool) -> CommandFacts | None:  # noqa: FBT001 - hot
    found = _sort_sed(texts, 1)
    if found is None or found[1] & _PATTERN or not found[0] or "--help" in texts or "--version" in texts:
        return None
    script, *files = found[0]
    if script_refusal(script) is not None or not _ordinary(files):
        return None
    return _new_facts(CommandFacts, (None, tuple(files), (), False, "text", False))


def _awk(texts: "Sequence[str]", _piped: bool) -> CommandFacts | None:  # noqa: FBT001 - hot
    found = _sort_awk(texts, 1)
    if found is None or not found[0]:
        return None
    program, *files = found[0]
    if program_refusal(program) is not None or not _ordinary(files):
        return None
    for text in files:
        if text[:1] == "-" or text.startswith("/inet") or "=" in text:
            return None
    return _new_facts(CommandFacts, (None, tuple(files), (), False, "text", False))


def _constant(name: str, facts: CommandFacts) -> "Callable[[Sequence[str], bool], CommandFacts | None]":
    """A judge for a program that is never read-only, but for the question for its version."""
    longest = max((len(form.split()) for form in version_forms(name)), default=1) + 1
    return _never(longest, RUNNERS.get(name, frozenset[str]()), facts)


@cache
def _never(
    longest: int, running: frozenset[str], facts: CommandFacts
) -> "Callable[[Sequence[str], bool], CommandFacts | None]":
    """The same judge for all programs that are alike in this."""

    def judge(texts: "Sequence[str]", _piped: bool) -> CommandFacts | None:  # noqa: FBT001 - hot
        return facts if len(texts) > longest and not (running and starts_another(running, texts)) else None

    return judge


def _curl() -> "Callable[[Sequence[str], bool], CommandFacts | None]":
    """A judge for curl; names of files to write or to send are left to the long road."""
    sort = Sorter(table_of(PROGRAMS["curl"].fields["options"])).sort
    facts = CommandFacts("it uses the network", network=True, kind="network")

    def judge(texts: "Sequence[str]", _piped: bool) -> CommandFacts | None:  # noqa: FBT001 - hot
        if len(texts) < 3 or sort(texts, 1) is None:
            return None
        for text in texts:
            if "O" in text and text[:1] == "-":
                return None
        return facts

    return judge


def _judges() -> "dict[str, Callable[[Sequence[str], bool], CommandFacts | None]]":
    found: dict[str, Callable[[Sequence[str], bool], CommandFacts | None]] = {}
    for name, program in PROGRAMS.items():
        changed = changed_by(program) if is_constant(program) else None
        if changed is not None and name not in OWN_RULES:
            kind, _, network = changed
            found[name] = _constant(name, CommandFacts(why_never(program, kind), network=network, kind=kind))
    for name, tool in TABLES.items():
        judge = _by_table(tool)
        if judge is not None:
            found[name] = judge
    for name in OWN_RULES:
        found.pop(name, None)
    found["curl"] = _curl()
    return (
        found
        | {"git": _git, "find": _find}
        | dict.fromkeys(names_of("sed"), _sed)
        | dict.fromkeys(names_of("awk"), _awk)
    )


JUDGES: "dict[str, Callable[[Sequence[str], bool], CommandFacts | None]]" = _judges()
"""By name, for programs outside the shell: words and whether input is piped, to facts."""
