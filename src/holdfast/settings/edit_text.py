"""Change a list in JSON text by the smallest edit: the rest of the file keeps every byte of its layout."""

from collections.abc import Iterable, Sequence

import msgspec

from holdfast.lib.positions import Array, JsonTextError, Node, Object, Scalar, parse
from holdfast.settings.errors import SettingsError

_DEFAULT_INDENT = "  "


def add_to_list(text: str, path: tuple[str, ...], values: Sequence[str]) -> str:
    """Return the text with the values added to the list at a path of keys; values that are there stay as they are.

    Missing keys and an empty text are filled in. The text is expected to be valid settings.
    """
    if not values:
        return text
    if not text.strip("\ufeff \t\r\n"):
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        text = f"{bom}{{}}\n"
    root = _parsed(text)
    parent, depth = _deepest(root, path)
    node = parent.members.get(path[depth]) if depth == len(path) - 1 else None
    if isinstance(node, Array):
        present = {item.value for item in node.items if isinstance(item, Scalar)}
        missing = [value for value in dict.fromkeys(values) if value not in present]
        changed = _insert(text, node, [_Entry(_quoted(value)) for value in missing]) if missing else text
    elif isinstance(null := parent.members.get(path[depth]), Scalar) and null.value is None:
        changed = _fill_null(text, null, path[depth + 1 :], values)
    else:
        changed = _insert(text, parent, [_nested(path[depth:], list(dict.fromkeys(values)))])
    _parsed(changed)
    return changed


def set_list(text: str, path: tuple[str, ...], values: Sequence[str]) -> str:
    """Return the text with these values and no others in the list at a path of keys; those that are there stay."""
    if text.strip("\ufeff \t\r\n"):
        node = _at(_parsed(text), path)
        items = node.items if isinstance(node, Array) else []
        text = remove_from_list(text, path, {item.value for item in items if isinstance(item, Scalar)} - {*values})
    return add_to_list(text, path, values)


def set_value(text: str, path: tuple[str, ...], value: str | float | bool) -> str:  # noqa: FBT001  # a value, not a switch
    """Return the text with a scalar at a path of keys; missing keys are filled in."""
    if not text.strip("\ufeff \t\r\n"):
        text = f"{text[:1].strip()}{{}}\n"
    root = _parsed(text)
    parent, depth = _deepest(root, path)
    written = _quoted(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    node = parent.members.get(path[depth])
    if node is not None and depth == len(path) - 1:
        return text[: node.start] + written + text[node.end :]
    entry = _Entry(f"{_quoted(path[-1])}: {written}")
    for key in reversed(path[depth:-1]):
        entry = _Entry(f"{_quoted(key)}: ", [entry], "{}")
    return _insert(text, parent, [entry])


def remove_from_list(text: str, path: tuple[str, ...], values: Iterable[object]) -> str:
    """Return the text without the values in the list at a path of keys."""
    gone = set(values)
    node = _at(_parsed(text), path)
    if not isinstance(node, Array):
        return text
    items = node.items
    goes = [isinstance(item, Scalar) and item.value in gone for item in items]
    first = next((at for at, is_gone in enumerate(goes) if not is_gone), None)
    if first is None:
        return text[: node.start + 1] + text[node.end - 1 :] if items else text
    for at in range(len(items) - 1, first, -1):
        if goes[at]:
            text = text[: items[at - 1].end] + text[items[at].end :]
    return text[: items[0].start] + text[items[first].start :]


def _fill_null(text: str, null: Scalar, keys: tuple[str, ...], values: Sequence[str]) -> str:
    """Put the list, below these keys, in place of a null: that key is there, and means nothing."""
    written = f"[{', '.join(_quoted(value) for value in dict.fromkeys(values))}]"
    for key in reversed(keys):
        written = f"{{{_quoted(key)}: {written}}}"
    return text[: null.start] + written + text[null.end :]


def _at(root: Node, path: tuple[str, ...]) -> Node | None:
    node: Node | None = root
    for key in path:
        node = node.members.get(key) if isinstance(node, Object) else None
    return node


class _Entry:
    """Something to insert: an element, or a key with a list below further keys."""

    def __init__(self, head: str, elements: Sequence["_Entry"] = (), brackets: str = "") -> None:
        self.head = head
        self.elements = elements
        self.brackets = brackets

    def render(self, indent: str, unit: str, eol: str) -> str:
        """Write the entry over several lines, or in one line when there is no unit of indentation."""
        if not self.brackets:
            return self.head
        opening, closing = self.brackets
        if not unit:
            inner = ", ".join(element.render("", "", "") for element in self.elements)
            return f"{self.head}{opening}{inner}{closing}"
        deeper = indent + unit
        inner = f",{eol}".join(deeper + element.render(deeper, unit, eol) for element in self.elements)
        return f"{self.head}{opening}{eol}{inner}{eol}{indent}{closing}"


def _nested(keys: tuple[str, ...], values: list[str]) -> _Entry:
    entry = _Entry(f"{_quoted(keys[-1])}: ", [_Entry(_quoted(value)) for value in values], "[]")
    for key in reversed(keys[:-1]):
        entry = _Entry(f"{_quoted(key)}: ", [entry], "{}")
    return entry


def _deepest(root: Node, path: tuple[str, ...]) -> tuple[Object, int]:
    """Return the innermost object that exists on the way, and how many keys lead to it."""
    assert isinstance(root, Object)
    parent, depth = root, 0
    while depth < len(path) - 1 and isinstance(inner := parent.members.get(path[depth]), Object):
        parent, depth = inner, depth + 1
    return parent, depth


def _insert(text: str, node: Array | Object, entries: Sequence[_Entry]) -> str:
    lines = text.split("\n")
    eol = "\r\n" if lines[0].endswith("\r") else "\n"
    unit = _unit(lines)
    last = node.items[-1] if isinstance(node, Array) and node.items else None
    last_line = last.line if last is not None else 0
    if isinstance(node, Object) and node.members:
        name, last = list(node.members.items())[-1]
        last_line = node.key_lines[name]
    if last is None:
        return _fill(text, node, entries, (_indent(lines[node.line - 1]), unit, eol))
    if last_line == node.line:
        added = "".join(f", {entry.render('', '', '')}" for entry in entries)
    else:
        indent = _indent(lines[last_line - 1])
        added = "".join(f",{eol}{indent}{entry.render(indent, unit, eol)}" for entry in entries)
    return text[: last.end] + added + text[last.end :]


def _fill(text: str, node: Array | Object, entries: Sequence[_Entry], style: tuple[str, str, str]) -> str:
    indent, unit, eol = style
    whole = text.strip("\ufeff \t\r\n")
    if "\n" not in whole and whole != "{}":
        inner = ", ".join(entry.render("", "", "") for entry in entries)
    else:
        deeper = indent + unit
        inner = eol + f",{eol}".join(deeper + entry.render(deeper, unit, eol) for entry in entries) + eol + indent
    return text[: node.start + 1] + inner + text[node.end - 1 :]


def _unit(lines: list[str]) -> str:
    """Return one step of the file's indentation: that of the first indented line."""
    return next((indent for line in lines if line.strip() and (indent := _indent(line))), _DEFAULT_INDENT)


def _indent(line: str) -> str:
    line = line.removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _quoted(value: str) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError as error:
        raise SettingsError(
            f"{value!r} holds characters that cannot be saved", advice="Write the rule with a wildcard instead."
        ) from error


def _parsed(text: str) -> Node:
    try:
        return parse(text)
    except JsonTextError as error:
        raise SettingsError(f"this is not valid JSON: {error.reason}", line=error.line, column=error.column) from error
