"""Glob finds files by name, newest first, within what may be seen."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contract import ArgumentsInvalid, ToolContext, ToolFailed
from holdfast.host.ripgrep import Ripgrep
from holdfast.lib.names import read_name, show_name
from holdfast.permissions import PermissionContext, Rule, RuleSource, decide
from holdfast.permissions.tool_facts import facts_from_input
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.search.glob import Glob

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def glob() -> Glob:
    return Glob(Ripgrep())


def make(root: Path, *names: str) -> None:
    """Create files, each one second younger than the one before."""
    for age, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1000 + age, 1000 + age))


def found(session: Any, tool: Glob, pattern: str, **more: Any) -> list[str]:
    return session.call(tool, pattern=pattern, **more).data["filenames"]


def test_files_come_newest_first_and_relative(session: Any, glob: Glob, tmp_path: Path) -> None:
    make(tmp_path, "a.py", "src/b.py", "src/deep/c.py", "src/d.txt")
    assert found(session, glob, "**/*.py") == ["src/deep/c.py", "src/b.py", "a.py"]
    assert found(session, glob, "*.py") == ["src/deep/c.py", "src/b.py", "a.py"]
    assert found(session, glob, "src/*.py") == ["src/b.py"]
    assert found(session, glob, "*.{txt,md}") == ["src/d.txt"]
    assert found(session, glob, "*.py", path="src") == ["src/deep/c.py", "src/b.py"]
    assert session.text(glob, pattern="*.zig") == "No files found."


def test_hidden_and_ignored_files_are_found_but_not_version_control(session: Any, glob: Glob, tmp_path: Path) -> None:
    make(tmp_path, ".gitignore", ".git/config", "sub/.git/x", ".hg/x", ".env", "build/out", "sub/.jj/y")
    (tmp_path / ".gitignore").write_text("build\n")
    assert set(found(session, glob, "**/*")) == {".env", ".gitignore", "build/out"}
    assert found(session, glob, "**/.git/**") == []


def test_more_than_a_hundred_are_cut_with_a_notice(session: Any, glob: Glob, tmp_path: Path) -> None:
    make(tmp_path, *(f"f{n:03}" for n in range(130)))
    result = session.call(glob, pattern="f*")
    assert result.data["numFiles"] == 100
    assert result.data["truncated"]
    assert result.data["filenames"][0] == "f129"
    assert "100 of 130" in result.text


def test_the_newest_of_thousands_are_found_whatever_order_they_are_listed_in(
    session: Any, glob: Glob, tmp_path: Path
) -> None:
    chance = random.Random(5)
    times_ns = {f"{n:04}{'x' * 80}": chance.randint(-50, 300) * 1_000_000_000 for n in range(2500)}  # most share theirs
    for name, time_ns in times_ns.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(time_ns, time_ns))
    result = session.call(glob, pattern="*x")
    assert result.data["filenames"] == sorted(times_ns, key=lambda name: (-times_ns[name], name))[:100]
    assert "100 of 2,500" in result.text
    session.hide("/0")
    visible = (name for name in times_ns if not name.startswith("0"))
    assert found(session, glob, "*x") == sorted(visible, key=lambda name: (-times_ns[name], name))[:100]


def test_absolute_patterns_and_directories_outside(session: Any, glob: Glob, tmp_path: Path) -> None:
    make(tmp_path, "work/a.py", "other/b.py", "other/deep/c.py")
    session.cwd = tmp_path / "work"
    assert found(session, glob, f"{tmp_path}/other/*.py") == [f"{tmp_path}/other/b.py"]
    assert found(session, glob, f"{tmp_path}/other/**/*.py") == [
        f"{tmp_path}/other/deep/c.py",
        f"{tmp_path}/other/b.py",
    ]
    assert found(session, glob, "../other/b.py") == [f"{tmp_path}/other/b.py"]


def test_denied_files_stay_out(session: Any, glob: Glob, tmp_path: Path) -> None:
    make(tmp_path, "a.py", "secret/b.py")
    session.hide("/secret/")
    assert found(session, glob, "*.py") == ["a.py"]


def test_odd_names_are_shown_escaped(session: Any, glob: Glob, tmp_path: Path) -> None:
    names = ["-dash.py", "line\nbreak.py", "esc\x1b[0m.py", "ü.py", "\udcff.py", "!not.py", "n" * 252 + ".py"]
    make(tmp_path, *names)
    shown = found(session, glob, "*.py")
    assert len(shown) == len(names)
    assert "'line\\nbreak.py'" in shown
    assert all(name.isprintable() for name in shown)
    assert found(session, glob, "!not.py") == ["!not.py"]


def test_links_are_not_followed_out_of_the_tree(session: Any, glob: Glob, tmp_path: Path) -> None:
    make(tmp_path, "out/x.py", "in/a.py")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    assert found(session, glob, "**/*.py", path="in") == ["in/a.py"]


@pytest.mark.parametrize("path", ["missing", "file", "/proc"])
def test_what_is_no_directory_is_refused(session: Any, glob: Glob, tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ToolFailed):
        session.call(glob, pattern="*", path=path)


@pytest.mark.parametrize("pattern", ["a\0b", "[", "{a", "\ud800"])
def test_impossible_patterns_are_refused_in_words(session: Any, glob: Glob, pattern: str) -> None:
    with pytest.raises((ToolFailed, ArgumentsInvalid)):
        session.call(glob, pattern=pattern)


def test_another_limit_counts(session: Any, tmp_path: Path) -> None:
    make(tmp_path, *(f"{number}.py" for number in range(7)))
    result = session.call(Glob(Ripgrep(), limit=5), pattern="*.py")
    assert (result.data["numFiles"], result.data["truncated"]) == (5, True)
    assert "[The newest 5 of 7;" in result.text
    assert session.call(Glob(Ripgrep(), limit=1000), pattern="*.py").data["truncated"] is False


ODD = [
    b"caf\xe9.txt",
    b"line\nbreak.txt",
    b"esc\x1b[0m.txt",
    b"back\\slash\n",
    b" space ",
    b"'quoted'",
    b"'a\\xe9'",
    b"'\xff'",
    "mark\u200e.txt".encode(),
    "nel\x85".encode(),
    b"\x85",
    b"\\x85\xff",
    "\U000e0041".encode(),
]


@pytest.mark.parametrize("raw", ODD)
def test_a_name_that_glob_shows_can_be_read_edited_and_written(session: Any, tmp_path: Path, raw: bytes) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    name = os.fsdecode(raw)
    (folder / name).write_text("one\n")
    [shown] = session.call(Glob(Ripgrep()), pattern="*", path="in").data["filenames"]
    assert shown.isprintable()
    assert "one" in session.text(Read(), file_path=shown)
    session.call(Edit(), file_path=shown, old_string="one", new_string="two")
    assert [os.fsencode(path.name) for path in folder.iterdir()] == [raw]
    assert (folder / name).read_text() == "two\n"
    assert read_name(show_name(name)) == name


@given(st.binary(min_size=1, max_size=12))
def test_every_name_is_read_back_as_it_was(raw: bytes) -> None:
    name = os.fsdecode(raw)
    assert read_name(show_name(name)) == name
    assert show_name(name).isprintable()


@pytest.mark.parametrize("text", ["'a'", "'", "''", "'a\\q'", "it's", "a\\xe9", "'~/x'", "'\\U00110000'", "'\\x41'"])
def test_a_name_that_is_not_shown_so_stays_as_it_is(text: str) -> None:
    assert read_name(text) == text


@pytest.mark.parametrize("text", ["'x\\n/../.env'", "'~/x\\n'", "'..\\n/../../.env'", "'.env'", "'./.env'"])
def test_quotes_are_no_second_spelling_of_a_plain_path(tmp_path: Path, text: str) -> None:
    assert str(ToolContext(tmp_path).resolve(text)) == f"{tmp_path}/{text}"
    assert facts_from_input("Read", {"file_path": text}, "/p").subject.value == text


def test_a_rule_about_a_name_holds_for_the_form_that_searches_show() -> None:
    deny = [Rule.parse("deny", "Read(caf*)", RuleSource("session", root="/p"))]
    context = PermissionContext.started_in("/p", "default", deny)
    assert decide(facts_from_input("Read", {"file_path": "'caf\\xe9.txt'"}, "/p"), context).behavior == "deny"
