"""Braces, wildcards and quotes as the shell reads them, and the files behind them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.permissions.shell.reach import directories
from holdfast.permissions.shell.reach.directories import Globber
from holdfast.permissions.shell.words.expansion import Spread, spread
from holdfast.permissions.shell.words.patterns import merged_names

NAMES = [
    "a{b,c}d", "{.e{nv,x},b}", ".en{u..w}", "{01..10..3}", "{3..1}", "{c..a}", "{{a,b}", "{a}", "{}", "{a,b", "a}b",
    "{a,b}{c,d}", "x{,y}", "'{a,b}'", 'x"{a,b}"', "a\\{b,c}", "{a,'b,c'}", "{a..}", "{a,{b..d}}", "{-1..1}",
    "{1..2}{,x}",
    "~/a{b,c}", "{~,x}/.env", "'~'/x{a,b}", "{a,b}\\*", "a{'*',b}",
]  # fmt: skip


@pytest.mark.parametrize("form", NAMES)
def test_braces_become_the_words_that_bash_makes_of_them(form: str) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    made = subprocess.run(
        [bash, "--norc", "--noprofile", "-c", f"printf '%s\\n' {form}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
        env={"HOME": "/home/u"},
    ).stdout.splitlines()
    assert set(spread(form, "/home/u").names) == set(made)


PATTERNS = [
    "*", "p*", "?x", "[ab]*", "[!a]*", "[^a]*", "[a-b]x", ".*", ".e*", "'.e'*", "*.{txt,env}", "*/", "*/*", "d*/k?",
    "d/./k*",
    "d/../p*", ".*/k1", "./.?", "'*'*", "\\[*", "[[:alpha:]]x", "[]a]*", "[a", "x'?'*", "no*", "{p,q}*", "*/k{1,2}",
]  # fmt: skip


@pytest.mark.parametrize("form", PATTERNS)
def test_every_file_that_bash_finds_is_found(form: str, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    (tmp_path / "d").mkdir()
    (tmp_path / ".h").mkdir()
    for name in (
        "ax",
        "bx",
        "cx",
        "prod.env",
        "p.txt",
        ".env",
        "q",
        "*star",
        "[set",
        "[a",
        "x?",
        "d/k1",
        "d/k2",
        ".h/k1",
    ):
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("d")
    made = subprocess.run(
        [bash, "--norc", "--noprofile", "-c", f"shopt -s nullglob; printf '%s\\n' {form}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
        cwd=tmp_path,
    ).stdout.splitlines()
    found = spread(form, "/home/u")
    globber = Globber()
    seen = {Path(path) for pattern in found.patterns for path in globber.files(pattern, str(tmp_path))}
    assert {tmp_path / name for name in made if name} <= seen | {tmp_path / name for name in found.names}
    assert not globber.exhausted


@pytest.mark.parametrize("form", ["~root/x*", "~-/x", "~1/x", "{1..999}", "{a,b}" * 9, "{" * 65, "x*" * 600, "*\ud82a"])
def test_a_word_with_too_many_meanings_is_not_told(form: str) -> None:
    assert spread(form, "/home/u") == Spread(untold=True)


def test_the_directory_itself_is_where_a_pattern_starts() -> None:
    assert spread("~+/.e*", "/home/u").patterns == (".e*",)
    assert spread("~+/.env{,x}", "/home/u").names == (".env", ".envx")


def test_what_cannot_be_looked_through_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (tmp_path / f"a{number}").touch()
    monkeypatch.setattr(directories, "MAX_COMPARED", 3)
    few = Globber()
    assert few.files("b*", str(tmp_path)) == []
    assert few.exhausted
    monkeypatch.setattr(directories, "MAX_COMPARED", 100)
    monkeypatch.setattr(directories, "MAX_MATCHED", 3)
    many = Globber()
    assert len(many.files("a*", str(tmp_path))) == 3
    assert many.exhausted


def test_two_patterns_have_a_name_in_common_or_none() -> None:
    assert set(merged_names("src/prod*", ["*.env"])) == {"prod.env", "prodx.env"}
    assert list(merged_names("src/*.py", ["*.env"])) == []
    assert list(merged_names("src/a", ["*.env"])) == []
