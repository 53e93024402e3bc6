"""Strict JSON that remembers where every value stands, so that an error or a rule can name its line.

The standard parsers throw positions away. This one keeps, for each value, its first and last offset and its line. It
is strict (RFC 8259, no comments, no trailing commas, no NaN) and bounded (size, depth, length of numbers), because
the files it reads may come from a hostile repository. Every failure is a `JsonTextError`; nothing else is raised for
any input.
"""

import re
from bisect import bisect_right
from typing import TypeAlias

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
_MAX_NUMBER_CHARS = 400
_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN_STRING = re.compile(r'"[^"\\\x00-\x1f]*"')
# A plain text with the comma and space after it, before a further text: the common element of long lists.
_LIST_ITEM = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*,[ \t\n\r]*(?=")')
# From here on as text: few files have escapes or numbers, and a pattern that is not used is never compiled.
# Some of a text at a time: the engine remembers every turn of a loop until its end.
_CONTENT = r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*){0,1000}'
_ESCAPE = r"\\(?:u([0-9a-fA-F]{4})|(.))"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][-+]?[0-9]+)?"
_AFTER_NUMBER = r"[0-9A-Za-z_.+-]"
_HALF = "[\ud800-\udfff]"
_PAIR = "([\ud800-\udbff])([\udc00-\udfff])"
_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: tuple[tuple[str, bool | None], ...] = (("true", True), ("false", False), ("null", None))
_BOM = "\ufeff"

JsonScalar: TypeAlias = str | int | float | bool | None
Json: TypeAlias = "JsonScalar | list[Json] | dict[str, Json]"


class JsonTextError(ValueError):
    """Text that is not acceptable JSON: what is wrong, and where (both counted from 1)."""

    def __init__(self, reason: str, *, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.line = line
        self.column = column


class Node:
    """A value with its place in the text: `start` and `end` are offsets, `line` counts from 1 (0 = not from a text)."""

    __slots__ = ("end", "line", "start")

    def __init__(self, start: int = 0, end: int = 0, line: int = 0) -> None:
        self.start = start
        self.end = end
        self.line = line

    def plain(self) -> Json:
        """Return the value without its positions."""
        raise NotImplementedError


class Scalar(Node):
    """A string, number, boolean or null."""

    __slots__ = ("value",)

    def __init__(self, value: JsonScalar, start: int = 0, end: int = 0, line: int = 0) -> None:
        super().__init__(start, end, line)
        self.value = value

    def plain(self) -> JsonScalar:
        """Return the value without its positions."""
        return self.value


class Array(Node):
    """A list of nodes."""

    __slots__ = ("items",)

    def __init__(self, items: list[Node], start: int = 0, end: int = 0, line: int = 0) -> None:
        super().__init__(start, end, line)
        self.items = items

    def plain(self) -> Json:
        """Return the list without positions."""
        return [item.plain() for item in self.items]


class Object(Node):
    """Named nodes. A repeated key: the last one is in `members`, the earlier ones are in `shadowed`."""

    __slots__ = ("key_lines", "members", "shadowed")

    def __init__(self, members: dict[str, Node], start: int = 0, end: int = 0, line: int = 0) -> None:
        super().__init__(start, end, line)
        self.members = members
        self.key_lines: dict[str, int] = {}
        self.shadowed: list[tuple[str, Node]] = []

    def plain(self) -> Json:
        """Return the object without positions."""
        return {name: node.plain() for name, node in self.members.items()}

    def only(self, members: dict[str, Node]) -> "Object":
        """Return the same object, at the same place, with other members."""
        other = Object(members, self.start, self.end, self.line)
        other.key_lines = self.key_lines
        return other


def located(value: Json) -> Node:
    """Wrap plain data as nodes without a place, for values that come from a program and not from a file."""
    if isinstance(value, dict):
        return Object({name: located(item) for name, item in value.items()})
    if isinstance(value, list):
        return Array([located(item) for item in value])
    return Scalar(value)


def decode(data: bytes) -> str:
    """Decode the bytes of a JSON file (UTF-8, with or without a byte order mark, which is kept)."""
    if len(data) > MAX_BYTES:
        raise JsonTextError(f"the text has {len(data)} bytes, more than the limit of {MAX_BYTES}", line=1, column=1)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise JsonTextError("the text is UTF-16; save it as UTF-8", line=1, column=1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        reason = f"byte 0x{data[error.start]:02x} is not valid UTF-8; save the text as UTF-8"
        raise JsonTextError(reason, line=before.count(b"\n") + 1, column=column) from error


def parse(text: str) -> Node:
    """Parse a whole JSON text into nodes that know their places."""
    if len(text) > MAX_BYTES:
        raise JsonTextError(f"the text has more than {MAX_BYTES} characters", line=1, column=1)
    try:
        text.encode()
    except UnicodeEncodeError as error:  # text that came from a command line with broken bytes
        line = text.count("\n", 0, error.start) + 1
        raise JsonTextError("a character here is not Unicode text", line=line, column=1) from error
    return _Scanner(text).document()


class _Scanner:
    """One pass over the text. Recursion is bounded by `MAX_DEPTH`."""

    __slots__ = ("_breaks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._breaks: list[int] = [match.start() for match in re.finditer("\n", text)]

    def line(self, offset: int) -> int:
        return bisect_right(self._breaks, offset - 1) + 1 if offset else 1

    def problem(self, offset: int, reason: str) -> JsonTextError:
        line = self.line(offset)
        line_start = self._breaks[line - 2] + 1 if line > 1 else 0
        return JsonTextError(reason, line=line, column=offset - line_start + 1)

    def skip(self, offset: int) -> int:
        match = _SPACE.match(self.text, offset)
        return match.end() if match else offset

    def document(self) -> Node:
        start = self.skip(1 if self.text.startswith(_BOM) else 0)
        if start == len(self.text):
            raise self.problem(start, "the text is empty; write {} when nothing is meant")
        node = self.value(start, 1)
        rest = self.skip(node.end)
        if rest != len(self.text):
            raise self.unexpected(rest, "the end of the text")
        return node

    def unexpected(self, offset: int, expected: str) -> JsonTextError:
        if offset >= len(self.text):
            return self.problem(offset, f"the text ends where {expected} must stand")
        if self.text.startswith(("//", "/*", "#"), offset):
            return self.problem(offset, "JSON has no comments; remove this one")
        if self.text[offset] in "'\u201c\u201d\u2018\u2019":
            return self.problem(offset, 'text must stand in straight double quotes (")')
        return self.problem(offset, f"{self.text[offset]!a} stands where {expected} must stand")

    def value(self, offset: int, depth: int) -> Node:
        text = self.text
        first = text[offset : offset + 1]
        if first == '"':
            content, end = self.string(offset)
            return Scalar(content, offset, end, self.line(offset))
        if first == "{":
            return self.object(offset, depth)
        if first == "[":
            return self.array(offset, depth)
        for word, literal in _LITERALS:
            if text.startswith(word, offset):
                end = offset + len(word)
                if re.compile(_AFTER_NUMBER).match(text, end):
                    break
                return Scalar(literal, offset, end, self.line(offset))
        if first in "-0123456789" and first:
            return self.number(offset)
        raise self.unexpected(offset, "a value")

    def number(self, offset: int) -> Scalar:
        match = re.compile(_NUMBER).match(self.text, offset)
        if match is None or re.compile(_AFTER_NUMBER).match(self.text, match.end()):
            raise self.problem(offset, "this is not JSON number")
        if match.end() - offset > _MAX_NUMBER_CHARS:
            raise self.problem(offset, f"this number has more than {_MAX_NUMBER_CHARS} characters")
        if match["fraction"] is None and match["exponent"] is None:
            return Scalar(int(match[0]), offset, match.end(), self.line(offset))
        value = float(match[0])
        if value in {float("inf"), float("-inf")}:
            raise self.problem(offset, "this number is too large")
        return Scalar(value, offset, match.end(), self.line(offset))

    def string(self, offset: int) -> tuple[str, int]:
        match = _PLAIN_STRING.match(self.text, offset)
        if match is not None:
            end = match.end()
            return self.text[offset + 1 : end - 1], end
        end = self._content_end(offset + 1)
        if not self.text.startswith('"', end):
            raise self._bad_string(offset)
        raw = self.text[offset + 1 : end]
        content = re.compile(_ESCAPE).sub(_unescape, raw)
        if re.compile(_HALF).search(content):
            # A pair of \u escapes makes one character; half a pair is no text and could not be written back.
            content = re.compile(_PAIR).sub(_joined, content)
            if re.compile(_HALF).search(content):
                raise self.problem(offset, r"this text has half of a \u surrogate pair")
        return content, end + 1

    def _content_end(self, at: int) -> int:
        while (match := re.compile(_CONTENT).match(self.text, at)) is not None and match.end() > at:
            at = match.end()
        return at

    def _bad_string(self, offset: int) -> JsonTextError:
        at = offset + 1
        while at < len(self.text):
            char = self.text[at]
            if char == '"' or char < " ":
                break
            if char == "\\":
                step = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})').match(self.text, at)
                if step is None:
                    return self.problem(at, r"this escape is not known; a backslash itself is written \\")
                at = step.end()
                continue
            at += 1
        if at < len(self.text):
            return self.problem(
                at, f"a raw control character {self.text[at]!a} stands in a text; was a quote forgotten?"
            )
        return self.problem(offset, "this text has no closing quote")

    def array(self, offset: int, depth: int) -> Array:
        if depth > MAX_DEPTH:
            raise self.problem(offset, f"the nesting is deeper than {MAX_DEPTH}")
        items: list[Node] = []
        at = self.skip(offset + 1)
        if self.text.startswith("]", at):
            return Array(items, offset, at + 1, self.line(offset))
        while True:
            at = self._plain_items(items, at)
            node = self.value(at, depth + 1)
            items.append(node)
            at = self.skip(node.end)
            if self.text.startswith("]", at):
                return Array(items, offset, at + 1, self.line(offset))
            at = self._comma(at, "]")

    def _plain_items(self, items: list[Node], at: int) -> int:
        """Take as many plain texts as are followed by a further text, without a call for each part."""
        text, line, match = self.text, self.line, _LIST_ITEM.match
        while found := match(text, at):
            items.append(Scalar(found[1], at, found.end(1) + 1, line(at)))
            at = found.end()
        return at

    def _comma(self, at: int, closing: str) -> int:
        if not self.text.startswith(",", at):
            raise self.unexpected(at, f"a comma or {closing}")
        after = self.skip(at + 1)
        if self.text.startswith(("]", "}"), after):
            raise self.problem(at, "a comma stands before the closing bracket; remove it")
        return after

    def object(self, offset: int, depth: int) -> Object:
        if depth > MAX_DEPTH:
            raise self.problem(offset, f"the nesting is deeper than {MAX_DEPTH}")
        result = Object({}, offset, offset, self.line(offset))
        at = self.skip(offset + 1)
        if self.text.startswith("}", at):
            result.end = at + 1
            return result
        while True:
            at = self._member(result, at, depth)
            if self.text.startswith("}", at):
                result.end = at + 1
                return result
            at = self._comma(at, "}")

    def _member(self, result: Object, at: int, depth: int) -> int:
        if not self.text.startswith('"', at):
            raise self.unexpected(at, "a name in double quotes")
        name, end = self.string(at)
        colon = self.skip(end)
        if not self.text.startswith(":", colon):
            raise self.unexpected(colon, "a colon")
        start = self.skip(colon + 1)
        node = self.value(start, depth + 1)
        earlier = result.members.pop(name, None)  # popped, so that the order is that of the last occurrence
        if earlier is not None:
            result.shadowed.append((name, earlier))
        result.members[name] = node
        result.key_lines[name] = self.line(at)
        return self.skip(node.end)


def _joined(pair: re.Match[str]) -> str:
    return chr(0x10000 + ((ord(pair[1]) - 0xD800) << 10) + (ord(pair[2]) - 0xDC00))


def _unescape(match: re.Match[str]) -> str:
    if match[1] is not None:
        return chr(int(match[1], 16))
    return _SHORT_ESCAPES.get(match[2], match[2])
