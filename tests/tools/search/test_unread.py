"""A search that cannot read every place gives what it found, and says what it could not read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import ArgumentsInvalid, ToolFailed
from holdfast.host.ripgrep import Ripgrep
from holdfast.tools.search.glob import Glob
from holdfast.tools.search.grep import Grep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_LEVEL = "d" * 200


@pytest.fixture
def too_deep(tmp_path: Path) -> Iterator[Path]:
    """A tree whose names are longer than any path may be, beside a file that can be read."""
    (tmp_path / "ok.txt").write_text("needle\n")
    handles = [os.open(tmp_path, os.O_RDONLY)]
    for _ in range(30):
        os.mkdir(_LEVEL, dir_fd=handles[-1])
        handles.append(os.open(_LEVEL, os.O_RDONLY, dir_fd=handles[-1]))
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=handles[-1]))
    yield tmp_path
    os.unlink("leaf", dir_fd=handles[-1])
    os.close(handles.pop())
    while handles:  # what cleans up behind tests does not come down there either
        os.rmdir(_LEVEL, dir_fd=handles[-1])
        os.close(handles.pop())


@pytest.mark.usefixtures("too_deep")
def test_a_directory_too_deep_to_reach_does_not_cost_the_rest(session: Any) -> None:
    found = session.call(Grep(Ripgrep()), pattern="needle")
    assert found.data["filenames"] == ["ok.txt"]
    assert found.text.startswith("ok.txt\n[1 place could not be read: ddd")
    assert found.text.endswith("(os error 36)]")
    assert len(found.text) < 500
    listed = session.call(Glob(Ripgrep()), pattern="**/*.txt")
    assert listed.data["filenames"] == ["ok.txt"]
    assert "[1 place could not be read: ddd" in listed.text


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything; the others here stand in for it")
def test_an_unreadable_directory_does_not_cost_the_rest(session: Any, tmp_path: Path) -> None:
    (tmp_path / "ok.txt").write_text("needle\n")
    (tmp_path / "locked").mkdir(mode=0)
    found = session.text(Grep(Ripgrep()), pattern="needle")
    assert found == "ok.txt\n[1 place could not be read: locked: Permission denied (os error 13)]"


@pytest.fixture
def says(tmp_path: Path) -> Callable[..., Ripgrep]:
    """A program that writes what it is told, as ripgrep does, and ends with a code."""

    def make(errors: bytes, *, output: bytes = b"./found\\0", code: int = 2) -> Ripgrep:
        (tmp_path / "errors").write_bytes(errors)
        program = tmp_path / "rg"
        program.write_bytes(b"#!/bin/sh\nprintf '%b'\ncat errors >&2\nexit %d\n" % (output, code))
        program.chmod(0o755)
        return Ripgrep(str(program))

    return make


DENIED = "Permission denied (os error 13)"


def test_several_places_are_counted_and_the_first_are_named(session: Any, says: Callable[..., Ripgrep]) -> None:
    errors = "".join(f"rg: ./p{number}: {DENIED}\n" for number in range(5000)).encode()
    text = session.text(Grep(says(errors)), pattern="x")
    named = "; ".join(f"p{number}: {DENIED}" for number in range(3))
    assert text == f"found\n[5,000 places could not be read: {named}; …]"


def test_a_name_with_an_escape_or_a_new_line_fakes_nothing(session: Any, says: Callable[..., Ripgrep]) -> None:
    errors = f"rg: ./a\nrg: \x1b[31mb: {DENIED}\nrg: ./line\nend: {DENIED}\n".encode()
    text = session.text(Grep(says(errors)), pattern="x")
    assert "\x1b" not in text
    assert "'a\\nrg: \\x1b[31mb': Permission" in text
    assert "'line\\nend': Permission" in text


def test_what_a_rule_hides_is_counted_and_not_named(session: Any, says: Callable[..., Ripgrep]) -> None:
    search = says(f"rg: ./secret/plans: {DENIED}\n".encode())
    session.hide("/secret")
    text = session.text(Grep(search), pattern="x")
    assert text == "found\n[1 place could not be read: …]"


def test_a_file_that_went_away_during_the_search_is_told(session: Any, says: Callable[..., Ripgrep]) -> None:
    gone = "No such file or directory (os error 2)"
    search = says(f"rg: ./a: {gone}\nrg: ./b: IO error for operation on ./b: {gone}\n".encode(), output=b"")
    assert session.text(Grep(search), pattern="x") == (
        f"No matches found.\n[2 places could not be read: a: {gone}; b: {gone}]"
    )


def test_a_place_that_cannot_be_read_itself_is_an_error(session: Any, says: Callable[..., Ripgrep]) -> None:
    with pytest.raises(ToolFailed, match=r"cannot search '\.': Permission denied"):
        session.call(Glob(says(f"rg: .: {DENIED}\n".encode(), output=b"")), pattern="*")


def test_a_refused_pattern_is_still_an_error(session: Any, says: Callable[..., Ripgrep]) -> None:
    with pytest.raises(ArgumentsInvalid, match="regex parse error"):
        session.call(Grep(Ripgrep()), pattern="(")
    mixed = f"rg: regex parse error:\n    (\nerror: unclosed group\nrg: ./x: {DENIED}\n".encode()
    with pytest.raises(ArgumentsInvalid, match="unclosed group"):
        session.call(Grep(says(mixed, output=b"")), pattern="(")


def test_a_search_that_cannot_start_is_an_error(session: Any, tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="could not be started: No such file"):
        session.call(Grep(Ripgrep(str(tmp_path / "nothing"))), pattern="x")


@pytest.mark.parametrize("ending", ["exit 101", "kill -9 $$"])
def test_a_search_that_dies_is_an_error(session: Any, tmp_path: Path, ending: str) -> None:
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\nprintf './found\\0'\n{ending}\n")
    program.chmod(0o755)
    with pytest.raises(ToolFailed, match="died with exit code"):
        session.call(Grep(Ripgrep(str(program))), pattern="x")


def test_bad_lines_in_an_ignore_file_are_no_trouble(session: Any, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("[\n***[\n")
    (tmp_path / "a").write_text("needle\n")
    assert session.text(Grep(Ripgrep()), pattern="needle", output_mode="files_with_matches") == "a"
