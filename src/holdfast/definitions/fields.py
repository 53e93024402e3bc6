"""Fields of front matter as people spell them: lists of tools, switches, numbers, models."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

from holdfast.contract.names import RETIRED
from holdfast.lib.front_matter import Value, texts
from holdfast.lib.visible import visible
from holdfast.permissions.tool_facts import ALIASES, KNOWN_TOOLS
from holdfast.settings.sources import split_tool_list

__all__ = ["EFFORTS", "Fields", "ToolList", "first_line", "model_word", "tool_list"]

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_YES: Final = frozenset({"true", "yes", "on", "1"})
_NO: Final = frozenset({"false", "no", "off", "0"})
_MODELS: Final = re.compile(
    r"(?:sonnet|opus|haiku|fable|mythos|opusplan|best|default)(?:\[1m\])?|claude-[\w.@:/\[\]-]+|[a-z][\w-]*:\S+"
)
_SELF: Final = frozenset({"", "inherit", "default", "none", "null", "~"})
_MARKDOWN: Final = "#*_`> \t-"


class ToolList(NamedTuple):
    """Tools that a file names."""

    names: tuple[str, ...] | None
    """By the names they have today; None: all."""
    rules: tuple[str, ...] = ()
    """As written, with what stands in parentheses: `Bash(git *)`."""
    unknown: tuple[str, ...] = ()
    """What no tool is called."""


class Fields:
    """The fields of one file, by any of their spellings; what makes no sense is said in `warnings`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.warnings: list[str] = []

    def get(self, *names: str) -> "Value | None":
        """The first of these that is there."""
        for name in names:
            value = self.values.get(name)
            if value is not None:
                return cast("Value", value)
        return None

    def text(self, *names: str) -> str:
        """A field that is one text; a list is written as people write one."""
        value = self.get(*names)
        if isinstance(value, list):
            return "[" + ", ".join(item for item in value if isinstance(item, str)) + "]"
        return value.strip() if isinstance(value, str) else ""

    def flag(self, *names: str, default: bool = False) -> bool:
        """A switch."""
        value = self.values.get(names[0]) if len(names) == 1 else self.get(*names)
        if isinstance(value, bool):
            return value
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in _YES or word in _NO:
            return word in _YES
        if word:
            self.warnings.append(f"{names[0]} is {visible(word, limit_chars=60)!r}; write true or false")
        return default

    def number(self, *names: str) -> int | None:
        """A whole number from 1."""
        value = self.get(*names)
        if value is None or value == "":
            return None
        try:
            found = int(str(value))
        except ValueError:
            found = 0
        if found < 1:
            self.warnings.append(f"{names[0]} is {visible(str(value), limit_chars=60)!r}; write a whole number from 1")
            return None
        return found

    def choice(self, known: Iterable[str], *names: str) -> str | None:
        """One of some words."""
        word = self.text(*names)
        if not word or word in known:
            return word or None
        self.warnings.append(f"{names[0]} is {visible(word, limit_chars=60)!r}; use one of {', '.join(known)}")
        return None

    def items(self, *names: str) -> tuple[str, ...]:
        """A field that is a list."""
        value = self.get(*names)
        return tuple(texts(value))

    def mapping(self, *names: str) -> Mapping[str, Any]:
        """A field with fields of its own."""
        value = self.get(*names)
        if isinstance(value, Mapping):
            return cast("Mapping[str, Any]", value)
        if value:
            self.warnings.append(f"{names[0]} is not a mapping, so it is not used")
        return {}


def tool_list(value: "Value | None") -> ToolList:
    """Read a list of tools: text with commas or spaces, a list, `*` for all, `[]` for none; empty is as if left out."""
    if value is None or value in ("", "*", ["*"]):
        return ToolList(None)
    entries = [item for item in value if isinstance(item, str)] if isinstance(value, list) else [value]
    joined = [entry for item in entries if isinstance(item, str) for entry in split_tool_list(item.strip("[] \t"))]
    names: dict[str, None] = {}
    rules: list[str] = []
    unknown: list[str] = []
    for entry in (text.strip("\"'`") for text in joined):
        name, bracket, _ = entry.partition("(")
        name = RETIRED.get(name, ALIASES.get(name, name))
        if name == "*":
            return ToolList(None, tuple(rules), tuple(unknown))
        if name in KNOWN_TOOLS or name.startswith("mcp__"):
            names[name] = None
            rules.append(f"{name}({entry.partition('(')[2]}" if bracket else name)
        elif entry:
            unknown.append(entry)
    return ToolList(tuple(names), tuple(rules), tuple(unknown))


def model_word(fields: Fields) -> str | None:
    """The model that a file wants; None: that of whoever uses it."""
    word = fields.text("model")
    if word.lower() in _SELF:
        return None
    if _MODELS.fullmatch(word):
        return word
    if _MODELS.fullmatch(word.lower()):
        return word.lower()
    fields.warnings.append(
        f"model {visible(word, limit_chars=60)!r} is not a known one, so the model of whoever uses it is used; "
        "write sonnet, opus, haiku, inherit, a full name such as claude-sonnet-5, or provider:name"
    )
    return None


def first_line(body: str) -> str:
    """What a text says first, for people who wrote no description."""
    for line in body.split("\n", 60)[:60]:
        bare = line.lstrip(_MARKDOWN)
        bare = bare.rstrip("".join({*line[: len(line) - len(bare)], *"# \t"}))  # marks that only end here belong to it
        if bare and not line.startswith(("```", "<!--", "---", "===", "|")):
            return bare
    return ""
