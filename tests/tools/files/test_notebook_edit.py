"""NotebookEdit changes one cell and leaves the rest of the bytes alone."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.contract import ToolFailed
from holdfast.lib.ipynb import delete_cell, insert_cell, parse_notebook, replace_cell
from holdfast.tools.files.notebook_edit import NotebookEdit
from holdfast.tools.files.read import Read

if TYPE_CHECKING:
    from pathlib import Path


def code(source: str, cell_id: str | None = None) -> dict[str, Any]:
    output = {"name": "stdout", "output_type": "stream", "text": ["1\n"]}
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": 7}
    if cell_id:
        cell["id"] = cell_id
    return cell | {"metadata": {"tags": ["é"]}, "outputs": [output], "source": source.splitlines(keepends=True)}


def book(*cells: dict[str, Any], minor: int = 5) -> dict[str, Any]:
    language = {"language_info": {"name": "julia"}}
    return {"cells": list(cells), "metadata": language, "nbformat": 4, "nbformat_minor": minor}


THREE = book(code("a = 1", "one"), code("b = 2\nprint(b)", "two"), code("c = 3", "three"))


@pytest.fixture
def edit() -> NotebookEdit:
    return NotebookEdit()


def dump(content: dict[str, Any], style: dict[str, Any]) -> str:
    options: dict[str, Any] = {"ensure_ascii": False, **style}
    return json.dumps(content, **options)


def store(path: Path, content: dict[str, Any], **style: Any) -> str:
    text = dump(content, {"indent": 1, **style}) + "\n"
    path.write_text(text, encoding="utf-8")
    return text


def test_replacing_a_cell_touches_its_source_and_stale_results_only(session: Any, edit: Any, tmp_path: Path) -> None:
    old = store(tmp_path / "n.ipynb", THREE)
    session.call(Read(), file_path="n.ipynb")
    result = session.call(edit, notebook_path="n.ipynb", cell_id="two", new_source="b = 5\nprint(b)\n")
    new = (tmp_path / "n.ipynb").read_text("utf-8")
    cell = json.loads(new)["cells"][1]
    assert (cell["source"], cell["outputs"], cell["execution_count"]) == (["b = 5\n", "print(b)\n"], [], None)
    expected = json.loads(old)
    expected["cells"][1] |= {"source": ["b = 5\n", "print(b)\n"], "outputs": [], "execution_count": None}
    assert new == json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
    assert result.data["language"] == "julia"
    assert result.data["updated_file"] == new
    nbformat.validate(json.loads(new))


def test_inserting_and_deleting_by_id_and_by_index(session: Any, edit: Any, tmp_path: Path) -> None:
    store(tmp_path / "n.ipynb", THREE)
    session.call(Read(), file_path="n.ipynb")
    common = {"notebook_path": "n.ipynb", "edit_mode": "insert", "cell_type": "markdown"}
    session.call(edit, **common, cell_id="one", new_source="# after one")
    session.call(edit, **common, new_source="# top")
    session.call(edit, **common, cell_id="three", new_source="# end")
    session.call(edit, notebook_path="n.ipynb", cell_id="cell-1", edit_mode="delete")
    content = json.loads((tmp_path / "n.ipynb").read_text("utf-8"))
    assert ["".join(cell["source"]) for cell in content["cells"]] == [
        "# top",
        "# after one",
        "b = 2\nprint(b)",
        "c = 3",
        "# end",
    ]
    assert len({cell["id"] for cell in content["cells"]}) == 5
    nbformat.validate(content)


def test_cells_without_ids_are_named_by_index_and_stay_without(session: Any, edit: Any, tmp_path: Path) -> None:
    store(tmp_path / "n.ipynb", book(code("x"), code("y"), minor=2))
    assert 'id="cell-1"' in session.text(Read(), file_path="n.ipynb")
    insert = {"notebook_path": "n.ipynb", "edit_mode": "insert", "cell_type": "code"}
    session.call(edit, **insert, cell_id="cell-1", new_source="z")
    content = json.loads((tmp_path / "n.ipynb").read_text("utf-8"))
    assert [cell.get("id") for cell in content["cells"]] == [None] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nbformat.validate(content)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cell_id": "nope", "new_source": "x"}, "one, two, three"),
        ({"new_source": "x"}, "cell_id"),
        ({"edit_mode": "insert", "new_source": "x"}, "cell_type"),
    ],
)
def test_wrong_requests_say_what_is_missing(
    session: Any, edit: Any, tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    store(tmp_path / "n.ipynb", THREE)
    session.call(Read(), file_path="n.ipynb")
    with pytest.raises(ToolFailed, match=words):
        session.call(edit, notebook_path="n.ipynb", **arguments)


def test_reading_comes_first_and_changes_are_noticed(session: Any, edit: Any, tmp_path: Path) -> None:
    store(tmp_path / "n.ipynb", THREE)
    change = {"notebook_path": "n.ipynb", "cell_id": "one", "new_source": "x"}
    with pytest.raises(ToolFailed) as caught:
        session.call(edit, **change)
    assert caught.value.error_code == 2
    session.call(Read(), file_path="n.ipynb")
    store(tmp_path / "n.ipynb", book(code("other", "one")))
    with pytest.raises(ToolFailed) as caught:
        session.call(edit, **change)
    assert caught.value.error_code == 3


def test_a_result_that_would_not_be_valid_is_not_stored(session: Any, edit: Any, tmp_path: Path) -> None:
    broken = book(code("x", "one"))
    broken["cells"][0]["metadata"] = "no object"
    old = store(tmp_path / "n.ipynb", broken)
    session.call(Read(), file_path="n.ipynb")
    with pytest.raises(ToolFailed, match="valid"):
        session.call(edit, notebook_path="n.ipynb", cell_id="one", new_source="y")
    assert (tmp_path / "n.ipynb").read_text("utf-8") == old


STYLES = st.sampled_from(
    [
        {"indent": 1},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": 2, "ensure_ascii": True},
        {"separators": (",", ":")},
        {},
    ]
)
SOURCES = st.text(max_size=30)


@settings(max_examples=400, deadline=None)
@given(STYLES, st.lists(SOURCES, min_size=1, max_size=4), st.data())
def test_every_layout_keeps_its_other_bytes(style: dict[str, Any], sources: list[str], data: st.DataObject) -> None:
    content = book(*(code(source, f"id{n}") for n, source in enumerate(sources)))
    text = dump(content, style)
    parsed = parse_notebook(text)
    index = data.draw(st.integers(0, len(sources) - 1))
    source = data.draw(SOURCES)
    replaced = json.loads(replace_cell(parsed, index, source, None))
    content["cells"][index] |= {
        "source": source.splitlines(keepends=True),
        "outputs": [],
        "execution_count": None,
    }
    assert replaced == content
    deleted = delete_cell(parsed, index)
    assert [cell["id"] for cell in json.loads(deleted)["cells"]] == [
        f"id{n}" for n in range(len(sources)) if n != index
    ]
    inserted, name = insert_cell(parsed, index, source, "code")
    assert delete_cell(parse_notebook(inserted), index) == text
    assert json.loads(inserted)["cells"][index]["id"] == name
