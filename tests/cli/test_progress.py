import io
from typing import Any

import pytest

from holdfast import assemble
from holdfast.cli.progress import ProgressLines
from holdfast.events import CallFinished, CallProgressed, CallQueued, CallStarted, Event


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *events: Event) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    lines = ProgressLines(assemble())
    for event in events:
        lines.take(event)
    return stream.getvalue()


def report(**data: Any) -> CallProgressed:
    return CallProgressed("1", "Bash", {"type": "bash_progress", **data}, elapsed_s=3.2)


def test_a_long_command_has_one_moving_line_that_its_end_takes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(
        monkeypatch,
        Terminal(),
        CallStarted("1", "Bash", read_only=False),
        report(fullOutput="step 1\nstep \x1b]0;2", totalLines=2),
        CallFinished("1", "Bash", "done"),
    )
    assert text.endswith("\r\x1b[K  ⎿ 3 s  2 lines: step \\x1b]0;2\r\x1b[K")


def test_a_command_that_writes_nothing_is_seen_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "3 s  no output so far" in shown(monkeypatch, Terminal(), report(fullOutput="", totalLines=0))


def test_a_file_gets_no_moving_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), report(fullOutput="step 1", totalLines=1)) == ""


def test_a_long_line_stays_within_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = shown(monkeypatch, Terminal(), report(fullOutput="x" * 500, totalLines=1))
    assert len(text.removeprefix("\r\x1b[K")) < 60


def test_a_call_that_never_started_is_named_before_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(
        monkeypatch,
        io.StringIO(),
        CallQueued("1", "Read", {}),
        CallStarted("1", "Read", read_only=True),
        CallQueued("2", "Bash", {}),
        CallFinished("1", "Read", "fine"),
        CallFinished("2", "Bash", "<tool_use_error>Bash was not run: no</tool_use_error>", is_error=True),
    )
    assert text == "● Read\n● Bash\n  ⎿ Bash was not run: no\n"
