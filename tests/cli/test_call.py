"""`holdfast call` of a person: what it changes counts as seen, can be taken back, and its long results stay."""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.host import tree
from holdfast.host.registry import read_record
from holdfast.settings.directories import user_directories

EDIT = '{"file_path": "a.txt", "old_string": "one", "new_string": "two"}'


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    return tmp_path


def test_a_person_edits_without_a_read_and_takes_it_back_without_an_id(place: Path) -> None:
    assert run(["call", "Edit", EDIT, "--permission-mode", "acceptEdits"]) == 0
    written = ["call", "Write", '{"file_path": "a.txt", "content": "three"}', "--permission-mode", "acceptEdits"]
    assert run(written) == 0
    assert (place / "a.txt").read_text(encoding="utf-8") == "three"
    assert run(["undo"]) == 0
    assert (place / "a.txt").read_text(encoding="utf-8") == "two"
    assert run(["undo"]) == 0
    assert (place / "a.txt").read_text(encoding="utf-8") == "one"
    assert run(["undo"]) == 1


def test_a_person_changes_a_notebook_without_a_read(place: Path) -> None:
    cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": ["old"]}
    notebook: dict[str, Any] = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (place / "n.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    arguments = '{"notebook_path": "n.ipynb", "cell_id": "cell-0", "new_source": "new"}'
    assert run(["call", "NotebookEdit", arguments, "--permission-mode", "acceptEdits"]) == 0
    assert "new" in (place / "n.ipynb").read_text(encoding="utf-8")


def test_a_refused_call_stays_refused(place: Path) -> None:
    assert run(["call", "Edit", EDIT, "--disallowed-tools", "Edit(a.txt)"]) == 1
    assert (place / "a.txt").read_text(encoding="utf-8") == "one"


def test_a_long_result_stays_when_the_call_has_ended(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "Bash", '{"command": "seq 1 30000"}', "--allowed-tools", "Bash(seq *)"]) == 0
    kept = re.search(r"all of it is in (\S+?):", capfd.readouterr().out)
    assert kept is not None
    assert Path(kept[1]).read_text(encoding="utf-8").endswith("30000\n")


def test_a_background_task_is_refused_with_the_reason(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "Bash", '{"command": "sleep 9", "run_in_background": true}']) == 2
    assert "holdfast exec" in capfd.readouterr().err


LEFT = """
import os, subprocess, sys
from holdfast.host.registry import ProcessRegistry
book = ProcessRegistry(sys.argv[1], "left")
book.started(subprocess.Popen(["sleep", "300"], start_new_session=True, stdout=subprocess.DEVNULL).pid)
"""


@pytest.mark.parametrize(
    "words",
    [["tasks", "list"], ["sessions", "list"], ["undo", "--list"], ["call", "Glob", '{"pattern": "*"}']],
    ids=lambda words: words[0],
)
def test_every_command_that_opens_the_state_ends_what_a_crash_left(words: list[str]) -> None:
    directory = os.path.join(user_directories().state, "processes")
    subprocess.run([sys.executable, "-c", LEFT, directory], check=True, timeout=60)
    (name,) = os.listdir(directory)
    with open(os.path.join(directory, name), "rb") as file:
        record = read_record(file.fileno())
    assert record is not None
    (pid,) = record.running
    assert os.path.exists(f"/proc/{pid}")
    assert run(words) == 0
    assert name not in os.listdir(directory)
    entry = tree.read_entry(pid)
    assert entry is None or not entry.is_running


@pytest.mark.parametrize(
    ("limit", "most"), [(resource.RLIMIT_NOFILE, 7), (resource.RLIMIT_NOFILE, 12), (resource.RLIMIT_AS, 60_000 << 10)]
)
def test_a_machine_that_lacks_something_is_told_in_one_line(limit: int, most: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "call", "Bash", '{"command": "ls"}'],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(limit, (most, most)),
    )
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert done.stderr.count("\n") <= 1


@pytest.mark.skipif(os.geteuid() == 0, reason="the limit on processes does not bind root")
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize(
    ("name", "given"), [("Bash", '{"command": "ls"}'), ("Grep", '{"pattern": "x"}'), ("Read", '{"file_path": "a.txt"}')]
)
def test_a_user_who_may_start_no_more_processes_is_told_in_one_line(
    place: Path, name: str, given: str, most: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "call", name, given],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)),
    )
    said = done.stderr + done.stdout
    # What else runs under this user decides how far it comes: it works, or says in a line what is lacking.
    assert (done.returncode, "ulimit -u" in said) in ((0, False), (1, True))
    assert "Traceback" not in said
    assert done.stderr.count("\n") <= 1


def test_a_call_says_what_a_run_says_at_its_start(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / ".claude").mkdir()
    (place / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(make *)"]}}', encoding="utf-8")
    (place / "s.json").write_text('["done"]', encoding="utf-8")
    gate = {"matcher": "Bash", "hooks": [{"type": "telepathy"}]}
    settings = json.dumps({"permissions": {"deny": ["Baash(x)"]}, "hooks": {"PreToolUse": [gate]}})
    assert run(["call", "Glob", '{"pattern": "*.txt"}', "--settings", settings]) == 0
    called = capfd.readouterr()
    assert run(["-p", "hi", "--model", "scripted:s.json", "--settings", settings]) == 0
    assert called.err == capfd.readouterr().err
    assert [word in called.err for word in ("Baash", "telepathy", "is not trusted")] == [True] * 3
    assert called.out == "a.txt\n"


def test_a_message_to_the_user_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    message = '{"message": "Look at\\u001b[2J this.", "status": "normal"}'
    assert run(["call", "SendUserMessage", message]) == 0
    shown = capfd.readouterr()
    assert shown.out == "The message was shown to the user.\n"
    assert "Look at" in shown.err
    assert "\x1b" not in shown.err
