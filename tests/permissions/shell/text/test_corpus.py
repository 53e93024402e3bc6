"""The corpus in tests/data/shell: one JSON object per line, as `holdfast permissions test` reads it."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.permissions.shell.text.analysis import analyse

FOLDER = Path(__file__).parents[3] / "data" / "shell"


class Case(NamedTuple):
    command: str
    read_only: bool
    kind: str


def cases(name: str) -> list[Case]:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    loaded = [json.loads(line) for line in lines]
    return [Case(line["command"], line["read_only"], line["class"]) for line in loaded]


FILES = sorted(path.name for path in FOLDER.glob("*.jsonl"))
CLASSES = sorted({(name, case.kind) for name in FILES for case in cases(name)})


@pytest.mark.parametrize(("name", "kind"), CLASSES, ids=[kind for _, kind in CLASSES])
def test_every_case_of_the_class_gets_its_verdict(name: str, kind: str) -> None:
    wrong = [
        case.command for case in cases(name) if case.kind == kind and analyse(case.command).read_only != case.read_only
    ]
    assert wrong == []


def test_the_corpus_is_broad_and_balanced() -> None:
    every = [case for name in FILES for case in cases(name)]
    assert len({case.command for case in every if not case.read_only}) >= 1_000
    assert len({case.command for case in every if case.read_only}) >= 1_000
    assert len(cases("common.jsonl")) >= 300
    assert all(case.read_only for case in cases("common.jsonl"))


def test_no_command_stands_on_both_sides() -> None:
    every = [case for name in FILES for case in cases(name)]
    harmless = {case.command for case in every if case.read_only}
    assert [case.command for case in every if not case.read_only and case.command in harmless] == []
