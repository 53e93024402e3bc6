"""Where each command of a list runs: what the analysis says holds in a real bash."""

import itertools
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.permissions.shell.text.analysis import Analysis, analyse

BASH = shutil.which("bash") or "/bin/bash"
SCRIPTS = 90
MOVES = ["cd a", "cd b", "cd ..", "cd a/b", "cd nope", "pushd a"]
BEHIND = ["", "", "", " 2>/dev/null", " 2>&1", " >/dev/null", " <<< x", " 2>/dev/null 2>&1"]
OPERATORS = [" | ", " | ", " | ", " && ", " && ", "; ", " || "]


class Maker:
    """Makes lists of moves and of a program that notes where it runs."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.count = 0

    def command(self, depth: int) -> str:
        self.count += 1
        pick = self.chance.choice
        text = pick(MOVES) if self.chance.random() < 0.4 else f"note {self.count} {pick('001')}"
        shape = self.chance.random()
        if depth and shape < 0.2:
            inner = self.several(depth - 1, 2)
            text = pick([f"{{ {inner}; }}", f"({inner})", f"! {text}", f"if {inner}; then {text}; fi"])
        return text + pick(BEHIND)

    def several(self, depth: int, most: int) -> str:
        text = self.command(depth)
        for _ in range(self.chance.randint(0, most)):
            text += self.chance.choice(OPERATORS) + self.command(depth)
        return text

    def script(self) -> str:
        text = self.several(2, 6)
        if self.chance.random() < 0.3:
            operator = self.chance.choice([" | ", " && "])
            pieces = text.split(operator)
            pieces[self.chance.randrange(len(pieces))] += " <<E"
            text = operator.join(pieces) + "\nx\nE\n" + self.several(1, 2)
        return text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("directories")
    for names in itertools.product("ab", repeat=4):
        root.joinpath("tree", *names).mkdir(parents=True)
    program = root / "bin" / "note"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$1 $PWD" >> "$NOTES"\nexit "$2"\n')
    program.chmod(0o755)
    return root


def ran(text: str, place: Path) -> list[tuple[str, str]]:
    """Run it: the number of each `note` and the directory it ran in."""
    notes, tree = place / "notes", place / "tree"
    notes.write_text("")
    environment = {"PATH": f"{place / 'bin'}:/usr/bin:/bin", "NOTES": str(notes)}
    subprocess.run(
        [BASH, "-c", text],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    pairs = (line.split(" ", 1) for line in notes.read_text().splitlines())
    return [(number, os.path.relpath(cwd, tree).removesuffix(".") if cwd == str(tree) else os.path.relpath(cwd, tree))
            for number, cwd in pairs]  # fmt: skip


def told(found: Analysis, number: str, cwd: str) -> bool:
    notes = [part for part in found.parts if part.name == "note" and part.texts[1] == number]
    return any(part.cwds is None or cwd in part.cwds for part in notes)


@pytest.mark.parametrize("seed", range(3))
def test_no_command_runs_in_a_directory_that_the_analysis_leaves_out(seed: int, place: Path) -> None:
    maker = Maker(seed)
    judged = 0
    for _ in range(SCRIPTS // 3):
        maker.count = 0
        text = maker.script()
        found = analyse(text)
        if not found.doubt:
            judged += 1
            assert [pair for pair in ran(text, place) if not told(found, *pair)] == [], text
    assert judged > SCRIPTS // 6


@pytest.mark.parametrize(
    "text",
    [
        "echo a | cat | cat && cd /proc/self && cat environ",
        "echo a | cat | cat && cd sub && git log",
        "echo a | cat | cat && cd sub; git log",
        "echo a | cat | cat | cat || cd sub | cat || cd sub && git log",
        "cd /proc/self && ls 2>/dev/null | cat environ",
        "cd /proc/self && ls 2>&1 | cat && cat environ",
        "cd sub && ls 2>/dev/null | head; git log",
        "cd sub <<E && git log\nx\nE\n",
        "echo a | cat <<E && cd sub\nx\nE\ngit log",
    ],
)
def test_a_move_that_the_grammar_hides_in_a_pipeline_is_seen(text: str) -> None:
    assert not analyse(text).read_only


@pytest.mark.parametrize(
    ("text", "cwds"),
    [
        ("ls | sort | uniq && cd sub && cat x", ("sub",)),
        ("ls | sort | uniq | head -1 || cd sub && cat x", ("", "sub")),
        ("cd sub && ls 2>&1 | cat x", ("sub",)),
        ("cat <<E && cd sub | ls || cat x\nE\ncat x", ("",)),
        ("cd sub | sort | uniq && cat x", ("",)),
        ("ls | { cd sub; } 2>&1 | cat x", ("",)),
    ],
)
def test_a_list_behind_a_long_pipeline_runs_in_the_shell_itself(text: str, cwds: tuple[str, ...]) -> None:
    assert sorted(analyse(text).parts[-1].cwds or ()) == sorted(cwds)


def test_only_the_stages_of_a_pipeline_have_its_output_for_their_input() -> None:
    found = analyse("a | b | c | d && e | f | g || h; i").parts
    assert {part.name: part.piped for part in found} == {
        "a": False, "b": True, "c": True, "d": True, "e": False, "f": True, "g": True, "h": False, "i": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("a | b | c | d || e x 2>&1 | f && g", ["a", "b", "c", "d", "e x 2>&1", "f", "g"]),
        ("a && b 2>x", ["a", "b 2>x"]),
        ("a | b 2>x y | c && d", ["a", "b 2>x y", "c", "d"]),
        ("a <<E | b && c >x || d\nE\ne", ["a <<E | b && c >x || d\nE", "b", "c >x", "d", "e"]),
        ("a && { b; } >x", ["a", "b", "{ b; } >x"]),
    ],
)
def test_a_redirect_belongs_to_the_last_command_of_a_list(text: str, sources: list[str]) -> None:
    found = analyse(text)
    assert [part.source for part in found.parts] == sources
    assert not found.doubt
