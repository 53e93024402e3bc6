"""`holdfast models`: what there is, what it costs here, and what would be asked."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from holdfast.cli.models import command
from holdfast.models.open import ALIASES

SETTINGS = {
    "model": "opus",
    "modelOptions": {
        "ollama:qwen3": {"price": {"input": 0, "output": 0}, "contextWindow": 40_000},
        "claude-opus-5-5": {"price": {"input": 3, "output": 9}},
    },
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOLDFAST_MODEL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "own.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_model_has_a_window_a_price_and_its_date_and_the_settings_come_first(folder: Path) -> None:
    done = CliRunner().invoke(command, ["list", "--json", "--settings", str(folder / "own.json")])
    assert done.exit_code == 0, done.output
    rows = {row["name"]: row for row in map(json.loads, done.output.splitlines())}
    assert all(row["context_window"] > 1_000 for row in rows.values())
    opus, haiku = rows["anthropic:claude-opus-5-5"], rows["anthropic:claude-haiku-4-5"]
    assert (opus["usd_per_million_input"], opus["as_of"], opus["is_chosen"]) == (3, None, True)
    assert (haiku["usd_per_million_input"], haiku["as_of"], haiku["is_chosen"]) == (1, "2026-11-15", False)
    assert rows["ollama:qwen3"]["context_window"] == 40_000


def test_what_a_short_name_means_is_listed_also_without_a_price(folder: Path) -> None:
    rows = {
        row["name"]: row for row in map(json.loads, CliRunner().invoke(command, ["list", "--json"]).output.splitlines())
    }
    assert {f"anthropic:{name}" for name in ALIASES.values()} <= set(rows)
    newest, older = rows["anthropic:claude-fable-5-2"], rows["anthropic:claude-fable-5"]
    assert (newest["usd_per_million_input"], older["usd_per_million_input"]) == (None, 10)  # no guess from a neighbour


def test_one_provider_is_listed_with_its_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    done = CliRunner().invoke(command, ["list", "gemini"])
    assert "gemini:gemini-2.5-pro" in done.output
    assert "gemini: key in GOOGLE_API_KEY" in done.output
    assert "anthropic" not in done.output.partition("Short names")[0]
    assert "as of 2026-11-15; prices of gemini as of 2026-03" in done.output


def test_an_unknown_provider_is_named_with_the_known_ones(folder: Path) -> None:
    del folder
    done = CliRunner().invoke(command, ["list", "google"])
    assert done.exit_code != 0
    assert "bedrock" in str(done.exception)
