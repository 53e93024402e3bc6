"""Options as the tool itself reads them: clusters, glued values, abbreviations, `--`, numbers."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.devices import special_read_refusal
from holdfast.permissions.shell.programs.tool_table import (
    ANY_NUMBER,
    Compiled,
    Option,
    Tool,
    compiled,
    ends_at_dashes,
    find_long,
)
from holdfast.permissions.shell.words.word import Word

if TYPE_CHECKING:
    from collections.abc import Sequence


_MAX_FLAGS = 256


class Scan:
    """The arguments of one call, sorted into options and operands.

    Attributes:
        refusal: the first reason found, or None.
        given: options in order, with their values where they have one.
        operands: words that are not options.
        reads: paths read.
        writes: paths written.
        reads_unknown: a path that is read is only known at run time.
        changes: what an option does to the operands: `writes`, `removes` or nothing.
        unknown: an option is in no table, so that it may have taken what counts as an operand.
        ended_at: how many operands stood before `--`, or None when there was no `--`.
    """

    __slots__ = (
        "changes",
        "ended_at",
        "given",
        "operands",
        "reads",
        "reads_unknown",
        "refusal",
        "tool",
        "unknown",
        "writes",
    )

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.refusal: str | None = None
        self.given: list[tuple[str, Word | None]] = []
        self.operands: list[Word] = []
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.reads_unknown = False
        self.ended_at: int | None = None
        self.unknown = False
        self.changes = ""

    def refuse(self, reason: str) -> None:
        """Keep the first reason."""
        if self.refusal is None:
            self.refusal = reason

    def has(self, *names: str) -> bool:
        """Tell whether one of these options (first aliases) was given."""
        for name, _ in self.given:  # noqa: SIM110 - a hot loop, and a generator costs more than its turns
            if name in names:
                return True
        return False

    def values(self, *names: str) -> "list[Word]":
        """Return the values given to these options (first aliases)."""
        return [value for name, value in self.given if name in names and value is not None]

    def note_path(self, word: "Word", kind: str, *, recursive: bool = False) -> None:
        """Record what a file operand or value means."""
        if kind == "file" or kind == "path":  # noqa: PLR1714 - hot
            if word.static:
                self.reads.append(word.text)
            else:
                self.reads_unknown = True
            if kind == "file":
                reason = special_read_refusal(word, recursive=recursive)
                if reason is not None:
                    self.refuse(reason)
        elif kind == "out":
            self.refuse(f"it writes {word.text!r}" if word.static else "it writes a file only known at run time")
            if word.static:
                self.writes.append(word.text)


def scan(tool: Tool, args: "Sequence[Word]") -> Scan:
    """Read the arguments of one call as the tool does; every doubt becomes a refusal."""
    result = _Reader(compiled(tool), args)
    if tool.optionless:
        result.operands.extend(args)
    else:
        result.run()
    _judge_operands(result)
    return result


class _Reader(Scan):
    """Walks over the words once."""

    __slots__ = ("args", "at", "table")

    def __init__(self, table: Compiled, args: "Sequence[Word]") -> None:
        super().__init__(table.tool)
        self.table, self.args, self.at = table, args, 0

    def run(self) -> None:
        args, at, count = self.args, 0, len(self.args)
        operands, flags, permute = self.operands, self.table.flags, self.tool.permute
        while at < count:
            word = args[at]
            at += 1
            text = word.text
            if not word.static:
                self.dynamic(word)
            elif text[:1] != "-" or text == "-":
                operands.append(word)
            elif (known := flags.get(text)) is not None:
                self.given.extend(known)
            else:
                self.at = at
                going = self.option(text)
                at = self.at
                if not going:
                    break
            if operands and not permute:
                break
        operands.extend(args[at:])

    def option(self, text: str) -> bool:
        """Read a word that starts with a dash; tell whether more options may follow."""
        single = self.table.valued.get(text)
        if single is not None:
            self.take(single, self.next_value(single))
        elif text[:2] != "--":
            self.short(text)
        elif text == "--" or (text == "--end-of-options" and text in self.tool.options):
            self.after_dashes(text)
            return False
        else:
            self.long(text)
        return True

    def after_dashes(self, text: str) -> None:
        """Stop reading options; a word that still looks like one is refused unless the values are certain."""
        self.ended_at = len(self.operands)
        tool = self.tool
        # Versions of git disagree about `--end-of-options`: some drop it and then read on.
        reads_on = tool.reads_on or text != "--"
        if ends_at_dashes(tool) and not reads_on:
            return
        words = self.args[self.at :]
        alone = text == "--" and tool.alone_is_file and len(words) == 1
        for word in words:
            if word.static and word.text[:1] == "-" and len(word.text) > 1:
                self.refuse(f"{word.text!r} after {text!r} looks like an option")
            elif reads_on and not word.static and word.may_be_flag and not (alone and word.single):
                self.refuse("a word known only at run time may become an option")

    def dynamic(self, word: "Word") -> None:
        if word.may_be_flag and not self.tool.plain:
            self.refuse("a word known only at run time may become an option")
        self.operands.append(word)

    def long(self, text: str) -> None:
        name, glued, value = text[2:].partition("=")
        option = find_long(self.table, name)
        if option is None:
            self.unknown = True
            self.refuse(f"option {text!r} is not in the table of read-only options")
            return
        if glued and option.takes == "none":
            self.refuse(f"option '--{name}' takes no value")
            return
        given = Word(value) if glued else None
        if given is None and option.takes == "value":
            given = self.next_value(option)
        elif option.allowed and option.takes == "none" and len(self.table.flags) < _MAX_FLAGS:
            self.table.flags[text] = [(option.name, None)]
        self.take(option, given)

    def short(self, text: str) -> None:
        if self.tool.numeric and text[1:].isdigit():
            self.given.append(("-NUM", Word(text[1:])))
            return
        at, simple = 1, list[tuple[str, None]]()
        while at < len(text):
            option = self.table.short.get(text[at])
            if option is None:
                self.unknown = True
                self.refuse(f"option '-{text[at]}' is not in the table of read-only options")
                return
            at += 1
            if option.takes == "none":
                self.take(option, None)
                if option.allowed:
                    simple.append((option.name, None))
                continue
            rest = text[at:]
            if rest:
                if not (self.tool.glued_values or rest.isdigit()):
                    self.refuse(f"{rest!r} after '-{text[at - 1]}' may be further options")
                self.take(option, Word(rest))
            else:
                self.take(option, self.next_value(option) if option.takes == "value" else None)
            return
        if len(simple) == len(text) - 1 and len(self.table.flags) < _MAX_FLAGS:
            self.table.flags[text] = simple

    def next_value(self, option: Option) -> "Word | None":
        if self.at >= len(self.args):
            self.refuse(f"option {option.name!r} has no value")
            return None
        word = self.args[self.at]
        self.at += 1
        if not word.static and word.may_be_flag and not self.tool.plain:
            self.refuse("a word known only at run time may become an option")
        tool = self.tool
        if word.static and word.text[:1] == "-" and len(word.text) > 1 and not (tool.dashed_values or tool.plain):
            self.refuse(f"the value {word.text!r} of {option.name!r} looks like an option")
        return word

    def take(self, option: Option, value: "Word | None") -> None:
        self.given.append((option.name, value))
        if not option.allowed:
            self.refuse(f"option {option.name!r} is not read-only")
        if value is None:
            self.changes = option.kind if option.kind in ("writes", "removes") else self.changes
            return
        if option.kind == "num" and not (value.static and is_count(value.text)) and not self.tool.plain:
            self.refuse(f"the value of {option.name!r} is not a plain number")
        if option.kind in PATH_KINDS:
            self.note_path(value, option.kind)


PATH_KINDS = frozenset({"file", "path", "out"})
_COUNT_SIGNS = str.maketrans("", "", "+-.,:%")


def is_count(text: str) -> bool:
    """Whether a value is a plain number, perhaps with a sign or a unit; `-i.bak` may be an option after all."""
    if text[:1] == "-" and not text[1:2].isdigit():
        return False
    return text.isascii() and (text.isalnum() or text.translate(_COUNT_SIGNS).isalnum())


def _judge_count(result: Scan, words: "Sequence[Word]") -> None:
    tool = result.tool
    if tool.most < ANY_NUMBER:
        several = any(not word.static and (word.glob or word.may_be_flag) for word in words)
        if len(words) > tool.most or (several and not tool.plain):
            result.refuse("a further operand may name an output")
    if len(words) < tool.least:
        result.refuse("operands are missing")


def _judge_operands(result: Scan) -> None:
    tool, words, kind = result.tool, result.operands, result.tool.operands
    if result.changes:
        result.writes.extend(word.text for word in words if word.static)
    if tool.plus:
        words = [word for word in words if not (word.static and word.text[:1] == "+" and word.text[1:].isdigit())]
    if tool.most < ANY_NUMBER or tool.least:
        _judge_count(result, words)
    if kind in ("any", "inner", "text"):
        return
    if kind == "none":
        if words:
            result.refuse(f"operand {words[0].text!r} is not in the table of read-only forms")
        return
    if kind in ("pattern", "pattern-paths"):
        words = words[0 if result.has("-e", "-f", "--files", "--filename-pattern") else 1 :]
        kind = "file" if kind == "pattern" else "path"
    recursive = tool.recursive == "*" or (tool.recursive != "" and result.has(*compiled(tool).recursive))
    if tool.lists and result.has(tool.lists):
        result.reads_unknown = True
    _note_operands(result, words, kind, recursive=recursive)
    if not words and tool.default and (recursive or kind == "path"):
        result.reads.append(tool.default)


def _note_operands(result: Scan, words: "Sequence[Word]", kind: str, *, recursive: bool) -> None:
    most = result.tool.most
    for word in words[:most]:
        text = word.text
        special = "dev" in text or "proc" in text or (recursive and text[:1] == "/")
        if word.static and (kind == "path" or not special):
            result.reads.append(text)  # what `note_path` does with a file that cannot be special
        else:
            result.note_path(word, kind, recursive=recursive)
    for word in words[most:]:
        result.note_path(word, "out")
