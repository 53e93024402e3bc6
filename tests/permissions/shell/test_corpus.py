"""The repository's corpus of shell commands: every safety case, nearly every comfort case."""

import json
from pathlib import Path

import pytest

from holdfast.permissions.shell.analysis import analyse

CORPUS = Path(__file__).parents[2] / "data" / "shell"
FILES = sorted(path.name for path in CORPUS.glob("*.jsonl"))


def cases(name: str) -> list[tuple[str, bool]]:
    lines = (CORPUS / name).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines if line.strip()]
    return [(str(record["command"]), bool(record["read_only"])) for record in records]


@pytest.mark.parametrize("name", FILES)
def test_no_corpus_command_is_wrongly_called_read_only(name: str) -> None:
    assert [command for command, expected in cases(name) if not expected and analyse(command).read_only] == []


@pytest.mark.parametrize("name", FILES)
def test_almost_no_reading_command_is_asked_about(name: str) -> None:
    reading = [command for command, expected in cases(name) if expected]
    asked = [command for command in reading if not analyse(command).read_only]
    assert len(asked) <= len(reading) * 0.02, asked
