import json
import os
import pty
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsFloat, IsPartialDict, IsStr

from .conftest import StartExec


def use(number: int, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": str(number), "name": name, "input": arguments}


def test_each_call_gets_its_reply_in_order_and_a_bad_line_an_error_line(start_exec: StartExec) -> None:
    run = start_exec()
    run.send(use(1, "Grep", pattern="hello", path="."), "nonsense", use(2, "Nope"), use(3, "LSP", url="x"))
    code, lines, err = run.finish()
    assert (code, err) == (0, "")
    errors = [line for line in lines if line["type"] == "error"]
    replies = [line for line in lines if line["type"] == "tool_result"]
    assert errors == [{"type": "error", "line": 2, "message": IsStr(regex="this line is not valid JSON: .*")}]
    assert replies == [
        {
            "type": "tool_result",
            "tool_use_id": "1",
            "content": "hello.txt",
            "is_error": False,
            "duration_ms": IsFloat(gt=0),
        },
        IsPartialDict(tool_use_id="2", is_error=True, content=IsStr(regex=r"<tool_use_error>.*no tool.*'Nope'.*")),
        IsPartialDict(tool_use_id="3", is_error=True, content=IsStr(regex=r"<tool_use_error>.*'LSP'.*")),
    ]


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"dance"}',
        "[]",
        '"text"',
        '{"type":"tool_use","name":"Read"}',
        '{"type":"tool_use","id":7,"name":"Read"}',
        '{"type":"permission_response","request_id":"nobody","behavior":"allow"}',
        "\x00",
        "[" * 100_000,
    ],
)
def test_a_message_that_makes_no_sense_is_an_error_line_and_the_stream_goes_on(
    start_exec: StartExec, line: str
) -> None:
    run = start_exec()
    run.send(line, use(1, file_path="hello.txt"))
    code, lines, _ = run.finish()
    assert code == 0
    assert sorted(line["type"] for line in lines) == ["error", "tool_result"]


def test_blank_lines_and_a_missing_last_newline_are_fine(start_exec: StartExec) -> None:
    run = start_exec()
    assert run.process.stdin is not None
    run.process.stdin.write(b"\n  \n" + json.dumps(use(1, file_path="hello.txt")).encode())
    code, lines, _ = run.finish()
    assert (code, [line["is_error"] for line in lines]) == (0, [False])


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_too_long_is_an_error_line_and_nothing_of_it_runs(start_exec: StartExec, end: bytes) -> None:
    run = start_exec("--permission-mode", "bypassPermissions")
    assert run.process.stdin is not None
    long = json.dumps(use(1, "Write", file_path="long.txt", content="x" * (17 << 20))).encode()
    run.process.stdin.write(json.dumps(use(0, file_path="hello.txt")).encode() + b"\n" + long + end)
    if end:
        run.send(use(2, file_path="hello.txt"))
    code, lines, _ = run.finish()
    assert [line["tool_use_id"] for line in lines if line["type"] == "tool_result"] == (["0", "2"] if end else ["0"])
    errors = [line for line in lines if line["type"] == "error"]
    assert errors == [{"type": "error", "line": 2, "message": IsStr(regex=".*longer than 16,777,216 bytes.*")}]
    assert (code, (start_exec.cwd / "long.txt").exists()) == (0, False)


def test_a_line_just_within_the_limit_is_used_whole(start_exec: StartExec) -> None:
    run = start_exec("--permission-mode", "bypassPermissions")
    frame = len(json.dumps(use(1, "Write", file_path="long.txt", content="")))
    run.send(use(1, "Write", file_path="long.txt", content="x" * ((16 << 20) - frame)))
    code, lines, _ = run.finish()
    assert (code, [line["type"] for line in lines]) == (0, ["tool_result"])
    assert (start_exec.cwd / "long.txt").stat().st_size == (16 << 20) - frame


def test_when_the_input_has_ended_a_later_question_is_answered_with_no_at_once(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio", "--allowed-tools", "Bash(sleep *)")
    # The second call waits for the first, so that its question comes well after the end of the input.
    run.send(use(1, "Bash", command="sleep 0.5"), use(2, "Write", file_path="made.txt", content="x"))
    code, lines, _ = run.finish()
    assert (code, lines[-1]) == (0, IsPartialDict(tool_use_id="2", is_error=True, content=IsStr(regex=".*ended.*")))
    assert not (start_exec.cwd / "made.txt").exists()


def test_one_process_is_one_session_over_many_turns(start_exec: StartExec) -> None:
    run = start_exec()
    run.send(use(1, file_path="hello.txt"), {"type": "end_turn"}, use(1, "Glob", pattern="*"))
    code, lines, _ = run.finish()
    assert code == 0
    assert [line["content"] for line in lines] == ["     1\thello\n     2\tworld", "hello.txt"]


def test_a_running_command_goes_on_in_the_background_on_request(start_exec: StartExec) -> None:
    run = start_exec("--permission-mode", "bypassPermissions")
    run.send(use(1, "Bash", command="mkfifo pipe && read line < pipe"), {"type": "background", "tool_use_id": "nobody"})
    assert run.read() == {"type": "error", "line": 2, "message": IsStr(regex=".*'nobody'.*")}
    answer = {"type": "error"}
    while answer["type"] == "error":  # until the command runs
        run.send({"type": "background", "tool_use_id": "1"})
        answer = run.read()
    assert answer == IsPartialDict(tool_use_id="1", is_error=False, content=IsStr(regex="(?s).*background.*"))
    assert run.finish()[0] == 0


def test_a_reused_id_in_one_turn_is_answered_with_an_error(start_exec: StartExec) -> None:
    run = start_exec()
    run.send(use(1, file_path="hello.txt"), use(1, file_path="hello.txt"))
    _, lines, _ = run.finish()
    assert [line["is_error"] for line in lines] == [False, True]


def test_events_tell_decisions_with_their_trace_and_every_state(start_exec: StartExec) -> None:
    run = start_exec("--events")
    run.send(use(1, file_path="hello.txt"))
    _, lines, _ = run.finish()
    assert [line["type"] for line in lines] == [
        "call_queued",
        "permission_decision",
        "call_started",
        "context_changed",
        "tool_result",
    ]
    assert lines[1] == IsPartialDict(behavior="allow", decision=IsPartialDict(layer=IsStr(), reason=IsStr()))
    assert lines[1]["decision"]["trace"]


def test_a_flag_denies_a_tool_and_it_disappears_from_the_pool(start_exec: StartExec) -> None:
    run = start_exec("--disallowedTools", "Glob Grep")
    run.send(use(1, "Glob", pattern="*"), use(2, file_path="hello.txt"))
    _, lines, _ = run.finish()
    assert [line["is_error"] for line in lines] == [True, False]


@pytest.mark.parametrize("kind", ["file", "terminal", "socket"])
def test_standard_input_may_be_anything(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.txt").write_text("a\n", encoding="utf-8")
    line = json.dumps(use(1, file_path="a.txt")).encode() + b"\n"
    ours: int | socket.socket | None = None
    if kind == "file":
        (tmp_path / "in").write_bytes(line)
        theirs = os.open(tmp_path / "in", os.O_RDONLY)
    elif kind == "terminal":
        ours, theirs = pty.openpty()
        os.write(ours, line + b"\x04")
    else:
        ours, end = socket.socketpair()
        theirs = end.detach()
        ours.sendall(line)
        ours.shutdown(socket.SHUT_WR)
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "exec"],
        stdin=theirs,
        capture_output=True,
        cwd=tmp_path,
        timeout=30,
        check=False,
    )
    os.close(theirs)
    if isinstance(ours, socket.socket):
        ours.close()
    elif ours is not None:
        os.close(ours)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["content"] == "     1\ta"


def test_a_reader_that_goes_away_ends_the_run(start_exec: StartExec) -> None:
    run = start_exec()
    assert run.process.stdout is not None
    run.process.stdout.close()
    run.send(use(1, file_path="hello.txt"))
    assert run.process.wait(timeout=30) == 141


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_answers_what_is_open_and_says_so_in_the_exit_code(start_exec: StartExec, number: int) -> None:
    run = start_exec()
    run.send(use(1, file_path="hello.txt"))
    assert run.read()["tool_use_id"] == "1"
    run.process.send_signal(number)
    assert run.process.wait(timeout=30) == 128 + number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_also_stops_what_still_runs_when_the_input_has_ended(
    start_exec: StartExec, tmp_path: Path, number: int
) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    run = start_exec("--permission-mode", "bypassPermissions")
    run.send(use(1, "Bash", command=f"read -t 0.5 < <(sleep 1); echo up > {told}; sleep 300"))
    assert run.process.stdin is not None
    run.process.stdin.close()
    assert told.read_text() == "up\n"  # the input has ended long before
    run.process.send_signal(number)
    assert run.read() == IsPartialDict(tool_use_id="1", is_error=True, content=IsStr(regex=".*Interrupted.*"))
    assert run.process.wait(timeout=30) == 128 + number


def test_an_answer_that_makes_no_sense_leaves_its_question_open(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio")
    run.send({"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "touch made"}})
    question = run.read()["request_id"]
    said: dict[str, Any] = {"type": "permission_response", "request_id": question, "behavior": "allow"}
    run.send({**said, "rules": 5}, {**said, "rules": ["Bash("]}, {**said, "rules": [7]}, {**said, "updated_input": 1})
    assert [run.read() for _ in range(4)] == [IsPartialDict(type="error", line=number) for number in (2, 3, 4, 5)]
    run.send({**said, "rules": ["Bash(touch *)"]})
    assert run.read() == IsPartialDict(type="tool_result", is_error=False)
    assert run.finish()[0] == 0


@pytest.mark.parametrize("name", ["updated_permissions", "updatedPermissions"])
def test_the_updates_of_an_answer_count_for_the_session(start_exec: StartExec, tmp_path: Path, name: str) -> None:
    (tmp_path / "project").mkdir()
    start_exec.cwd = tmp_path / "project"
    run = start_exec("--ask", "stdio", "--disallowed-tools", f"Read({tmp_path}/secret)".replace("(/", "(//"))
    run.send(use(1, file_path="../hello.txt"))
    question = run.read()["request_id"]
    said: dict[str, Any] = {"type": "permission_response", "request_id": question, "behavior": "allow"}
    bad = [{"type": "setMode", "mode": "plan", "destination": "moon"}]
    run.send({**said, name: bad}, {**said, name: 5})
    assert [run.read() for _ in range(2)] == [IsPartialDict(type="error", line=number) for number in (2, 3)]
    run.send({**said, name: [{"type": "addDirectories", "directories": [str(tmp_path)], "destination": "session"}]})
    assert run.read() == IsPartialDict(type="tool_result", is_error=False)
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    run.send(use(2, file_path="../hello.txt", limit=1), use(3, file_path="../secret"))
    code, lines, _ = run.finish()
    assert (code, [(line["type"], line["is_error"]) for line in lines]) == (
        0,
        [("tool_result", False), ("tool_result", True)],
    )


@pytest.mark.parametrize("key", ["updated_input", "updatedInput"])
def test_a_persons_correction_counts_in_both_spellings(start_exec: StartExec, key: str) -> None:
    run = start_exec("--ask", "stdio")
    run.send(use(1, "Write", file_path="wrong.txt", content="x"))
    asked = run.read()
    corrected = {"file_path": "right.txt", "content": "x"}
    run.send({"type": "permission_response", "request_id": asked["request_id"], "behavior": "allow", key: corrected})
    assert run.finish()[0] == 0
    assert [(start_exec.cwd / name).exists() for name in ("wrong.txt", "right.txt")] == [False, True]


def test_a_short_answer_counts_with_its_correction(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio")
    run.send(use(1, "Write", file_path="wrong.txt", content="x"))
    asked = run.read()
    corrected = {"file_path": "right.txt", "content": "x"}
    run.send({"type": "permission_response", "requestId": asked["request_id"], "allow": True, "input": corrected})
    assert run.finish()[0] == 0
    assert [(start_exec.cwd / name).exists() for name in ("wrong.txt", "right.txt")] == [False, True]


def test_a_short_no_gives_its_reason(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio")
    run.send(use(1, "Write", file_path="wrong.txt", content="x"))
    asked = run.read()
    said = {"type": "permission_response", "request_id": asked["request_id"], "reason": "not there"}
    run.send(
        {**said, "behavior": "allow", "allow": False},
        {**said, "behavior": "allow", "input": {}, "updatedInput": {"a": 1}},
    )
    assert [run.read()["type"] for _ in range(2)] == ["error", "error"]
    run.send({**said, "allow": False})
    assert "not there" in run.read()["content"]
    run.finish()


def test_a_no_may_end_the_turn(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio")
    run.send(use(1, "Write", file_path="a", content="x"), use(2, "Bash", command="touch b"))
    asked = run.read()
    said = {"type": "permission_response", "request_id": asked["request_id"], "behavior": "deny", "message": "no"}
    run.send({**said, "interrupt": True})
    _, lines, _ = run.finish()
    assert [line["is_error"] for line in lines if line["type"] == "tool_result"] == [True, True]
    assert [line["type"] for line in lines].count("permission_request") == 0


def test_an_answer_with_a_misspelt_key_is_no_yes(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio")
    run.send(use(1, "Write", file_path="wrong.txt", content="x"))
    asked = run.read()
    answer = {"type": "permission_response", "request_id": asked["request_id"], "behavior": "allow"}
    run.send({**answer, "updateInput": {"file_path": "right.txt", "content": "x"}})
    _, lines, _ = run.finish()
    assert {line["type"] for line in lines} == {"error", "tool_result"}
    assert "updateInput" in next(line["message"] for line in lines if line["type"] == "error")
    assert not (start_exec.cwd / "wrong.txt").exists()


def test_errors_have_numbers_and_edits_show_what_they_changed(start_exec: StartExec) -> None:
    run = start_exec("--permission-mode", "acceptEdits")
    run.send(use(1, "Edit", file_path="hello.txt", old_string="hello", new_string="bye"))
    run.send(use(2, file_path="hello.txt"))
    run.send(use(3, "Edit", file_path="hello.txt", old_string="hello", new_string="bye"))
    run.send(use(4, "Edit", file_path="hello.txt", old_string="nowhere", new_string="x"))
    _, lines, _ = run.finish()
    assert [line.get("error_code") for line in lines] == [2, None, None, 5]
    assert "\n-hello\n+bye\n world" in lines[2]["content"]


def test_a_question_whose_call_is_stopped_is_withdrawn(start_exec: StartExec) -> None:
    run = start_exec("--ask", "stdio", "--events")
    run.send(use(1, "Write", file_path="new.txt", content="x"))
    while (asked := run.read())["type"] != "permission_request":
        pass
    run.send({"type": "interrupt"})
    _, lines, _ = run.finish()
    told = {"type": "permission_withdrawn", "request_id": asked["request_id"], "tool_use_id": "1", "tool_name": "Write"}
    assert [line for line in lines if line["type"] == "permission_withdrawn"] == [told]
    assert asked["request_id"].startswith("ask-1-")


def test_decisions_in_events_hold_the_word_of_every_layer(start_exec: StartExec) -> None:
    run = start_exec("--events", "--disallowed-tools", "Bash(rm *)")
    twice = [use(number, "Bash", command="ls") for number in (1, 2)]
    run.send(
        *twice,
        use(3, "Bash", command="rm x"),
        use(4, "Write", file_path="x", content="y"),
        use(5, file_path="hello.txt"),
    )
    lines = run.finish()[1]
    traces = {line["tool_use_id"]: line["decision"]["trace"] for line in lines if line["type"] == "permission_decision"}
    layers = ["hook", "classifier", "deny", "ask", "tool", "guard", "allow", "mode"]
    assert {number: [step["layer"] for step in trace[:8]] for number, trace in traces.items()} == dict.fromkeys(
        "12345", layers
    )
    assert [step["behavior"] for step in traces["2"]] == [*["no opinion"] * 7, "allow"]
    assert (traces["3"][2]["behavior"], "Bash(rm *)" in traces["3"][2]["reason"]) == ("deny", True)
    assert [step["behavior"] for step in traces["4"][7:]] == ["ask", "deny"]


@pytest.mark.parametrize(
    ("destination", "file"),
    [
        ("localSettings", ".holdfast/settings.local.json"),
        ("projectSettings", ".holdfast/settings.json"),
        ("session", None),
    ],
)
def test_a_mode_and_directories_are_kept_where_the_answer_says(
    start_exec: StartExec, tmp_path: Path, destination: str, file: str | None
) -> None:
    more = tmp_path.parent / f"{tmp_path.name}-more"
    more.mkdir()
    updates = [
        {"type": "setMode", "mode": "acceptEdits", "destination": destination},
        {"type": "addDirectories", "directories": [str(more), "/etc"], "destination": destination},
        {"type": "setMode", "mode": "bypassPermissions", "destination": destination},
    ]
    run = start_exec("--ask", "stdio")
    run.send(use(1, "Write", file_path="new.txt", content="x"))
    asked = run.read()
    answer = {"type": "permission_response", "request_id": asked["request_id"], "behavior": "allow"}
    run.send({**answer, "rules": ["Read"], "destination": "moon"})
    assert "'moon' is not a destination" in run.read()["message"]
    run.send({**answer, "updated_permissions": updates})
    assert run.read()["is_error"] is False
    run.send(use(2, "Write", file_path=str(more / "a"), content="x"))
    assert run.finish()[1][0]["is_error"] is False
    kept = list((tmp_path / ".holdfast").glob("settings*")) if file else []
    assert (tmp_path / ".holdfast").exists() is (file is not None)
    for path in kept:
        assert path == tmp_path / str(file)
        assert json.loads(path.read_text())["permissions"] == {
            "defaultMode": "acceptEdits",
            "additionalDirectories": [str(more)],
        }
    assert len(kept) == (file is not None)
