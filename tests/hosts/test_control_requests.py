"""What a host can ask of a session that runs: each request is done, or refused in words that name it."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import Contains, IsPartialDict

from .conftest import Host, Line, StartHost, call, first, results, texts

TOOLS = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ("add", "wipe")]


class Calculator:
    """A server inside the host: it answers while the host waits for something else."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._read = host.read
        self.called: list[str] = []
        self.says = "2"
        host.read = self.read

    def read(self) -> Line:
        while True:
            line = self._read()
            if line["type"] != "control_request" or line["request"]["subtype"] != "mcp_message":
                return line
            self._host.reply(line, mcp_response=self._answer(line["request"]["message"]))

    def _answer(self, message: Line) -> Line:
        method, found = message["method"], {"jsonrpc": "2.0", "id": message.get("id", 0)}
        if method == "initialize":
            about = {"name": "calc", "version": "2.0.0"}
            version = message["params"]["protocolVersion"]
            return {**found, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
        if method == "tools/list":
            return {**found, "result": {"tools": TOOLS}}
        if method == "tools/call":
            self.called.append(message["params"]["name"])
            return {**found, "result": {"content": [{"type": "text", "text": self.says}]}}
        return {**found, "error": {"code": -32601, "message": "unknown"}}


def test_servers_are_set_switched_off_and_taken_back(start: StartHost) -> None:
    host = start("--allowedTools", "mcp__calc")
    calculator = Calculator(host)
    policy = [{"name": "wipe", "permission_policy": "always_deny"}]
    calc = {"type": "sdk", "name": "calc", "tools": policy}
    set_ = host.control("mcp_set_servers", servers={"calc": calc, "gone": {"command": "/nonexistent-server"}})
    assert set(set_["added"]) == {"calc", "gone"}
    assert "gone" in set_["errors"]
    found = host.say(call("mcp__calc__add"), call("mcp__calc__wipe"), "SAY x")
    assert ([bool(one.get("is_error")) for one in results(found)], calculator.called) == ([False, True], ["add"])
    told = {one["name"]: one for one in host.control("mcp_status")["mcpServers"]}
    assert (told["calc"]["status"], told["gone"]["status"]) == ("connected", "failed")
    assert (told["calc"]["source"], told["gone"]["source"]) == ("sdk", "dynamic")
    assert host.control("mcp_toggle", serverName="calc", enabled=False) == {}
    assert host.control("mcp_status")["mcpServers"] == Contains(IsPartialDict(name="calc", status="disabled", tools=[]))
    assert "switched off" in host.control("mcp_reconnect", serverName="calc")
    found = host.say(call("mcp__calc__add"), "SAY x")
    assert not any(name.startswith("mcp__calc") for name in first(found)["tools"])
    assert results(found)[0]["is_error"]
    host.control("mcp_toggle", serverName="calc", enabled=True)
    host.say(call("mcp__calc__add"), "SAY x")
    assert calculator.called == ["add", "add"]
    assert set(host.control("mcp_set_servers", servers={})["removed"]) == {"calc", "gone"}
    assert host.control("mcp_status") == {"mcpServers": []}
    assert "calc" in host.control("mcp_toggle", serverName="calc", enabled=True)


def test_a_server_of_the_host_says_that_its_tools_have_changed(start: StartHost) -> None:
    host = start()
    Calculator(host)
    host.control("mcp_set_servers", servers={"calc": {"type": "sdk", "name": "calc"}})
    TOOLS.append({"name": "more", "description": "more", "inputSchema": {"type": "object"}})
    try:
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        assert host.control("mcp_message", server_name="calc", message=changed) == {}
        names: set[str] = set()
        while "more" not in names:
            names = {tool["name"] for tool in host.control("mcp_status")["mcpServers"][0]["tools"]}
    finally:
        TOOLS.pop()
    assert "message must be" in host.control("mcp_message", server_name="calc", message="x")


@pytest.mark.parametrize(
    ("says", "made", "word"),
    [
        ('{"behavior": "allow", "updatedInput": {"command": "touch changed"}}', ["changed"], ""),
        ('{"behavior": "deny", "message": "not now"}', [], "not now"),
        ("yes", [], "did not decide"),
        ('{"behavior": "allow", "updatedInputs": {}}', [], "updatedInput"),
    ],
)
def test_a_tool_of_the_host_decides(start: StartHost, place: Path, says: str, made: list[str], word: str) -> None:
    host = start("--permission-prompt-tool", "mcp__calc__add")
    calculator = Calculator(host)
    calculator.says = says
    host.control("initialize", sdkMcpServers=["calc"])
    found = host.say(call("Bash", command="touch asked"), "SAY x")
    assert calculator.called == ["add"]
    assert [one.name for one in place.iterdir()] == made
    assert word in str(results(found)[0]["content"])


def test_a_tool_that_is_not_there_decides_nothing(start: StartHost) -> None:
    host = start("--permission-prompt-tool", "mcp__calc__add")
    host.send({"type": "user", "message": {"role": "user", "content": "SAY x"}})
    code, _, errors = host.finish()
    assert (code, "no MCP server 'calc'" in errors) == (2, True)


def test_settings_are_given_on_the_way_and_limits_only_come(start: StartHost, place: Path) -> None:
    host = start("--permission-mode", "default")
    asked = {"permissions": {"allow": ["Bash(touch *)"], "deny": ["Bash(touch no)"]}, "model": "claude-haiku-4-5"}
    assert host.control("apply_flag_settings", settings=asked) == {}
    found = host.say(call("Bash", command="touch yes"), call("Bash", command="touch no"), "SAY x")
    assert [bool(one.get("is_error")) for one in results(found)] == [False, True]
    assert first(found)["model"] == "claude-haiku-4-5"
    assert host.control("get_settings")["applied"]["model"] == "claude-haiku-4-5"
    again = {"permissions": {"allow": ["Bash(touch no)"]}, "model": None, "effortLevel": "high"}
    host.control("apply_flag_settings", settings=again)
    found = host.say(call("Bash", command="touch other"), call("Bash", command="touch no"), "SAY x")
    assert [bool(one.get("is_error")) for one in results(found)] == [True, True]
    assert first(found)["model"] != "claude-haiku-4-5"
    told = host.control("get_settings")
    assert told["effective"]["permissions"]["deny"] == ["Bash(touch no)"]
    assert told["applied"]["effort"] == "high"
    assert not (place / "no").exists()


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"sandbox": {"enabled": True}}, "sandbox"),
        ({"effortLevel": "huge"}, "effortLevel"),
        ({"permissions": {"allow": "Bash"}}, "allow"),
        ({"permissions": {"defaultMode": "bypassPermissions"}}, "bypassPermissions"),
        ({"model": "nobody:knows"}, "nobody"),
    ],
)
def test_settings_that_cannot_count_are_refused_whole(start: StartHost, settings: Line, word: str) -> None:
    host = start()
    before = host.control("get_settings")
    given = {"permissions": {"allow": ["Bash(touch *)"]}, **settings}
    assert word in host.control("apply_flag_settings", settings=given)
    assert host.control("get_settings") == before


def test_files_are_rewound_to_a_prompt_or_only_looked_at(start: StartHost, place: Path) -> None:
    (place / "kept").write_text("one\ntwo\n")
    host = start("--permission-mode", "acceptEdits")
    host.say(call("Read", file_path=str(place / "kept")), "SAY x")
    writes = [call("Write", file_path=str(place / name), content="other\n") for name in ("kept", "new")]
    uuid = "11111111-2222-4333-8444-555555555555"
    host.say(*writes, "SAY x", uuid=uuid)
    looked = host.control("rewind_files", user_message_id=uuid, dry_run=True)
    assert looked["canRewind"]
    assert {Path(path).name for path in looked["filesChanged"]} == {"kept", "new"}
    assert (looked["insertions"], looked["deletions"]) == (2, 2)
    assert (place / "kept").read_text() == "other\n"
    assert host.control("rewind_files", user_message_id=uuid)["canRewind"]
    assert ((place / "kept").read_text(), (place / "new").exists()) == ("one\ntwo\n", False)
    assert host.control("rewind_files", user_message_id=uuid)["filesChanged"] == []
    assert host.control("rewind_files", user_message_id="nobody", dry_run=True)["canRewind"] is False
    assert "nobody" in host.control("rewind_files", user_message_id="nobody")


def test_a_file_of_somebody_else_stays_when_files_are_rewound(start: StartHost, place: Path) -> None:
    host = start("--permission-mode", "acceptEdits")
    uuid = "11111111-2222-4333-8444-555555555556"
    host.say(call("Write", file_path=str(place / "new"), content="ours"), "SAY x", uuid=uuid)
    (place / "new").write_text("theirs")
    assert "changed by somebody else" in host.control("rewind_files", user_message_id=uuid)
    assert (place / "new").read_text() == "theirs"


@pytest.mark.parametrize("is_right", [True, False])
def test_a_file_that_the_host_has_shown_counts_as_read_while_it_is_as_it_was(
    start: StartHost, place: Path, is_right: bool
) -> None:
    (place / "seen").write_text("old words\n")
    (place / "secret").write_text("x\n")
    host = start("--permission-mode", "acceptEdits", "--disallowedTools", "Read(secret)")
    mtime = (place / "seen").stat().st_mtime_ns // 1_000_000 - (not is_right)
    assert host.control("seed_read_state", path="seen", mtime=mtime) == {"seeded": is_right}
    edit = call("Edit", file_path=str(place / "seen"), old_string="old", new_string="new")
    assert bool(results(host.say(edit, "SAY x"))[0].get("is_error")) is not is_right
    assert "secret" in host.control("seed_read_state", path=str(place / "secret"), mtime=mtime)
    assert "mtime" in host.control("seed_read_state", path="seen", mtime="now")


def test_a_running_command_goes_to_the_background(start: StartHost) -> None:
    host = start("--allowedTools", "Bash")
    assert host.control("background_tasks") == {"backgrounded": False}
    host.prompt(call("Bash", command="tail -f /dev/null"), "SAY on it goes")
    while not host.control("background_tasks")["backgrounded"]:
        pass
    assert "on it goes" in texts(found := host.until(type="result")) or found[-1]["result"] == "on it goes"
    host.send({"type": "control_request", "request_id": "end", "request": {"subtype": "end_session"}})
    assert host.finish()[0] == 0


def test_thinking_changes_on_the_way(start: StartHost) -> None:
    def thinks(found: list[Line]) -> bool:
        said = (block for line in found if line["type"] == "assistant" for block in line["message"]["content"])
        return any(block["type"] == "thinking" for block in said)

    host = start()
    told: list[bool] = []
    for tokens in (4000, 0, None):
        assert host.control("set_max_thinking_tokens", max_thinking_tokens=tokens) == {}
        told.append(thinks(host.say("SAY x")))
    assert told == [True, False, False]
    assert "max_thinking_tokens" in host.control("set_max_thinking_tokens", max_thinking_tokens=-1)
    assert "thinking_display" in host.control("set_max_thinking_tokens", thinking_display="highlights")


def test_the_rest_is_answered_or_refused_by_name(start: StartHost) -> None:
    host = start()
    assert host.control("rename_session", title="Mine") == {}
    assert "nobody" in host.control("rename_session", title="Mine", session_id="nobody")
    assert host.control("get_binary_version")["version"] >= "2.1.248"
    assert "read_my_mind" in host.control("read_my_mind")
    described: dict[str, Any] = host.control("get_context_usage")
    assert json.dumps(described)
    assert described["maxTokens"] > 0


def test_the_window_is_told_by_category_file_tool_and_agent(start: StartHost, place: Path) -> None:
    (place / "CLAUDE.md").write_text("Speak softly. " * 50)
    agents = json.dumps({"weaver": {"description": "Weaves", "prompt": "Weave."}})
    host = start("--allowedTools", "mcp__calc", "--agents", agents)
    Calculator(host)
    host.control("initialize", sdkMcpServers=["calc"])
    host.say("SAY hi")
    found = host.control("get_context_usage")
    tokens = {one["id"]: one["tokens"] for one in found["categories"]}
    used = sum(one["tokens"] for one in found["categories"] if one["kind"] == "used")
    assert all(tokens[name] > 0 for name in ("system_prompt", "system_tools", "mcp_tools", "messages", "free_space"))
    assert found["totalTokens"] == used
    assert used + tokens["autocompact_buffer"] + tokens["free_space"] == found["maxTokens"]
    assert [(one["name"], one["serverName"], one["isLoaded"]) for one in found["mcpTools"]] == [
        ("mcp__calc__add", "calc", True),
        ("mcp__calc__wipe", "calc", True),
    ]
    assert all(one["tokens"] > 0 for one in (*found["mcpTools"], *found["systemTools"], *found["agents"]))
    assert [(one["agentType"], one["source"]) for one in found["agents"]] == [("weaver", "flagSettings")]
    assert found["autoCompactThreshold"] < found["maxTokens"]
    assert {len(row) for row in found["gridRows"]} <= set(range(1, 11))
    square = found["gridRows"][0][0]
    assert set(square) == {"color", "isFilled", "categoryName", "tokens", "percentage", "squareFullness"}


def test_files_of_memory_are_told_with_what_they_take(start: StartHost, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "CLAUDE.md").write_text("Speak softly. " * 50)
    host = start(CLAUDE_CONFIG_DIR=str(config))
    host.say("SAY hi")
    found = host.control("get_context_usage")
    [file] = found["memoryFiles"]
    assert (file["path"], file["type"], file["tokens"] > 50) == (str(config / "CLAUDE.md"), "User", True)
    assert next(one["tokens"] for one in found["categories"] if one["id"] == "memory_files") == file["tokens"]


def test_rules_are_told_with_where_they_live(start: StartHost, place: Path) -> None:
    host = start("--disallowed-tools", "Read(./secret)", "--settings", '{"permissions":{"ask":["WebFetch"]}}')
    state = host.control("list_permission_rules")["state"]
    assert (state["originalCwd"], state["workspaceDirectories"], state["managedOnly"]) == (str(place), [], False)
    assert [(one["rule"], one["source"], one["editability"]) for one in state["rules"]] == Contains(
        ("Read(./secret)", "cliArg", "session"), ("WebFetch", "cliArg", "session")
    )


@pytest.mark.parametrize(("text", "encoding"), [("x", "utf-8"), ("\n", "utf-8"), ("x", "base64")])
def test_the_beginning_of_a_long_file_fits_into_a_line_uncut(
    start: StartHost, place: Path, text: str, encoding: str
) -> None:
    (place / "long").write_text(text * (2 << 20))
    found = start().control("read_file", path="long", encoding=encoding)
    contents = base64.b64decode(found["contents"]).decode() if encoding == "base64" else found["contents"]
    assert found["truncated"] is True
    assert (len(contents) > 400_000, set(contents)) == (True, {text})
