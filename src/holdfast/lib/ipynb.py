"""Notebook files as text with known places: change one cell and leave every other byte alone."""

import json
import re
import secrets
from collections.abc import Generator
from json.decoder import JSONDecoder
from typing import Any, cast

import msgspec

_SPACE = re.compile(r"[ \t\n\r]*")
_INDEX_FORM = re.compile(r"(?:cell-)?(\d{1,9})")
_DECODER = JSONDecoder()


class BrokenNotebookError(ValueError):
    """The text is no notebook we can read; the message says why."""


class Cell(msgspec.Struct, frozen=True):
    """One cell and where it stands in the text."""

    start: int
    end: int
    data: dict[str, Any]
    name: str
    """Its id, or `cell-N` counted from 0 where it has none."""

    @property
    def kind(self) -> str:
        """The cell type: code, markdown or raw."""
        return str(self.data.get("cell_type", "code"))

    @property
    def source(self) -> str:
        """The source as one string."""
        return joined(self.data.get("source", ""))


class Notebook(msgspec.Struct, frozen=True):
    """A parsed notebook."""

    text: str
    cells: tuple[Cell, ...]
    array_start: int
    """Where the `[` of the cells stands."""
    array_end: int
    """The place after its `]`."""
    has_ids: bool
    language: str

    def find(self, name: str) -> int | None:
        """Return the index of a cell by its id, or by `cell-N` or `N` counted from 0."""
        for index, cell in enumerate(self.cells):
            if cell.name == name:
                return index
        form = _INDEX_FORM.fullmatch(name)
        return int(form[1]) if form and int(form[1]) < len(self.cells) else None


def joined(value: object) -> str:
    """Join multi-line text, which notebooks store as a string or as a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(item for item in cast("list[object]", value) if isinstance(item, str))
    return ""


def parse_notebook(text: str) -> Notebook:
    """Parse a notebook and find its cells in the text.

    Raises:
        BrokenNotebookError: It is not JSON, not a notebook, or of a format before 4.
    """
    try:
        start = _skip(text, 0)
        if text[start : start + 1] != "{":
            raise BrokenNotebookError("it does not start with a JSON object")
        places = {key: (begin, end) for key, begin, end in _members(text, start)}
        if "cells" not in places:
            raise BrokenNotebookError("it has no `cells`; notebooks before format 4 must be converted with nbconvert")
        values = {key: _DECODER.raw_decode(text, begin)[0] for key, (begin, _) in places.items() if key != "cells"}
        begin, end = places["cells"]
        cells = tuple(_cells(text, begin))
    except RecursionError:
        raise BrokenNotebookError("its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise BrokenNotebookError(f"it is not valid JSON: {error.msg} in line {error.lineno}") from None
    has_ids = (values.get("nbformat", 4), values.get("nbformat_minor", 0)) >= (4, 5)
    return Notebook(text, cells, begin, end, has_ids, _language(values.get("metadata")))


def _language(metadata: object) -> str:
    known = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        part = known.get(section)
        if isinstance(part, dict) and isinstance(name := cast("dict[str, Any]", part).get(key), str):
            return name
    return "python"


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _members(text: str, start: int) -> Generator[tuple[str, int, int]]:
    """Yield key, value start and value end of an object whose `{` stands at `start`."""
    position = _skip(text, start + 1)
    if text[position : position + 1] == "}":
        return
    while True:
        if text[position : position + 1] != '"':
            raise json.JSONDecodeError("a key was expected", text, position)
        key, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position : position + 1] != ":":
            raise json.JSONDecodeError("a colon was expected", text, position)
        begin = _skip(text, position + 1)
        _, end = _DECODER.raw_decode(text, begin)
        yield key, begin, end
        position = _skip(text, end)
        if text[position : position + 1] == "}":
            return
        if text[position : position + 1] != ",":
            raise json.JSONDecodeError("a comma was expected", text, position)
        position = _skip(text, position + 1)


def _cells(text: str, start: int) -> Generator[Cell]:
    if text[start : start + 1] != "[":
        raise BrokenNotebookError("its `cells` are not a list")
    position = _skip(text, start + 1)
    index = 0
    while text[position : position + 1] != "]":
        data, end = _DECODER.raw_decode(text, position)
        if not isinstance(data, dict):
            raise BrokenNotebookError(f"cell {index} is not an object")
        cell = cast("dict[str, Any]", data)
        name = cell.get("id")
        yield Cell(position, end, cell, name if isinstance(name, str) and name else f"cell-{index}")
        index += 1
        position = _skip(text, end)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)


def replace_cell(book: Notebook, index: int, source: str, kind: str | None) -> str:
    """Give a cell another source, and another type if asked; results of the old source are cleared."""
    cell = book.cells[index]
    style = _Style(book)
    if kind is not None and kind != cell.kind:
        data = _of_kind({**cell.data, "source": _like(cell, source)}, kind)
        return book.text[: cell.start] + style.dump(data, depth=2) + book.text[cell.end :]
    changes: dict[str, Any] = {"source": _like(cell, source)}
    if cell.kind == "code":
        changes |= {"outputs": [], "execution_count": None}
    text = book.text
    # From the back, so that the places in front stay right.
    for key, begin, end in sorted(_members(text, cell.start), key=lambda member: -member[1]):
        if key in changes and cell.data[key] != changes[key]:
            text = text[:begin] + style.dump(changes[key], depth=3) + text[end:]
    return text


def insert_cell(book: Notebook, index: int, source: str, kind: str) -> tuple[str, str]:
    """Insert a cell so that it gets the given index; returns the text and the new cell's name."""
    style = _Style(book)
    data: dict[str, Any] = {"cell_type": kind}
    name = f"cell-{index}"
    if book.has_ids:
        name = data["id"] = _fresh_id(book)
    data |= {"metadata": {}, "source": source.splitlines(keepends=True)}
    cell = style.dump(_of_kind(data, kind), depth=2)
    if not book.cells:
        inside = style.gap(2) + cell + style.gap(1) if style.unit is not None else cell
        return book.text[: book.array_start] + f"[{inside}]" + book.text[book.array_end :], name
    if index < len(book.cells):
        at = book.cells[index].start
        return book.text[:at] + cell + "," + style.between(book) + book.text[at:], name
    at = book.cells[-1].end
    return book.text[:at] + "," + style.between(book) + cell + book.text[at:], name


def delete_cell(book: Notebook, index: int) -> str:
    """Remove a cell."""
    cells = book.cells
    if len(cells) == 1:
        return book.text[: book.array_start] + "[]" + book.text[book.array_end :]
    if index + 1 < len(cells):
        return book.text[: cells[index].start] + book.text[cells[index + 1].start :]
    return book.text[: cells[index - 1].end] + book.text[cells[index].end :]


def _like(cell: Cell, source: str) -> str | list[str]:
    return source if isinstance(cell.data.get("source"), str) else source.splitlines(keepends=True)


def _of_kind(data: dict[str, Any], kind: str) -> dict[str, Any]:
    ordered = {**data, "cell_type": kind}
    ordered.pop("outputs", None)
    ordered.pop("execution_count", None)
    ordered.setdefault("metadata", {})
    if kind == "code":
        ordered |= {"execution_count": None, "outputs": []}
        ordered.pop("attachments", None)
    return dict(sorted(ordered.items()))


def _fresh_id(book: Notebook) -> str:
    taken = {cell.name for cell in book.cells}
    while (name := secrets.token_hex(4)) in taken:
        pass
    return name


class _Style:
    """How a notebook is laid out, learnt from its cells."""

    def __init__(self, book: Notebook) -> None:
        first = book.cells[0].start if book.cells else book.array_end - 1
        lead = book.text[book.array_start + 1 : first]
        self.unit: str | None = None
        if "\n" in lead and book.cells:
            indent = lead.rpartition("\n")[2]
            self.unit = indent[: max(1, len(indent) // 2)]
        elif "\n" in book.text.strip():
            self.unit = " "
        self._ascii = book.text.isascii() and "\\u" in book.text
        self._end = "\r\n" if "\r\n" in book.text else "\n"
        self._tight = '":' in book.text and '": ' not in book.text

    def gap(self, depth: int) -> str:
        """Return the line end and indentation at a depth."""
        return self._end + (self.unit or "") * depth

    def between(self, book: Notebook) -> str:
        """Return the white space after a comma between cells."""
        if len(book.cells) > 1:
            found = book.text[book.cells[0].end : book.cells[1].start]
            return found[found.index(",") + 1 :]
        return self.gap(2) if self.unit is not None else ("" if self._tight else " ")

    def dump(self, value: object, *, depth: int) -> str:
        """Write a value as it would stand at a depth."""
        if self.unit is None:
            separators = (",", ":") if self._tight else (", ", ": ")
            return json.dumps(value, ensure_ascii=self._ascii, separators=separators)
        text = json.dumps(value, ensure_ascii=self._ascii, indent=self.unit)
        return text.replace("\n", self.gap(depth))
