"""`holdfast -p` with scripted models: every format, sessions, limits and exit codes, in this process."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from dirty_equals import IsPartialDict, IsStr

from holdfast.cli.main import run
from holdfast.session import user_store
from holdfast.session.repair import repair
from holdfast.session.validity import message_problems


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Print = Callable[..., Done]


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Print:
    """Runs `holdfast -p` in a project of its own, with a model that says these turns."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("remember the milk\n", encoding="utf-8")
    monkeypatch.chdir(project)
    for name in ("HOLDFAST_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    count = 0

    def start(*words: str, turns: list[Any] | None = None) -> Done:
        nonlocal count
        model: list[str] = []
        if turns is not None:
            count += 1
            script = tmp_path / f"script-{count}.json"
            script.write_text(json.dumps(turns), encoding="utf-8")
            model = ["--model", f"scripted:{script}"]
        capfd.readouterr()
        code = run(["-p", *words, *model])
        said = capfd.readouterr()
        return Done(code, said.out, said.err)

    return start


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


READ = [[call("Read", file_path="notes.txt")], "You wanted milk."]


def test_text_is_the_last_message_and_nothing_else(answer: Print) -> None:
    assert answer("what do I need?", turns=READ) == Done(0, "You wanted milk.\n", "")


def test_a_message_on_the_way_goes_to_standard_error(answer: Print) -> None:
    turns = [[call("SendUserMessage", message="half \x1b[31mdone", status="proactive")], "Done."]
    done = answer("go on", turns=turns)
    assert (done.code, done.out) == (0, "Done.\n")
    assert "half" in done.err
    assert "\x1b" not in done.err


def test_json_is_one_result_object(answer: Print) -> None:
    done = answer("what do I need?", "--output-format", "json", turns=READ)
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        IsPartialDict(
            type="result",
            subtype="success",
            is_error=False,
            result="You wanted milk.",
            num_turns=2,
            permission_denials=[],
        )
    ]
    assert {"duration_ms", "duration_api_ms", "total_cost_usd", "usage", "modelUsage", "stop_reason", "uuid"} <= set(
        done.lines[0]
    )


def test_stream_json_tells_everything_in_order_under_one_session(answer: Print) -> None:
    lines = answer("what do I need?", "--output-format", "stream-json", "--verbose", turns=READ).lines
    assert [line["type"] for line in lines] == ["system", "assistant", "user", "assistant", "result"]
    assert lines[0] == IsPartialDict(subtype="init", permissionMode="default", apiKeySource="none")
    assert {"Bash", "Read", "Write", "Edit", "Grep", "Glob"} <= set(lines[0]["tools"])
    result = lines[2]["message"]["content"][0]
    assert result == IsPartialDict(type="tool_result", content=IsStr(regex=r"(?s).*remember the milk.*"))
    assert lines[2]["tool_use_result"]
    assert len({line["session_id"] for line in lines}) == 1
    assert len({line["uuid"] for line in lines}) == len(lines)


def test_partial_messages_are_raw_events_that_add_up_to_the_message(answer: Print) -> None:
    lines = answer("?", "--output-format", "stream-json", "--include-partial-messages", turns=["Hello there."]).lines
    raw = [line["event"] for line in lines if line["type"] == "stream_event"]
    assert [event["type"] for event in raw][:2] == ["message_start", "content_block_start"]
    assert "".join(event["delta"]["text"] for event in raw if event["type"] == "content_block_delta") == "Hello there."
    assert raw[-1]["type"] == "message_stop"


def test_a_call_that_nobody_may_allow_is_refused_and_told_as_a_denial(answer: Print) -> None:
    turns = [[call("Write", file_path="made.txt", content="x")], "I may not."]
    denied = answer("write", "--output-format", "json", turns=turns)
    assert denied.lines[0]["permission_denials"] == [
        IsPartialDict(tool_name="Write", tool_input={"file_path": "made.txt", "content": "x"})
    ]
    assert not Path("made.txt").exists()
    allowed = answer("write", "--output-format", "json", "--allowedTools", "Read", "Edit", "Write", turns=turns)
    assert (allowed.lines[0]["permission_denials"], Path("made.txt").read_text(encoding="utf-8")) == ([], "x")


def test_a_session_goes_on_with_continue_and_resume_and_is_left_alone_by_a_fork(answer: Print) -> None:
    first = answer("one", "--output-format", "json", turns=["eins"]).lines[0]["session_id"]
    second = answer("two", "--output-format", "json", "--continue", turns=["zwei"]).lines[0]["session_id"]
    third = answer("three", "--output-format", "json", "-r", first[:20], turns=["drei"]).lines[0]["session_id"]
    forked = answer("four", "--output-format", "json", "-c", "--fork-session", turns=["vier"]).lines[0]["session_id"]
    assert first == second == third != forked
    assert said(first) == ["one", "eins", "two", "zwei", "three", "drei"]
    assert said(forked) == ["one", "eins", "two", "zwei", "three", "drei", "four", "vier"]


def said(session: str) -> list[str]:
    messages = repair(user_store().load(session)).messages
    assert message_problems(messages) == []
    return [
        block["text"]
        for message in messages
        for block in message["content"]
        if block["type"] == "text" and not block["text"].startswith("<system-reminder>")
    ]


def test_a_resumed_session_knows_the_files_it_has_read(answer: Print) -> None:
    answer("look", turns=READ)
    edit = call("Edit", file_path="notes.txt", old_string="milk", new_string="eggs")
    done = answer("change", "-c", "--permission-mode", "acceptEdits", turns=[[edit], "Changed."])
    assert (done.code, Path("notes.txt").read_text(encoding="utf-8")) == (0, "remember the eggs\n")


def test_a_chosen_id_is_the_sessions_id_and_a_taken_one_is_wrong_use(answer: Print) -> None:
    words = ("hi", "--output-format", "json", "--session-id", "my-session")
    assert answer(*words, turns=["hello"]).lines[0]["session_id"] == "my-session"
    again = answer(*words, turns=["hello"])
    assert (again.code, again.out) == (2, "")
    assert "taken" in again.err


def test_without_persistence_nothing_is_kept(answer: Print) -> None:
    done = answer("hi", "--output-format", "json", "--no-session-persistence", turns=["hello"])
    assert done.code == 0
    assert done.lines[0]["session_id"]
    assert list(user_store().paths()) == []


SCHEMA = json.dumps(
    {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"], "additionalProperties": False}
)


def test_data_that_does_not_fit_goes_back_and_the_second_try_counts(answer: Print) -> None:
    turns = [[call("StructuredOutput", thing=1)], [call("StructuredOutput", item="milk")]]
    done = answer("what?", "--json-schema", SCHEMA, "--output-format", "json", turns=turns)
    assert (done.code, done.lines[0]["structured_output"]) == (0, {"item": "milk"})
    assert answer("what?", "--json-schema", SCHEMA, turns=turns).out == '{"item":"milk"}\n'


def test_data_that_never_fits_ends_the_run(answer: Print) -> None:
    turns = [[call("StructuredOutput", thing=number)] for number in range(20)]
    done = answer("what?", "--json-schema", SCHEMA, "--output-format", "json", turns=turns)
    assert (done.code, done.lines[0]["subtype"]) == (1, "error_max_structured_output_retries")


def test_a_turn_limit_ends_the_run_with_its_name(answer: Print) -> None:
    turns = [[call("Glob", pattern=f"*.{number}")] for number in range(9)]
    done = answer("?", "--max-turns", "2", "--output-format", "json", turns=turns)
    assert (done.code, done.lines[0]["subtype"], done.lines[0]["is_error"]) == (1, "error_max_turns", True)


def test_a_model_that_fails_is_exit_1_with_the_reason_on_standard_error(answer: Print) -> None:
    turns = [{"error": {"kind": "auth", "message": "bad key"}}]
    failed = answer("?", turns=turns)
    assert (failed.code, failed.out) == (1, "")
    assert "bad key" in failed.err
    told = answer("?", "--output-format", "json", turns=turns)
    assert (told.code, told.lines[0]["subtype"], told.lines[0]["is_error"]) == (1, "success", True)
    assert told.lines[0]["terminal_reason"] == "api_error"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("hi",), "no model is chosen"),
        (("hi", "--model", "nonsense"), "nonsense"),
        (("hi", "--model", "scripted:missing.json"), "missing.json"),
        ((), "no prompt"),
        (("hi", "--json-schema", "[1"), "json-schema"),
        (("hi", "--json-schema", '{"type":"banana"}', "--model", "scripted:s.json"), "banana"),
        (("hi", "--resume", "nobody", "--model", "scripted:s.json"), "nobody"),
        (("hi", "--continue", "--model", "scripted:s.json"), "no session yet"),
        (("hi", "--fork-session", "--model", "scripted:s.json"), "fork"),
        (("hi", "-c", "-r", "x"), "contradict"),
        (("hi", "--permission-prompts", "stdio"), "stream-json"),
        (("hi", "--permission-prompt-tool", "mcp__x__y", "--model", "scripted:s.json"), "no MCP server 'x'"),
        (("hi", "--permission-prompt-tool", "y", "--model", "scripted:s.json"), "mcp__SERVER__TOOL"),
        (("hi", "--input-format", "stream-json", "--model", "scripted:s.json"), "PROMPT"),
        (("hi", "--dangerously-skip-permissions", "--permission-mode", "plan"), "contradict"),
        (("hi", "--output-format", "xml"), "xml"),
        (("hi", "--setting-sources", "moon"), "moon"),
        (("hi", "--max-budget-usd", "nan"), "not an amount"),
        (("hi", "--json-schema", "/dev/zero"), "neither a file nor a pipe"),
        (("hi", "--json-schema", "long.json"), "smaller schema"),
        (("hi", "--json-schema", "endless.json"), "more than 4194304 bytes"),
        (
            ("hi", "--json-schema", "pipe"),
            "'pipe' is neither JSON nor a file that can be read: it is a pipe that nobody",
        ),
        (("hi", "--model", "scripted:pipe"), "a pipe that nobody writes to"),
        (("hi", "--model", "replay:pipe"), "a pipe that nobody writes to"),
        (("hi", "--model", "scripted:s.json", "--settings", "pipe"), "--settings takes a regular file"),
        (("hi", "--max-budget-usd", "inf"), "not an amount"),
    ],
)
def test_wrong_use_is_exit_2_and_says_what_to_do(answer: Print, words: tuple[str, ...], named: str) -> None:
    Path("s.json").write_text('["x"]', encoding="utf-8")
    Path("long.json").write_text("x" * (1 << 20) + "x", encoding="utf-8")
    os.mkfifo("pipe")
    with open("endless.json", "wb") as endless:
        endless.truncate(1 << 40)
    done = answer(*words)
    assert (done.code, done.out) == (2, "")
    assert named in done.err


def test_a_schema_may_come_by_a_pipe(answer: Print) -> None:
    reading, writing = os.pipe()
    os.write(writing, SCHEMA.encode())
    os.close(writing)
    turns = [[{"type": "tool_use", "name": "StructuredOutput", "input": {"item": "milk"}}]]
    done = answer("what?", "--json-schema", f"/dev/fd/{reading}", turns=turns)
    os.close(reading)
    assert done.out == '{"item":"milk"}\n'


def test_empty_lists_of_servers_and_agents_change_nothing(answer: Print) -> None:
    done = answer("hi", "--mcp-config", "{}", "--agents", "{}", "--strict-mcp-config", turns=["hello"])
    assert (done.code, done.out, done.err) == (0, "hello\n", "")


@pytest.mark.parametrize("output_format", ["text", "json", "stream-json"])
def test_what_is_odd_about_a_given_agent_is_said_beside_the_output(answer: Print, output_format: str) -> None:
    given = json.dumps({"helper": {"description": "helps", "prompt": "Help.", "model": "Gemini Ultra", "tols": "Read"}})
    done = answer("hi", "--output-format", output_format, "--agents", given, turns=["hello"])
    assert (done.code, "Gemini" in done.out) == (0, False)
    assert "helper: model 'Gemini Ultra' is not a known one" in done.err
    assert "unknown field 'tols'" in done.err


@pytest.mark.parametrize("given", ["[]", "{", '{"a": 1}', '{"a": {"description": "x"}}', "no/such/file.json"])
def test_agents_that_are_none_are_refused_before_anything_runs(answer: Print, given: str) -> None:
    done = answer("hi", "--agents", given, turns=["hello"])
    assert (done.code, done.out) == (2, "")
    assert "--agents" in done.err


def test_the_first_line_of_a_stream_names_the_agents(answer: Print) -> None:
    given = json.dumps({"helper": {"description": "helps", "prompt": "Help."}})
    done = answer("hi", "--output-format", "stream-json", "--agents", given, turns=["hello"])
    first = json.loads(done.out.splitlines()[0])
    assert first["agents"] == ["general-purpose", "Explore", "Plan", "Bash", "fork", "helper"]


def test_the_model_comes_from_environment_or_settings_when_no_option_names_it(
    answer: Print, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps([f"I am {name}."]), encoding="utf-8")
    settings = json.dumps({"model": f"scripted:{tmp_path / 'b.json'}"})
    assert answer("who?", "--settings", settings).out == "I am b.\n"
    monkeypatch.setenv("HOLDFAST_MODEL", f"scripted:{tmp_path / 'a.json'}")
    assert answer("who?").out == "I am a.\n"


def test_without_print_and_without_a_model_what_works_is_named(
    answer: Print, capfd: pytest.CaptureFixture[str]
) -> None:
    del answer
    for words in ([], ["fix the bug"], ["--model", "x"]):
        assert run(words) == 2
        assert "ollama:" in capfd.readouterr().err
    assert run(["sesions"]) == 2
    assert "No such command" in capfd.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_names_our_program(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_HOLDFAST_COMPLETE" in capfd.readouterr().out


def test_instructions_of_the_user_reach_the_model_and_a_broken_one_is_named(answer: Print, isolated_home: Path) -> None:
    own = isolated_home / ".config" / "holdfast" / "AGENTS.md"
    own.parent.mkdir(parents=True)
    own.write_text("Always say please.\n@missing.md\n", encoding="utf-8")
    done = answer("hi", turns=["hello"])
    assert (done.code, done.out) == (0, "hello\n")
    assert "missing.md" in done.err


def test_no_tools_and_the_default_tools_can_be_asked_for(answer: Print) -> None:
    def offered(*words: str) -> list[str]:
        return answer("hi", "--output-format", "stream-json", *words, turns=["hello"]).lines[0]["tools"]

    assert (offered("--tools", ""), offered("--tools", "Read,Bash")) == ([], ["Bash", "Read"])
    assert offered("--tools", "default") == offered("--tools", "full") == offered()
    assert offered("--tools", "minimal") == ["Bash", "Edit", "Read"]
    assert "is not a tool" not in answer("hi", "--tools", "minimal", turns=["hello"]).err


@pytest.mark.parametrize("words", [("--thinking",), ("--thinking", "disabled"), ("--max-thinking-tokens", "100")])
def test_thinking_is_chosen_as_users_write_it(answer: Print, words: tuple[str, ...]) -> None:
    assert answer("hi", *words, turns=["hello"])[:2] == (0, "hello\n")


def test_without_a_place_for_sessions_the_answer_still_comes(answer: Print, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    done = answer("what do I need?", turns=READ)
    assert (done.code, done.out) == (0, "You wanted milk.\n")
    assert "this session is not written to disk" in done.err


def test_going_on_where_nothing_was_says_so(answer: Print, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = answer("more", "--continue", turns=["ok"])
    assert (done.code, done.out) == (2, "")
    assert "there is no session yet for " in done.err


def test_a_further_directory_that_is_not_there_is_told(answer: Print) -> None:
    done = answer("hi", "--add-dir", "nowhere", turns=["ok"])
    assert (done.code, done.out) == (0, "ok\n")
    assert "--add-dir 'nowhere' is not a directory" in done.err


def test_a_tool_that_is_none_is_told(answer: Print) -> None:
    done = answer("hi", "--tools", "Read,Raed", turns=["x"])
    assert (done.code, done.out) == (0, "x\n")
    assert "'Raed' is not a tool" in done.err
