"""Options as the tool itself reads them: clusters, glued values, abbreviations, `--`, numbers; then subcommands.

A proof takes a call only without `refusal`; whoever looks for what may be meant goes by `given` and `operands`, and
takes an option that is `unknown` for anything.
"""

import re
from collections.abc import Sequence
from typing import Final

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.program import told
from holdfast.permissions.shell.programs.tool_table import (
    ANY_NUMBER,
    LOOKS,
    PATH_KINDS,
    Option,
    Tool,
    compiled,
    ends_at_dashes,
    find_long,
    named,
    read_tool,
)
from holdfast.permissions.shell.words.devices import special_read_refusal
from holdfast.permissions.shell.words.quoting import known_literal
from holdfast.permissions.shell.words.word import Word

_MAY_BECOME: Final = "a word known only at run time may become an option"
_SEVERAL: Final = re.compile("[ ,]+")


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
        unsure: some word may be read in another way.
        ended_at: how many operands stood before `--`, or None when there was no `--`.
    """

    __slots__ = (
        "_args", "_at", "_table", "changes", "ended_at", "given", "operands", "reads", "reads_unknown", "refusal",
        "tool", "unknown", "unsure", "writes",
    )  # fmt: skip

    def __init__(self, tool: Tool, args: "Sequence[Word]") -> None:
        self.tool, self._table, self._args, self._at = tool, compiled(tool), args, 0
        self.refusal: str | None = None
        self.given: list[tuple[str, Word | None]] = []
        self.operands: list[Word] = []
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.reads_unknown = False
        self.ended_at: int | None = None
        self.unknown = self.unsure = False
        self.changes = ""

    def refuse(self, reason: str) -> None:
        """Keep the first reason."""
        if self.refusal is None:
            self.refusal = reason

    def _doubt(self, reason: str) -> None:
        self.unsure = True
        self.refuse(reason)

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

    def look(self, word: "Word", kind: str) -> None:
        """Refuse a word that does not look like its kind."""
        looks = LOOKS.get(kind)
        if looks is not None:
            fits = word.static and looks.fullmatch(word.text) is not None
        elif kind == "column":
            names = _SEVERAL.split(word.text.removeprefix("+").lower())
            known = self.tool.columns.split()
            fits = word.static and all(re.split("[=:]", name, maxsplit=1)[0] in known for name in names)
        else:
            return
        if not fits and not (kind == "num" and self.tool.plain):
            self.refuse(f"{word.text!r} is more than is known to be harmless")

    def facts(self) -> CommandFacts:
        """What the words that were read so far do."""
        kind = (
            self.tool.kind
            if not self.writes or self.tool.otherwise
            else "remove"
            if self.changes == "removes"
            else "edit"
        )
        asks = self.tool.asks and self.refusal is not None
        reads, writes = tuple(self.reads), tuple(self.writes)
        return CommandFacts(self.refusal, reads, writes, asks, "network" if asks else kind, self.reads_unknown)

    def sort(self) -> None:
        """Walk over the words once."""
        args, operands, permute, signs = self._args, self.operands, self.tool.permute, self._table.signs
        while self._at < len(args):
            word = args[self._at]
            self._at += 1
            if word.text[:1] not in signs or word.text in ("", "-") or self.tool.optionless:
                if not word.static:
                    self._dynamic(word)
                operands.append(word)
            elif not word.static:
                self._dynamic(word)
                self._partly_known(word)
            elif not self._option(word.text):
                break
            if operands and not permute:
                break
        operands.extend(args[self._at :])

    def _option(self, text: str) -> bool:
        """Read a word that starts with a dash; tell whether more options may follow."""
        if text == "--" or (text == "--end-of-options" and text in self.tool.options):
            self._after_dashes(text)
            return False
        if text[:2] == "--":
            self._long(text)
        else:
            self._short(text)
        return True

    def _after_dashes(self, text: str) -> None:
        """Stop reading options; a word that still looks like one is refused unless the values are certain."""
        self.ended_at = len(self.operands)
        tool = self.tool
        # Versions of git disagree about `--end-of-options`: some drop it and then read on.
        reads_on = tool.reads_on or text != "--"
        if ends_at_dashes(tool) and not reads_on:
            return
        words = self._args[self._at :]
        alone = text == "--" and tool.alone_is_file and len(words) == 1
        for word in words:
            if word.static and word.text[:1] == "-" and len(word.text) > 1:
                self._doubt(f"{word.text!r} after {text!r} looks like an option")
            elif reads_on and not word.static and word.may_be_flag and not (alone and word.single):
                self._doubt(_MAY_BECOME)

    def _dynamic(self, word: "Word") -> None:
        if word.may_be_flag and not self.tool.plain:
            self._doubt(_MAY_BECOME)

    def _partly_known(self, word: "Word") -> None:
        """Of `--name=$x` the option is known; it may end in further words."""
        name, glued, value = word.text[2:].partition("=")
        option = find_long(self._table, name) if glued and word.text[:2] == "--" else None
        if option is not None and option.takes != "none":
            self._take(option, word._replace(text=value))
        if option is None or self.tool.permute:
            self.operands.append(word)

    def _long(self, text: str) -> None:
        name, glued, value = text[2:].partition("=")
        option = find_long(self._table, name)
        if option is None:
            self._unknown(text)
        elif glued and option.takes == "none":
            self._doubt(f"option '--{name}' takes no value")
        elif glued:
            self._take(option, Word(value))
        else:
            self._take(option, self._next_value(option) if option.takes == "value" else None)

    def _short(self, text: str) -> None:
        tool, short = self.tool, self._table.short
        if tool.numeric and text[1:].isdigit():
            self.given.append(("-NUM", Word(text[1:])))
            return
        at, option = (len(text), short.get(text[1:])) if tool.one_dash and text[1:] in short else (1, None)
        sign = text[0].lstrip("-")
        while option is None:
            option = short.get(sign + text[at : at + 1])
            at += 1
            if option is None or (tool.one_dash and option.takes == "none"):
                self._unknown(f"-{text[at - 1 : at]}")
                return
            if option.takes == "none" and at < len(text):
                self._take(option, None)
                option = None
        rest = text[at:]
        if rest and not (tool.glued_values or rest.isdigit()):
            self._doubt(f"{rest!r} after '-{text[at - 1]}' may be further options")
        follows = option.takes == "value" or (option.takes == "perhaps" and self._value_follows())
        self._take(option, Word(rest) if rest else self._next_value(option) if follows else None)

    def _unknown(self, text: str) -> None:
        self.unknown = True
        self._doubt(f"option {text!r} is not in the table of read-only options")

    def _value_follows(self) -> bool:
        return self._at < len(self._args) and self._args[self._at].text[:1] not in ("-", "/", "")

    def _next_value(self, option: Option) -> "Word | None":
        if self._at >= len(self._args):
            self.refuse(f"option {option.name!r} has no value")
            return None
        word = self._args[self._at]
        self._at += 1
        tool = self.tool
        if not word.static:
            self._dynamic(word)
        elif word.text[:1] == "-" and len(word.text) > 1 and not (tool.dashed_values or tool.plain):
            self._doubt(f"the value {word.text!r} of {option.name!r} looks like an option")
        return word

    def _take(self, option: Option, value: "Word | None") -> None:
        self.given.append((option.name, value))
        kind = option.kind
        if not option.allowed:
            self.refuse(f"option {option.name!r} is not read-only")
        if value is None:
            self.changes = kind if kind in ("writes", "removes") else self.changes
            return
        if kind != "text":
            self.look(value, kind)
        if kind in PATH_KINDS:
            self.note_path(value, PATH_KINDS[kind])

    def judge(self) -> None:
        """Say what the operands mean, and whether what must be there is there."""
        tool, words = self.tool, self.operands
        if self.changes:
            self.writes.extend(word.text for word in words if word.static)
        for needed in tool.needs.split():
            if not self.has(*needed.split("/")):
                self.refuse(tool.why or f"without {needed.replace('/', ' or ')} it does more than read")
                self.writes.extend(tool.otherwise.split())
        if tool.plus:
            words = [word for word in words if not (word.static and word.text[:1] == "+" and word.text[1:].isdigit())]
        if tool.most < ANY_NUMBER or tool.least:
            self._count(words)
        if tool.first and words:
            self.look(words[0], tool.first)
        if not tool.permute and tool.operands != "inner":
            self._no_options(words[1:])
        self._judge_operands(words, tool.operands)
        if tool.alone and (self.reads or self.reads_unknown) and self.has(tool.alone):
            self.refuse(f"with {tool.alone} what it is given is looked for on disks")

    def _judge_operands(self, words: "Sequence[Word]", kind: str) -> None:
        if kind == "none" and words:
            self.refuse(f"operand {words[0].text!r} is not in the table of read-only forms")
        elif kind in ("pattern", "pattern-paths"):
            words = words[0 if self.has("-e", "-f", "--files", "--filename-pattern") else 1 :]
            kind = "file" if kind == "pattern" else "path"
        elif kind == "members":  # the first, unless an option took it
            words, kind = words[: None if self.unknown else 1], "file"
        for word in words if kind in LOOKS else ():
            self.look(word, kind)
        if kind in PATH_KINDS:
            self._note_operands(words, PATH_KINDS[kind])

    def _count(self, words: "Sequence[Word]") -> None:
        tool = self.tool
        if tool.most < ANY_NUMBER:
            several = any(not word.static and (word.glob or word.may_be_flag) for word in words)
            if len(words) > tool.most or (several and not tool.plain):
                self.refuse("a further operand may name an output")
        if len(words) < tool.least:
            self.refuse(tool.why or "operands are missing")

    def _no_options(self, words: "Sequence[Word]") -> None:
        """Where the first operand ends the options, what looks like one behind it is none to every version."""
        for word in words:
            text = word.text
            is_number = self.tool.numeric and text[1:2].isdigit()
            if word.static and text[:1] == "-" and len(text) > 1 and not is_number:
                self.refuse(f"{text!r} behind an operand may be read as an option")
            elif not word.static and not word.single:
                self._dynamic(word)

    def _note_operands(self, words: "Sequence[Word]", kind: str) -> None:
        tool = self.tool
        recursive = tool.recursive == "*" or (tool.recursive != "" and self.has(*self._table.recursive))
        if tool.lists and self.has(tool.lists):
            self.reads_unknown = True
        for word in words[: tool.most]:
            text = word.text
            special = "dev" in text or "proc" in text or (recursive and text[:1] == "/")
            if word.static and kind != "out" and (kind == "path" or not special):
                self.reads.append(text)  # what `note_path` does with a file that cannot be special
            elif not (kind == "out" and word.static and text == "/dev/null"):
                self.note_path(word, kind, recursive=recursive)
        for word in words[tool.most :]:
            self.note_path(word, "out")
        if not words and tool.default and (recursive or not tool.recursive):
            self.reads.append(tool.default)


def scan(tool: Tool, args: "Sequence[Word]") -> Scan:
    """Read the arguments of one call as the tool does; every doubt becomes a refusal."""
    result = Scan(tool, args if not tool.bundled else _unbundled(tool, args))
    result.sort()
    result.judge()
    if tool.expands and any(word.text[:1] == "@" or not (word.text or word.static or tool.plain) for word in args):
        result.refuse("a word that starts with '@' stands for words in a file")
    return result


def _unbundled(tool: Tool, args: "Sequence[Word]") -> "Sequence[Word]":
    """`tvf a.tar` as `-t -v -f a.tar`."""
    if not args or not args[0].static or args[0].text[:1] in ("-", ""):
        return args
    front, rest = list[Word](), list(args[1:])
    for letter in args[0].text:
        front.append(Word("-" + letter))
        option = compiled(tool).short.get(letter)
        front += [rest.pop(0)] if option is not None and option.takes == "value" and rest else []
    return front + rest


FRONTS: Final = {name: read_tool(text, kind="wrapper") for name, text in told("front").items()}
"""Programs with subcommands, and the options in front of those; of others nobody knows."""
_MAX_PLACES: Final = 32


def front(name: str, words: "Sequence[Word]") -> Scan:
    """Read the options in front of the subcommand of a program; `words` are its arguments."""
    found = Scan(FRONTS[name], words)
    found.sort()
    return found


def after_global_options(name: str, texts: "Sequence[str]") -> int:
    """Where the subcommand of a program stands; the first argument of a program that has none."""
    if name not in FRONTS:
        return 1
    return len(texts) - len(front(name, [known_literal(text) for text in texts[1:]]).operands)


def subcommand_places(name: str, texts: "Sequence[str]") -> list[int]:
    """Every place where the subcommand may stand: an option that is not known takes the next word, or does not."""
    tool, reached, found = FRONTS.get(name), {1}, list[int]()
    for at in range(1, min(len(texts), _MAX_PLACES)):
        text = texts[at]
        if at not in reached:
            continue
        option = None if tool is None else named(tool, text)
        if text[:1] != "-" or text == "-":
            found.append(at)
        elif option is not None and option.takes == "value":
            reached.add(at + 2)
        elif text == "--" or "=" in text or option is not None:
            reached.add(at + 1)
        else:
            reached |= {at + 1, at + 2}
    return found
