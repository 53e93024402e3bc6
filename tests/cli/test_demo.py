"""The demo: a whole session without a key that really fixes a bug, and its script for everybody."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.demo_view import overlap_s, union_s
from holdfast.cli.flow import Flow
from holdfast.cli.main import run

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "src/holdfast/cli/demo_project"
SCRIPT = ROOT / "src/holdfast/cli/demo_script.jsonl"
EXAMPLE = ROOT / "examples/fix-the-failing-test.jsonl"
RECORDING = ROOT / "examples/recorded-fix.jsonl"


def test_the_demo_fixes_the_bug_and_tells_what_happened_and_why(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--fast"]) == 0
    out = capfd.readouterr().out
    for words in (
        "without a key",
        "the model writes",  # the bars
        "by working while the model wrote",
        "The demo answers for you: yes",
        "FAILED (failures=1)",
        "-    amount = subtotal(items)",
        "+    return round(subtotal(items) + shipping_for(items), 2)",
        "the rule Bash(git push *) denies it",
        ".holdfast/settings.json, line 4",
        "The tests pass.",
        "10 in 5 turns, each answered exactly once",
        "1 refused by a rule",
        "export ANTHROPIC_API_KEY",
        "ollama",
    ):
        assert " ".join(words.split()) in " ".join(out.split()), words
    assert "\x1b" not in out
    assert out.index("FAILED (failures=1)") < out.index("-    amount") < out.index("OK") < out.index("git push")


def test_the_demo_with_agents_plans_asks_and_works_in_a_worktree(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "agents", "--fast"]) == 0
    out = capfd.readouterr().out
    for words in (
        "Explore · Look at prices   Read shop/shipping.py",
        "Explore · Look at orders   Grep DISCOUNT",
        "once more from what is",
        "○ subtotal: as its documentation says",
        "│ # Take the discount once",
        "Bash(python3 -m unittest): as the plan asks",
        "▶ Take the discount once",
        "✔ Commit",
        "✓ EnterWorktree one-discount",
        "✓ Skill commit-style",
        "✓ ExitWorktree keep",
        "The tests pass.",
        "3 side by side, 5 calls of their own",
    ):
        assert " ".join(words.split()) in " ".join(out.split()), words
    assert out.index("asks to begin") < out.index("EnterWorktree") < out.index("+    return round") < out.index("OK")


def test_the_demo_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert run(["demo", "--fast"]) == 0
    assert not [name for name in os.listdir(tmp_path) if name.startswith("holdfast-demo-")]


def test_a_demo_that_does_not_end_green_says_why_and_exits_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\necho no python here\nexit 3\n", encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert run(["demo", "--fast"]) == 1
    out = capfd.readouterr().out
    assert "did not end green" in out
    assert "no python here" in out


def test_the_sample_has_one_failing_test(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "shop")
    ran = subprocess.run(
        [sys.executable, "-m", "unittest"],
        cwd=tmp_path / "shop",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "FAILED (failures=1)" in ran.stderr


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A copy of the sample, and beside it the example without its pauses."""
    shutil.copytree(SAMPLE, tmp_path / "shop")
    script = EXAMPLE.read_text("utf-8").replace('"timed": true', '"timed": false')
    (tmp_path / "script.jsonl").write_text(script, encoding="utf-8")
    return tmp_path / "shop"


def asked(project: Path, model: str) -> list[str]:
    prompt = ["-p", "The tests fail. Find out why and fix it.", "--cwd", str(project), "--model", model]
    return [*prompt, "--permission-mode", "acceptEdits", "--allowed-tools", "Bash(python3 -m unittest)"]


def is_green(project: Path) -> bool:
    tests = [sys.executable, "-m", "unittest"]
    return subprocess.run(tests, cwd=project, capture_output=True, timeout=60, check=False).returncode == 0


def test_the_example_is_the_demos_script_and_works_with_the_headless_face(
    shop: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert EXAMPLE.read_text("utf-8") == SCRIPT.read_text("utf-8")
    assert not is_green(shop)
    assert run(asked(shop, f"scripted:{shop.parent / 'script.jsonl'}")) == 0
    assert "all three tests pass" in capfd.readouterr().out
    assert is_green(shop)


def test_the_recorded_session_fixes_another_copy_when_it_is_replayed(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run(asked(shop, f"scripted:{tmp_path / 'script.jsonl'}")) == 0
    (journal,) = (tmp_path / "state").rglob("journal.jsonl")
    assert not is_green(other)
    assert run(asked(other, f"replay:{journal.parent}")) == 0
    assert "all three tests pass" in capfd.readouterr().out
    assert is_green(other)


def test_the_recording_in_the_examples_replays_on_the_sample(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recorded = [json.loads(line) for line in RECORDING.read_text("utf-8").splitlines()]
    assert not is_green(shop)
    assert run([*asked(shop, f"replay:{RECORDING}"), "--output-format", "stream-json"]) == 0
    printed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert _messages(printed) == _messages(recorded)
    assert printed[-1]["result"] == recorded[-1]["result"]
    assert is_green(shop)


def _messages(lines: list[dict[str, Any]]) -> list[str]:
    """Without what is told beside the conversation, which grows from version to version."""
    return [line["type"] for line in lines if line["type"] != "system" or line["subtype"] == "init"]


def test_spans_of_a_run_go_where_the_environment_says_and_not_into_the_answer(shop: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "holdfast", *asked(shop, f"scripted:{shop.parent / 'script.jsonl'}")],
        env={**os.environ, "OTEL_TRACES_EXPORTER": "console"},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert ran.stdout.startswith("The bug is fixed")
    assert "gen_ai" not in ran.stdout
    for name in ("invoke_agent holdfast", "execute_tool Edit", "holdfast.permission.rule", "Bash(git push *)"):
        assert name in ran.stderr


@pytest.mark.parametrize("step", [1, 3, 100])
def test_text_is_wrapped_alike_however_it_arrives(step: int) -> None:
    pieces: list[str] = []
    flow = Flow(24, pieces.append, indent=2, first="- ")
    text = "Words that are written piece by piece.\nA new line, andonewordthatistoolongforanyline ends it."
    for start in range(0, len(text), step):
        flow.feed(text[start : start + step])
    assert flow.is_open
    flow.end()
    assert not flow.is_open
    assert "".join(pieces).split("\n") == [
        "- Words that are written",
        "  piece by piece.",
        "  A new line,",
        "  andonewordthatistoolongforanyline",
        "  ends it.",
        "",
    ]


def test_time_at_work_is_counted_once_and_shared_time_is_found() -> None:
    work = [(0.0, 2.0), (1.0, 3.0), (5.0, 6.0)]
    assert union_s(work) == 4.0
    assert overlap_s(work, [(2.5, 5.5)]) == 1.0
    assert union_s([]) == 0.0


def test_a_terminal_too_narrow_for_bars_gets_none(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "25")
    assert run(["demo", "--fast"]) == 0
    out = capfd.readouterr().out
    assert "The tests pass" in out
    assert "the model writes" not in out
