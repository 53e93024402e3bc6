"""The lines between `---` at the start of a Markdown file: YAML where it is YAML, else line by line.

People write these by hand, and one file in twenty is no valid YAML: a colon in a sentence, a glob without quotes. So
what YAML refuses is read as one text for each `key: value` line, and nothing is lost. Every scalar stays the text that
was written (`3.0` is no number, `yes` no truth value). Tags mean nothing, anchors and depth are refused, and the parser
gives events, not objects: whatever the file says, nothing is made of it but texts, lists and mappings.
"""

import re
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

__all__ = ["HEAD_BYTES", "FrontMatter", "Value", "front_matter_text", "read_front_matter", "split_outside", "texts"]

HEAD_BYTES: Final = 65_536
"""So much of a file is searched for the end of its front matter."""
_MAX_DEPTH: Final = 16
_MAX_EVENTS: Final = 20_000
_OPEN: Final = re.compile(r"\ufeff?(?:[ \t]*\n)*---[ \t]*\n")
_CLOSE: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_KEY: Final = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+|$)")
# What YAML reads as one plain or simply quoted text: most files have nothing else, and need no parser.
_SAFE: Final = r"[A-Za-z0-9_/.$(<][^\n]*"
_QUOTED: Final = r"\"([^\"\\]*)\"|'([^']*)'"
_WORDS: Final = r"\[((?: *[A-Za-z0-9_./]+(?:-[A-Za-z0-9_./]+)* *,)*(?: *[A-Za-z0-9_./]+(?:-[A-Za-z0-9_./]+)* *)?)\]"
_PLAIN: Final = re.compile(rf"([A-Za-z_][A-Za-z0-9_-]*): (?:({_SAFE})|(?:{_QUOTED})|{_WORDS}) *")
_ITEM: Final = re.compile(rf"- (?:({_SAFE})|(?:{_QUOTED})) *")
_BARE_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*:")

Value: TypeAlias = "str | list[Value] | dict[str, Value]"


class FrontMatter(NamedTuple):
    """A file taken apart."""

    fields: dict[str, Value]
    body: str
    """The rest, with `\\n` at the end of its lines."""
    problem: str = ""
    """Why it is no valid YAML; the fields are then what its lines say."""
    found: bool = True
    """False: there is no front matter, all of it is body."""


def read_front_matter(text: str) -> FrontMatter:
    """Take the front matter off. Text without a closing `---` in its first 64 KB has none."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    opened = _OPEN.match(text)
    closed = None if opened is None else _CLOSE.search(text, opened.end(), HEAD_BYTES)
    if opened is None or closed is None:
        return FrontMatter({}, text.removeprefix("\ufeff"), found=False)
    inner = text[opened.end() : closed.start()]
    body = text[closed.end() + 1 :]
    simple = _simple(inner)
    if simple is not None:
        return FrontMatter(simple, body)
    fields, problem = _of_yaml(inner)
    return FrontMatter(_of_lines(inner) if fields is None else fields, body, problem)


def front_matter_text(text: str) -> str | None:
    """The lines of the front matter as they are written; None where there is none."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    opened = _OPEN.match(text)
    closed = None if opened is None else _CLOSE.search(text, opened.end(), HEAD_BYTES)
    return None if opened is None or closed is None else text[opened.end() : closed.start()]


def texts(value: "Value | None") -> list[str]:
    """The texts of a field that is a list: `a, b`, `[a, "b"]` or lines of `- item`."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str) and item]
    if not isinstance(value, str):
        return []
    bare = value.strip()
    is_list = bare.startswith("[") and bare.endswith("]")
    return [item for part in split_outside(bare[1:-1] if is_list else bare) if (item := _scalar(part))]


def split_outside(text: str, *, separators: str = ",", brackets: str = "{}") -> list[str]:
    """Split at separators outside brackets and quotes."""
    parts: list[str] = []
    depth = start = 0
    quote = ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and (at == start or not text[at - 1].isalnum()):
            quote = char
        elif char in brackets:
            depth = max(0, depth + (1 if brackets.index(char) % 2 == 0 else -1))
        elif char in separators and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


# -- without a parser


def _simple(inner: str) -> dict[str, Value] | None:
    """The fields, where every line is one that can be read only one way; None: a parser has to look."""
    fields: dict[str, Value] = {}
    below: _Below | None = None
    for line in inner.split("\n"):
        if not line or line[0] == "#":
            if line and _is_odd(line):
                return None
            continue
        if line[0] == " ":
            if below is None or not below.takes(line):
                return None
            continue
        key, value = _simple_pair(line)
        if value is None:
            return None
        below = None
        if value == "" and line.endswith(":"):
            below = _Below(fields, key)
        fields[key] = value
    return fields


def _simple_pair(line: str) -> tuple[str, str | list[Value] | None]:
    """A line of one key and one text or short list; the value is None where it may be something else."""
    match = _PLAIN.fullmatch(line)
    if match is None:
        return (line[:-1], "") if _BARE_KEY.fullmatch(line) else ("", None)
    if _is_odd(line):
        return "", None
    if match[2] is not None:
        return match[1], _plain_text(match[2])
    if match[5] is not None:
        return match[1], [word for part in match[5].split(",") if (word := part.strip(" "))]
    return match[1], match[3] if match[3] is not None else match[4]


def _plain_text(text: str) -> str | None:
    bare = text.rstrip(" ")
    return None if ": " in bare or " #" in bare or bare.endswith(":") else bare


def _is_odd(text: str) -> bool:
    """Whether a character stands in it that YAML does not take as it is."""
    return not text.isprintable() if text.isascii() else _odd_character().search(text) is not None


@cache
def _odd_character() -> re.Pattern[str]:
    # Compiled when first needed: ranges this wide take milliseconds, and nearly every line is ASCII.
    return re.compile(r"[^ -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class _Below:
    """Lines that stand under a key alone: all of them items, or all of them pairs, equally far in."""

    def __init__(self, fields: dict[str, Value], key: str) -> None:
        self._fields = fields
        self._key = key
        self._depth = 0

    def takes(self, line: str) -> bool:
        bare = line.lstrip(" ")
        depth = len(line) - len(bare)
        self._depth = self._depth or depth
        value = self._fields[self._key]
        if depth != self._depth or not bare:
            return False
        if bare.startswith("- "):
            match = _ITEM.fullmatch(bare)
            item = None if match is None else _plain_text(match[1]) if match[1] is not None else match[2] or match[3]
            if not item or isinstance(value, dict) or _is_odd(bare):
                return False
            self._fields[self._key] = [*value, item]
            return True
        key, item = _simple_pair(bare)
        if item is None or (item == "" and bare.endswith(":")) or isinstance(value, list):
            return False
        self._fields[self._key] = {**(value if isinstance(value, dict) else {}), key: item}
        return True


# -- YAML


def _of_yaml(inner: str) -> tuple[dict[str, Value] | None, str]:
    """The fields, or why there are none."""
    try:
        import yaml  # noqa: PLC0415 - most files need no parser
    except ImportError:
        return None, "PyYAML is not installed, so only simple lines are understood"
    reader: Any = yaml
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        # Printable characters that YAML 1.1 does not know (control characters) are errors of its reader.
        found = _built(reader.parse(inner, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "" if mark is None else f"line {mark.line + 2}: "
        return None, f"{place}{error.problem or error.context or 'not valid YAML'}"
    except (yaml.YAMLError, _RefusedError, UnicodeError, RecursionError) as error:
        return None, str(error).partition("\n")[0]
    if not isinstance(found, dict):
        return None, "it is not a list of `key: value` lines"
    return found, ""


class _RefusedError(ValueError):
    """It is YAML, but nothing that belongs here."""


def _built(events: Any) -> Value:
    """Texts, lists and mappings from the parser's events, without recursion."""
    top: list[Value] = []
    stack: list[tuple[list[Value] | dict[str, Value], list[Value]]] = [(top, [])]
    for count, event in enumerate(events):
        if count > _MAX_EVENTS:
            raise _RefusedError("it has too many parts")
        kind = type(event).__name__
        if getattr(event, "anchor", None) is not None:
            raise _RefusedError("anchors (`&`) and references to them (`*`) are not read")
        if kind == "ScalarEvent":
            _put(stack[-1], event.value)
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            if len(stack) > _MAX_DEPTH:
                raise _RefusedError(f"it is more than {_MAX_DEPTH} levels deep")
            stack.append(([] if kind == "SequenceStartEvent" else {}, []))
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            done, _ = stack.pop()
            _put(stack[-1], done)
    if len(top) > 1:
        raise _RefusedError("it is more than one document")
    return top[0] if top else {}


def _put(into: tuple[list[Value] | dict[str, Value], list[Value]], value: Value) -> None:
    container, keys = into
    if isinstance(container, list):
        container.append(value)
    elif keys:
        key = keys.pop()
        container[key if isinstance(key, str) else str(key)] = value
    else:
        keys.append(value)


# -- lines


def _of_lines(inner: str) -> dict[str, Value]:
    """What each line says that begins with `key:`; lines further in belong to it. The first of equal keys counts."""
    fields: dict[str, Value] = {}
    key: str | None = None
    held: list[str] = []
    for line in [*inner.split("\n"), "end:"]:
        match = _KEY.match(line)
        if match is None:
            if line[:1] in {" ", "\t"} or (line.startswith("-") and held and not held[0].strip()):
                held.append(line)
            continue
        if key is not None and key not in fields:
            fields[key] = _held(held)
        key, held = match[1], [line[match.end() :]]
    return fields


def _held(lines: list[str]) -> Value:
    first, rest = lines[0].strip(), [line.strip() for line in lines[1:]]
    said = [line for line in rest if line and not line.startswith("#")]
    if (not first or first.startswith("#")) and said and all(line.startswith("- ") or line == "-" for line in said):
        return cast("list[Value]", [item for line in said if (item := _scalar(line[1:]))])
    if first in {"|", "|-", "|+"}:
        return "\n".join(rest).strip()
    if first in {">", ">-", ">+"}:
        first = ""
    return " ".join(filter(None, (_unquoted(first), *rest)))


def _scalar(text: str) -> str:
    bare = text.strip()
    if bare[:1] in {'"', "'"}:
        return bare[1:].partition(bare[0])[0]
    return bare.partition(" #")[0].rstrip()


def _unquoted(text: str) -> str:
    """Without the quotes around all of it; those that belong to a part stay."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text.count(text[0]) == 2:
        return text[1:-1]
    return text
