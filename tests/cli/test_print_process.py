"""`holdfast -p` as a real process: pipes, signals, hosts, and both wires against a provider on this machine."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict, IsStr

from holdfast.testing import FakeProvider, FakeTurn

from .conftest import ExecProcess, piped


class PrintProcess(ExecProcess):
    """A real `holdfast -p`, spoken to line by line."""

    def read_until(self, kind: str) -> dict[str, Any]:
        while (line := self.read())["type"] != kind:
            pass
        return line


class Start:
    """Starts processes and makes sure that none outlives its test."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self.place = place
        self._stack = stack
        self._count = 0

    def __call__(self, *words: str, turns: list[Any]) -> PrintProcess:
        script = self.place / f"script-{self._count}.json"
        self._count += 1
        script.write_text(json.dumps(turns), encoding="utf-8")
        argv = [sys.executable, "-m", "holdfast", "-p", *words, "--model", f"scripted:{script}"]
        return PrintProcess(self._stack.enter_context(piped(argv, self.place)))


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    with ExitStack() as stack:
        yield Start(tmp_path, stack)


STREAM = ("--input-format", "stream-json", "--output-format", "stream-json")


def prompt(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


def test_what_is_piped_in_goes_before_the_prompt(start: Start) -> None:
    run = start(
        "count the words", turns=[{"blocks": ["Two."], "expect": ["<stdin>\nhello world\n</stdin>", "count the words"]}]
    )
    run.send("hello world")
    out, err = run.process.communicate(timeout=60)
    assert (run.process.returncode, out, err) == (0, b"Two.\n", b"")


def test_without_a_prompt_the_input_is_the_prompt(start: Start) -> None:
    run = start(turns=[{"blocks": ["Hello."], "expect": ["say hello"]}])
    run.send("say hello")
    out, _ = run.process.communicate(timeout=60)
    assert (run.process.returncode, out) == (0, b"Hello.\n")


def test_several_prompts_come_as_lines_and_each_has_its_result(start: Start) -> None:
    run = start(*STREAM, turns=["one", {"blocks": ["two"], "expect": ["second"]}])
    run.send(prompt("first"), "nonsense", prompt("second"))
    code, lines, err = run.finish()
    assert code == 0
    assert [line["result"] for line in lines if line["type"] == "result"] == ["one", "two"]
    assert "line 2 of standard input" in err
    assert (lines[0]["type"], lines[0]["subtype"], lines[-1]["type"]) == ("system", "init", "result")


def test_a_host_is_asked_and_its_yes_and_no_count(start: Start, tmp_path: Path) -> None:
    writes = [call("Write", file_path=name, content="x") for name in ("yes.txt", "no.txt")]
    run = start(*STREAM, "--permission-prompt-tool", "stdio", turns=[[write] for write in writes] + ["Done."])
    run.send(prompt("write"))
    for behavior in ("allow", "deny"):
        asked = run.read_until("control_request")
        assert asked["request"] == IsPartialDict(subtype="can_use_tool", tool_name="Write")
        said = {"behavior": behavior, "message": "not that one"}
        answer = {"subtype": "success", "request_id": asked["request_id"], "response": said}
        run.send({"type": "control_response", "response": answer})
    code, lines, _ = run.finish()
    assert (code, lines[-1]["result"]) == (0, "Done.")
    assert ((tmp_path / "yes.txt").exists(), (tmp_path / "no.txt").exists()) == (True, False)
    assert [denial["tool_input"]["file_path"] for denial in lines[-1]["permission_denials"]] == ["no.txt"]


def test_a_host_that_goes_away_leaves_its_question_answered_with_no(start: Start, tmp_path: Path) -> None:
    turns = [[call("Write", file_path="made.txt", content="x")], "I could not ask."]
    run = start(*STREAM, "--permission-prompts", "host", turns=turns)
    run.send(prompt("write"))
    run.read_until("control_request")
    code, lines, _ = run.finish()
    assert (code, lines[-1]["result"], (tmp_path / "made.txt").exists()) == (0, "I could not ask.", False)


def test_a_host_that_went_away_before_the_question_is_answered_with_no_at_once(start: Start, tmp_path: Path) -> None:
    turns = [[call("Write", file_path="made.txt", content="x")], "I could not ask."]
    run = start(*STREAM, "--permission-prompts", "host", turns=turns)
    run.send(prompt("write"))
    code, lines, _ = run.finish()
    assert (code, lines[-1]["result"], (tmp_path / "made.txt").exists()) == (0, "I could not ask.", False)


def test_a_prompt_too_long_is_told_and_the_model_gets_nothing_of_it(start: Start) -> None:
    run = start(*STREAM, turns=["only one"])
    run.send(prompt("x" * (17 << 20)), prompt("short"))
    code, lines, err = run.finish()
    assert (code, [line["result"] for line in lines if line["type"] == "result"]) == (0, ["only one"])
    assert "line 1 of standard input" in err


def test_an_interrupt_takes_an_open_question_back_and_a_late_answer_is_no_mistake(start: Start) -> None:
    turns = [[call("Write", file_path="made.txt", content="x")], "next"]
    run = start(*STREAM, "--permission-prompts", "host", turns=turns)
    run.send(prompt("write"))
    asked = run.read_until("control_request")["request_id"]
    run.send({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}})
    assert run.read_until("control_cancel_request")["request_id"] == asked
    late = {"subtype": "success", "request_id": asked, "response": {"behavior": "allow"}}
    never = {"subtype": "success", "request_id": "never", "response": {"behavior": "allow"}}
    run.send({"type": "control_response", "response": late}, {"type": "control_response", "response": never})
    run.send(prompt("go on"))
    code, lines, err = run.finish()
    assert (code, lines[-1]["result"]) == (0, "next")
    assert "'never'" in err


def test_a_hosts_wishes_are_granted_and_answered(start: Start, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('["I am another."]', encoding="utf-8")
    run = start(*STREAM, turns=["unused"])
    wishes = [
        {"subtype": "initialize"},
        {"subtype": "set_permission_mode", "mode": "plan"},
        {"subtype": "set_model", "model": f"scripted:{other}"},
        {"subtype": "set_permission_mode", "mode": "yolo"},
        {"subtype": "fly"},
    ]
    for number, wish in enumerate(wishes):
        run.send({"type": "control_request", "request_id": str(number), "request": wish})
    run.send(prompt("who?"))
    code, lines, _ = run.finish()
    answers = [line["response"] for line in lines if line["type"] == "control_response"]
    assert [(answer["request_id"], answer["subtype"]) for answer in answers] == [
        ("0", "success"),
        ("1", "success"),
        ("2", "success"),
        ("3", "error"),
        ("4", "error"),
    ]
    assert (code, lines[-1]["result"]) == (0, "I am another.")


SLEEPING = [[call("Bash", command="echo $$ > pid; exec tail -f /dev/null")], "never"]
BYPASS = ("--permission-mode", "bypassPermissions")


def test_a_host_interrupts_a_run_and_goes_on_with_the_next(start: Start, tmp_path: Path) -> None:
    run = start(*STREAM, *BYPASS, turns=[*SLEEPING[:1], "next"])
    run.send(prompt("wait"))
    run.read_until("assistant")
    wait_for_file(tmp_path / "pid")
    run.send({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}})
    stopped = run.read_until("result")
    assert stopped == IsPartialDict(is_error=True, outcome="interrupted", subtype="error_during_execution")
    run.send(prompt("go on"))
    code, lines, _ = run.finish()
    assert (code, lines[-1]["result"]) == (0, "next")


def wait_for_file(path: Path) -> str:
    """Return what a child wrote, once it has; the test's own timeout bounds the wait."""
    while not path.exists() or not path.read_text(encoding="utf-8").strip():
        time.sleep(0.01)  # a poll, bounded by the test's timeout; nothing here can tell us otherwise
    return path.read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_one_interrupt_ends_the_run_with_a_result_and_nothing_left_running(
    start: Start, tmp_path: Path, form: str
) -> None:
    run = start("wait", "--output-format", form, *BYPASS, turns=SLEEPING)
    assert run.process.stdin is not None
    run.process.stdin.close()
    child = wait_for_file(tmp_path / "pid")
    run.process.send_signal(signal.SIGINT)
    assert run.process.stdout is not None
    lines = [json.loads(line) for line in run.process.stdout]
    assert run.process.wait(60) == 130
    assert lines[-1] == IsPartialDict(type="result", is_error=True, outcome="interrupted")
    assert not Path(f"/proc/{child}").exists()


def test_a_reader_that_goes_away_ends_the_run_and_its_children(start: Start, tmp_path: Path) -> None:
    turns = [
        [call("Bash", command="echo $$ > pid; exec tail -f /dev/null", run_in_background=True)],
        [call("Bash", command="while [ ! -e go ]; do sleep 0.1; done")],
        [call("Bash", command="exec tail -f /dev/null")],
    ]
    run = start("wait", "--output-format", "stream-json", *BYPASS, turns=turns)
    assert run.process.stdin is not None
    assert run.process.stdout is not None
    run.process.stdin.close()
    for _ in range(2):
        run.read_until("assistant")
    child = wait_for_file(tmp_path / "pid")
    run.process.stdout.close()
    (tmp_path / "go").touch()
    assert run.process.wait(60) == 141
    assert not Path(f"/proc/{child}").exists()


def test_a_second_interrupt_does_not_wait_for_a_reader_that_never_reads(start: Start, tmp_path: Path) -> None:
    long = [call("Bash", command=f"echo {number}; head -c 25000 /dev/zero | tr '\\0' x") for number in range(9)]
    wait = call("Bash", command="echo $$ > pid; exec tail -f /dev/null")
    run = start("go", "--output-format", "stream-json", *BYPASS, turns=[long, [wait]])
    assert run.process.stdin is not None
    run.process.stdin.close()
    wait_for_file(tmp_path / "pid")
    run.process.send_signal(signal.SIGINT)
    while run.process.poll() is None:  # the first asks for an end, the second does not wait for the reader
        time.sleep(0.2)
        run.process.send_signal(signal.SIGINT)
    assert run.process.returncode in (130, -signal.SIGINT)  # a third one may find the interpreter already leaving


def test_killed_mid_stream_every_whole_line_is_whole_json(start: Start, tmp_path: Path) -> None:
    run = start("wait", "--output-format", "stream-json", "--include-partial-messages", *BYPASS, turns=SLEEPING)
    assert run.process.stdin is not None
    run.process.stdin.close()
    wait_for_file(tmp_path / "pid")
    run.process.kill()
    assert run.process.stdout is not None
    text = run.process.stdout.read()
    assert text.endswith(b"\n")
    kinds = [json.loads(line)["type"] for line in text.splitlines()]
    assert (kinds[0], kinds[-1]) == ("system", "assistant")


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_both_wires_carry_prompt_tools_and_results(wire: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember the milk\n", encoding="utf-8")
    use = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "notes.txt"}}
    turns = [
        FakeTurn(blocks=[{"type": "text", "text": "I look."}, use]),
        FakeTurn(blocks=[{"type": "text", "text": "You wanted milk."}]),
    ]

    async def scene() -> tuple[int | None, bytes, bytes, list[Any]]:
        async with FakeProvider(turns) as provider:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "holdfast", "-p", "what do I need?", "--model", f"{wire}:fake-model"),
                *("--output-format", "stream-json", "--append-system-prompt", "Speak plainly."),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=tmp_path,
                env={
                    **os.environ,
                    "ANTHROPIC_API_KEY": "key-a",
                    "OPENAI_API_KEY": "key-b",
                    "ANTHROPIC_BASE_URL": provider.url,
                    "OPENAI_BASE_URL": provider.openai_url,
                    "NO_PROXY": "127.0.0.1",
                },
            )
            out, err = await asyncio.wait_for(process.communicate(), 60)
            return process.returncode, out, err, [request.json for request in provider.requests]

    code, out, err, requests = asyncio.run(asyncio.wait_for(scene(), 60))
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err, lines[-1]["result"]) == (0, b"", "You wanted milk.")
    assert [line["type"] for line in lines] == ["system", "assistant", "assistant", "user", "assistant", "result"]
    assert len(requests) == 2
    sent = json.dumps(requests)
    assert "Speak plainly." in sent
    assert "what do I need?" in sent
    assert "remember the milk" in json.dumps(requests[1])


@pytest.mark.parametrize(
    ("closed", "code", "said"), [("<&-", 0, "done\n"), ("<&- 2>&-", 0, "done\n"), ("</dev/null >&-", 141, "")]
)
def test_standard_streams_that_came_closed_are_taken_by_nothing_else(
    tmp_path: Path, closed: str, code: int, said: str
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "done"}]), encoding="utf-8")
    line = f'exec "$0" -m holdfast -p hello --model scripted:"$1" {closed}'
    ran = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (code, said)
    assert "Traceback" not in ran.stderr


def test_a_terminal_does_not_obey_what_a_model_writes(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "one\x1b]52;c;eA==\x07\ntwo"}]), encoding="utf-8")
    ours, theirs = os.openpty()
    subprocess.run(
        [sys.executable, "-m", "holdfast", "-p", "hello", "--model", f"scripted:{script}"],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        timeout=60,
        check=True,
    )
    shown = os.read(ours, 4096)
    os.close(ours)
    os.close(theirs)
    assert shown == rb"one\x1b]52;c;eA==\x07" + b"\r\ntwo\r\n"


def test_a_prompt_that_no_model_takes_is_told_and_the_session_goes_on(start: Start) -> None:
    process = start("--input-format", "stream-json", "--output-format", "stream-json", turns=[{"text": "one"}])
    bad: list[Any] = [[{"type": "tool_result", "tool_use_id": "x"}], [{"type": ["text"]}], [{"type": "text"}]]
    for content in bad:
        process.send({"type": "user", "message": {"role": "user", "content": content}})
    process.send(prompt("go"))
    code, lines, err = process.finish()
    assert code == 0
    assert [f"line {number} of standard input" in err for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert lines[-1] == IsPartialDict(type="result", result="one")


def test_a_host_cannot_choose_a_mode_that_the_settings_forbid(start: Start) -> None:
    forbidden = json.dumps({"permissions": {"disableBypassPermissionsMode": "disable"}})
    run = start(*STREAM, "--settings", forbidden, turns=["unused"])
    wish = {"subtype": "set_permission_mode", "mode": "bypassPermissions"}
    run.send({"type": "control_request", "request_id": "1", "request": wish})
    _, lines, _ = run.finish()
    assert lines[-1]["response"] == IsPartialDict(subtype="error", error=IsStr(regex=".*forbid.*"))


def test_a_host_enters_bypass_only_where_the_session_began_with_it(start: Start) -> None:
    wishes = [{"subtype": "set_permission_mode", "mode": mode} for mode in ("plan", "bypassPermissions")]
    found: list[list[str]] = []
    for options in ((), BYPASS):
        run = start(*STREAM, *options, turns=["unused"])
        for wish in wishes:
            run.send({"type": "control_request", "request_id": "1", "request": wish})
        _, lines, _ = run.finish()
        found.append([line["response"]["subtype"] for line in lines if line["type"] == "control_response"])
    assert found == [["success", "error"], ["success", "success"]]


def test_the_updates_of_a_hosts_answer_count_for_the_session(start: Start, tmp_path: Path) -> None:
    writes = [call("Write", file_path=name, content="x") for name in ("one.txt", "two.txt", "env/.env")]
    run = start(
        *(*STREAM, "--permission-prompts", "host", "--disallowed-tools", "Edit(.env)"),
        turns=[[write] for write in writes] + ["Done."],
    )
    run.send(prompt("write"))
    asked = run.read_until("control_request")
    updates = [
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "removeRules", "rules": [{"toolName": "Edit", "ruleContent": ".env"}], "behavior": "deny"},
    ]
    said = {"behavior": "allow", "updatedPermissions": updates}
    answer = {"subtype": "success", "request_id": asked["request_id"], "response": said}
    run.send({"type": "control_response", "response": answer})
    code, lines, _ = run.finish()
    assert (code, lines[-1]["result"]) == (0, "Done.")
    assert [line for line in lines if line["type"] == "control_request"] == [], "edits are accepted now"
    assert [(tmp_path / name).exists() for name in ("one.txt", "two.txt", "env/.env")] == [True, True, False]


def test_a_budget_that_cannot_hold_is_said(tmp_path: Path) -> None:
    async def scene() -> tuple[int | None, bytes, bytes]:
        async with FakeProvider([FakeTurn(blocks=[{"type": "text", "text": "hi"}])]) as provider:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "holdfast", "-p", "x", "--model", "openai:own", "--max-budget-usd", "1"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=tmp_path,
                env={**os.environ, "OPENAI_API_KEY": "key-b", "OPENAI_BASE_URL": provider.openai_url},
            )
            out, err = await asyncio.wait_for(process.communicate(), 60)
            return process.returncode, out, err

    code, out, err = asyncio.run(asyncio.wait_for(scene(), 60))
    assert (code, out) == (0, b"hi\n")
    assert b"--max-budget-usd cannot be enforced" in err


def test_trouble_on_standard_error_does_not_stop_the_work(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([[call("Bash", command="echo made > made.txt")], "Done."]), encoding="utf-8")
    words = f"-p go --verbose --permission-mode bypassPermissions --model scripted:{script}"
    for place in ("/dev/full", ">(head -c 1 >/dev/null)"):
        ran = subprocess.run(
            ["bash", "-c", f'exec "$0" -m holdfast {words} 2> {place}', sys.executable],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (ran.returncode, ran.stdout) == (0, b"Done.\n")


def test_the_first_signal_ends_a_run_whose_output_nobody_reads(start: Start) -> None:
    long = {"blocks": [{"text": "x" * 2_000_000, "chunk": 1_000}]}
    run = start("go", "--output-format", "stream-json", "--include-partial-messages", turns=[long])
    assert run.process.stdin
    run.process.stdin.close()
    run.read()  # from here on nobody reads
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(60) == 128 + signal.SIGTERM


def test_a_program_that_reads_lines_finds_only_warnings_on_standard_error(start: Start, tmp_path: Path) -> None:
    hook = {"hooks": [{"type": "command", "command": 'echo \'{"systemMessage": "psst"}\''}]}
    settings = json.dumps({"hooks": {"UserPromptSubmit": [hook]}})
    tells = call("SendUserMessage", message="half done", status="normal")
    run = start(*STREAM, *BYPASS, "--verbose", "--settings", settings, turns=[[tells], "Done."])
    run.send(prompt("go"))
    code, lines, err = run.finish()
    assert (code, err) == (0, "")
    assert [line["content"] for line in lines if line.get("subtype") == "informational"] == ["psst"]
