"""Hidden files that a line of an ignore file brings back."""

import os
from pathlib import Path

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.shell.reach.directories import is_asked_for
from holdfast.permissions.tool_facts import facts_from_input


@pytest.mark.parametrize("line", ["!.env", "!/.env", "!*", "!.e*", "!conf/.env", "!\\.env", "!.en[v]", "!.env/"])
@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore", "conf/.gitignore"])
def test_a_line_that_may_be_about_the_file_brings_it_back(line: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / name).write_text(f"dist\n{line}\n")
    assert is_asked_for(str(tmp_path / "conf" / ".env"), str(tmp_path / "home"))


def test_lines_about_other_files_do_not(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(".env\n!.env.example\n#!.env\n !.env\n")
    os.mkfifo(tmp_path / ".ignore")
    assert not is_asked_for(str(tmp_path / ".env"), str(tmp_path / "home"))
    assert is_asked_for(str(tmp_path / ".env.example"), str(tmp_path / "home"))


def test_a_plain_search_is_asked_about_when_an_ignore_file_names_the_held_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("S")
    context = PermissionContext.started_in(str(tmp_path), "default", [Rule.parse("deny", "Read(.env)")])
    call = facts_from_input("Bash", {"command": "rg S"}, cwd=str(tmp_path))
    assert decide(call, context).behavior == "allow"
    (tmp_path / ".gitignore").write_text("!.env\n")
    assert decide(call, context).behavior == "ask"
