"""The short road for certain words gives what the long road gives, for every command it takes."""

import json
import random
from pathlib import Path

import pytest

from holdfast.permissions.shell.programs.inspect import TABLES, inspect_command
from holdfast.permissions.shell.programs.plain import JUDGES
from holdfast.permissions.shell.programs.tool_table import GIT_READS
from holdfast.permissions.shell.text import emit
from holdfast.permissions.shell.text.analysis import Analysis, analyse
from holdfast.permissions.shell.words.quoting import known_literal

FOLDER = Path(__file__).parents[3] / "data" / "shell"
VALUES = (
    "x", "5", "-5", "a.txt", "/", "/dev/sda", "/proc/self/environ", "--", "-", "-x", "", "a:b", ":x", "HEAD~3", "*.py",
    "1,5p", "{print $1}", "s/a/b/w out", "rebase", "-exec", "-delete", ".", "..", "-e", "--help", "--version", "x=1",
    "exec", "run", "--format=%G?", "--no-index", "-O", "system(1)", "/inet/x", "+5", "(", "!", "-name", "-L", "--all",
)  # fmt: skip


def commands_of_the_corpus() -> list[str]:
    lines = [line for path in sorted(FOLDER.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line)["command"] for line in lines]


def by_the_long_road(command: str, monkeypatch: pytest.MonkeyPatch) -> Analysis:
    with monkeypatch.context() as patched:
        patched.setattr(emit, "PLAIN_JUDGES", {})
        return analyse(command, cwd="/elsewhere")


def seen(found: Analysis) -> list[object]:
    parts = [(part.argv, *part[1:]) for part in found.parts]
    return [parts, *(getattr(found, name) for name in Analysis._fields if name != "parts")]


def test_the_corpus_gets_the_same_analysis_on_both_roads(monkeypatch: pytest.MonkeyPatch) -> None:
    analyse("true")
    different: list[str] = []
    for command in commands_of_the_corpus():
        analyse.__globals__["_analyse"].cache_clear()
        short = seen(analyse(command, cwd="/elsewhere"))
        analyse.__globals__["_analyse"].cache_clear()
        if short != seen(by_the_long_road(command, monkeypatch)):
            different.append(command)
    analyse.__globals__["_analyse"].cache_clear()
    assert different == []


def options_of(name: str) -> list[str]:
    tables = [TABLES[name]] if name in TABLES else [GIT_READS[key] for key in GIT_READS] if name == "git" else []
    found: list[str] = []
    for table in tables:
        for token in table.options.split():
            for alias in token.lstrip("!").split(":")[0].split("?")[0].split("|"):
                found += [alias, f"{alias}=x", f"{alias}5", f"{alias}x", alias[: max(3, len(alias) - 2)]]
    return found or ["-n", "-e", "-s", "-i", "-v", "-F:", "-O", "-o", "-sSL", "-name", "-print", "-newer"]


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_every_judge_agrees_with_the_table_it_stands_for(name: str) -> None:
    chance = random.Random(name)
    judge, options = JUDGES[name], options_of(name)
    taken = 0
    for _ in range(2_000 if name in ("git", "grep", "find", "sed", "awk", "rg", "sort", "curl") else 200):
        words = [chance.choice((chance.choice(options), chance.choice(VALUES))) for _ in range(chance.randint(0, 5))]
        if name == "git":
            words.insert(0, chance.choice([key.split()[0] for key in GIT_READS]))
        piped = chance.random() < 0.5
        short = judge([name, *words], piped)
        if short is not None:
            taken += 1
            assert short == inspect_command(name, [known_literal(word) for word in words], stdin_is_data=piped), words
    assert taken
