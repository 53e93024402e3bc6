"""What a host makes of a conversation: begin it anew, shorten it, go back in it, let agents speak."""

import json
import re
from pathlib import Path
from typing import Any

from dirty_equals import IsPartialDict, IsStr

from .conftest import StartHost, call, first, results, texts


def test_clear_begins_another_session_that_remembers_nothing(start: StartHost) -> None:
    host = start("--model", "claude-sonnet-4-5", "--permission-mode", "plan")
    hooks = {event: [{"hookCallbackIds": [event]}] for event in ("SessionStart", "SessionEnd")}
    host.send({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize", "hooks": hooks}})
    host.until(type="control_response")
    host.prompt("SAY secret")
    host.reply(host.until(type="control_request")[-1])
    old = host.until(type="result")[-1]["session_id"]
    host.control("set_model", model="claude-haiku-4-5")
    host.prompt("/clear", uuid="11111111-2222-4333-8444-555555555555")
    ended = host.until(type="control_request")[-1]
    assert ended["request"]["input"] == IsPartialDict(hook_event_name="SessionEnd", reason="clear", session_id=old)
    host.reply(ended)
    found = host.until(type="result")
    reset = next(line for line in found if line["type"] == "conversation_reset")
    new = reset["new_conversation_id"]
    assert reset == IsPartialDict(
        session_id=old, trigger="clear", user_message_uuid="11111111-2222-4333-8444-555555555555", timestamp=IsStr
    )
    assert found[-1] == IsPartialDict(session_id=new, is_error=False, num_turns=0)
    assert first(found) == IsPartialDict(session_id=new, model="claude-haiku-4-5", permissionMode="plan")
    host.prompt("HISTORY")
    began = host.until(type="control_request")[-1]
    assert began["request"]["input"] == IsPartialDict(hook_event_name="SessionStart", source="clear", session_id=new)
    host.reply(began)
    assert "secret" not in host.until(type="result")[-1]["result"]
    host.control("set_model", model=None)
    host.prompt("SAY x")
    assert first(host.until(type="result"))["model"] == "claude-sonnet-4-5"


def test_a_prompt_that_is_only_text_calls_nothing(start: StartHost, place: Path) -> None:
    home = place / ".claude" / "commands"
    home.mkdir(parents=True)
    host = start()
    before = host.say("SAY x")[-1]["session_id"]
    for text in ("/clear", "/compact"):
        found = host.say(text, client_composed=True)
        assert (f"You said: {text}" in texts(found), found[-1]["session_id"]) == (True, before)


def test_a_conversation_is_shortened_on_request(start: StartHost) -> None:
    host = start()
    assert host.say("/compact")[-1] == IsPartialDict(is_error=False, result="There is nothing to shorten.")
    host.say("SAY " + "word " * 3000)
    found = host.say("/compact keep the words")
    assert [line["subtype"] for line in found if line["type"] == "system"] == ["init", "compact_boundary"]


def test_a_session_goes_back_to_a_message(start: StartHost) -> None:
    host = start()
    kept = host.say("SAY blue")
    at = next(line["uuid"] for line in kept if line["type"] == "assistant")
    host.say("SAY red", uuid="22222222-2222-4222-8222-222222222222")
    session = kept[-1]["session_id"]
    host.finish()

    def resumed(*words: str) -> tuple[int, list[dict[str, Any]]]:
        again = start(f"--resume={session}", f"--resume-session-at={at}", *words)
        again.prompt("HISTORY")
        code, lines, _ = again.finish()
        return code, lines

    code, lines = resumed("--fork-session", "--resume-drops-turn=33333333-3333-4333-8333-333333333333")
    assert (code, len(lines), lines[-1]["is_error"]) == (2, 1, True)
    assert lines[-1]["result"] == IsStr(regex="Resume rejected by --resume-drops-turn: .*22222222-2222.*")
    code, lines = resumed("--fork-session", "--resume-drops-turn=22222222-2222-4222-8222-222222222222")
    assert ("blue" in lines[-1]["result"], "red" in lines[-1]["result"]) == (True, False)
    assert lines[-1]["session_id"] != session
    code, lines = resumed()
    assert ("blue" in lines[-1]["result"], "red" in lines[-1]["result"]) == (True, False)
    again = start(f"--resume={session}")
    again.prompt("HISTORY")
    last = again.finish()[1][-1]["result"]
    assert ("blue" in last, "red" in last) == (True, False)


def test_an_agents_words_are_told_only_to_a_host_that_wants_them(start: StartHost) -> None:
    agents = {"reader": {"description": "Reads", "prompt": "You read.", "tools": ["Glob"]}}
    inner = call("Glob", pattern="*") + "\nSAY found nothing"
    for wants in (True, False):
        host = start()
        host.control("initialize", agents=agents, forwardSubagentText=wants)
        found = host.say(call("Agent", description="d", prompt=inner, subagent_type="reader"), "SAY over")
        told = [line for line in found if line.get("parent_tool_use_id")]
        assert "Glob" in json.dumps(told)
        assert ("found nothing" in texts(told), len(results(told))) == (wants, 1)


def test_a_background_agent_that_ends_is_a_turn_of_its_own(start: StartHost) -> None:
    agents = {"slow": {"description": "Waits", "prompt": "You wait.", "tools": ["Bash"], "background": True}}
    host = start("--permission-mode", "bypassPermissions", CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS="1")
    host.control("initialize", agents=agents)
    inner = "SLOWLY a b c d e f g h i j k l m n o p q r s t u v w x y z"
    host.prompt(call("Agent", description="d", prompt=inner, subagent_type="slow", run_in_background=True), "SAY over")
    _, lines, _ = host.finish()
    ends = [line for line in lines if line["type"] == "result"]
    assert [line.get("origin") for line in ends] == [None, {"kind": "task-notification"}]
    states = [line["state"] for line in lines if line.get("subtype") == "session_state_changed"]
    assert states == ["running", "idle"]


def test_a_mirror_is_written_and_told_before_the_result(start: StartHost, place: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    host = start("--session-mirror", CLAUDE_CONFIG_DIR=str(config))
    found = host.say(call("Bash", command="echo hi"), "SAY done")
    told = [entry for line in found if line["type"] == "transcript_mirror" for entry in line["entries"]]
    written = config / "projects" / re.sub("[^a-zA-Z0-9]", "-", str(place)) / f"{found[-1]['session_id']}.jsonl"
    assert [json.loads(line) for line in written.read_text().splitlines()] == told
    streamed = [line["uuid"] for line in found if line["type"] in ("user", "assistant")]
    assert [one["uuid"] for one in told if one["type"] != "system" and "isMeta" not in one][1:] == streamed


def test_a_session_of_which_only_a_transcript_is_left_goes_on(start: StartHost, tmp_path: Path) -> None:
    config = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    host = start("--session-mirror", **config)
    session = host.say("SAY the word is blue")[-1]["session_id"]
    host.finish()
    elsewhere = {**config, "XDG_STATE_HOME": str(tmp_path / "other machine")}
    for words in (["--resume", session], ["--continue"]):
        host = start(*words, "--session-mirror", **elsewhere)
        found = host.say("HISTORY")
        assert (found[-1]["session_id"], "the word is blue" in texts(found)) == (session, True)
        host.finish()
    found = start("--resume", session, **config).say("HISTORY")
    assert texts(found).count("HISTORY") > 2  # what was said elsewhere is known here, too


def test_a_folder_cannot_switch_the_mirror_on(start: StartHost, place: Path, tmp_path: Path) -> None:
    (place / ".claude").mkdir()
    (place / ".claude" / "settings.json").write_text('{"transcripts": {"mirror": true}}')
    start(CLAUDE_CONFIG_DIR=str(tmp_path / "config")).say("SAY hi")
    assert not (tmp_path / "config" / "projects").exists()


def test_a_library_that_reads_conversations_itself_finds_them_unless_a_setting_says_no(
    start: StartHost, tmp_path: Path
) -> None:
    copies = tmp_path / "config" / "projects"

    def talk(*words: str, library: str = "", greets: bool = True) -> None:
        named = {"CLAUDE_AGENT_SDK_VERSION": library} if library else {}
        host = start(*words, CLAUDE_CONFIG_DIR=str(tmp_path / "config"), **named)
        if greets:
            host.control("initialize")
        assert not [line for line in host.say("SAY hi") if line["type"] == "transcript_mirror"]
        host.finish()

    talk()
    talk(library="1.0", greets=False)
    talk("--settings", '{"transcripts": {"mirror": false}}', library="1.0")
    assert not copies.exists()
    talk(library="1.0")
    assert len(list(copies.glob("*/*.jsonl"))) == 1
