"""Servers in a whole session: where they are configured, who may start, and how their tools reach a model."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.app import Options, load_rights
from holdfast.app.servers import choose_servers, configured_servers
from holdfast.models.scripted import ScriptedModel
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.settings.hook_items import mcp_server_hash

SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene.py")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    for name in ("config", "state", "cache"):
        (home / name).mkdir(parents=True)
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(home / name))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    return project


def server(scene: str = "plain", **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [SCENE, scene], **more}


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def scopes(place: Path, **options: Any) -> dict[str, str]:
    options = {"cwd": str(place), **options}
    found = configured_servers(load_rights(Options(**options)), Options(**options))
    return {entry.name: entry.scope for entry in found.entries}


def held(place: Path, **options: Any) -> dict[str, str]:
    chosen_options = Options(cwd=str(place), **options)
    rights = load_rights(chosen_options)
    return dict(choose_servers(rights, configured_servers(rights, chosen_options)).held)


def trust(place: Path, *hashes: str) -> None:
    roots = SettingsRoots.from_environment()
    TrustStore(roots.state, home=roots.home).trust(str(place), items=hashes)


def test_the_whole_entry_of_the_highest_scope_counts(place: Path, tmp_path: Path) -> None:
    write(place / ".mcp.json", {"mcpServers": {"a": server(), "b": server(), "c": server()}})
    user = {"mcpServers": {"a": server(), "d": server()}, "projects": {str(place): {"mcpServers": {"b": server()}}}}
    write(tmp_path / "home" / ".claude.json", user)
    given = json.dumps({"mcpServers": {"c": server()}})
    assert scopes(place, mcp_config=(given,)) == {"c": "flag", "b": "local", "a": "project", "d": "user"}
    assert scopes(place, mcp_config=(given,), strict_mcp_config=True) == {"c": "flag"}
    assert scopes(place, setting_sources="user") == {"a": "user", "d": "user"}


def test_a_bare_map_loads_and_odd_keys_grant_nothing(place: Path) -> None:
    write(place / "s.json", {"x": server(description="d", autoApprove=["*"], alwaysAllow=["echo"])})
    assert scopes(place, mcp_config=("s.json",)) == {"x": "flag"}
    write(place / "t.json", {"mcpServers": {"x": server(enabled=False)}})
    assert "x" in held(place, mcp_config=("t.json",))


def test_a_folders_server_waits_for_trust_and_for_its_own_approval(place: Path) -> None:
    config = {"command": "node", "args": ["./server.js"]}
    write(place / ".mcp.json", {"mcpServers": {"x": config}})
    (place / "server.js").write_text("1")
    assert "not trusted" in held(place)["x"]
    trust(place)
    assert "not approved" in held(place)["x"]
    trust(place, mcp_server_hash("x", config, root=str(place)))
    assert held(place) == {}
    (place / "server.js").write_text("2")
    assert "not approved" in held(place)["x"]


def test_a_server_that_the_user_names_in_his_settings_is_what_it_was_at_first(place: Path) -> None:
    write(place / ".mcp.json", {"mcpServers": {"x": server()}})
    trust(place)
    settings = (json.dumps({"enabledMcpjsonServers": ["x"]}),)
    assert held(place, settings=settings) == {}
    write(place / ".mcp.json", {"mcpServers": {"x": server("other")}})
    assert "not approved" in held(place, settings=settings)["x"]


def test_a_deny_rule_for_a_server_keeps_it_from_starting(place: Path) -> None:
    given = (json.dumps({"mcpServers": {"x": server()}}),)
    assert "denies" in held(place, mcp_config=given, disallowed_tools=("mcp__x",))["x"]


def ask(place: Path, steps: list[Any], **options: Any) -> tuple[Any, list[Any]]:
    events: list[Any] = []

    async def run() -> Any:
        async with Agent(ScriptedModel(steps), cwd=str(place), on_event=events.append, **options) as agent:
            return await asyncio.wait_for(agent.run("go"), 60)

    return asyncio.run(run()), events


def call_of(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": "t1", "name": name, "input": arguments}]


def replies(events: list[Any]) -> list[Any]:
    return [event for event in events if type(event).__name__ == "CallFinished"]


def test_an_agent_calls_a_remote_tool_only_where_a_rule_allows_it(place: Path) -> None:
    config = json.dumps({"mcpServers": {"scene": server(alwaysLoad=True)}})
    steps: list[Any] = [call_of("mcp__scene__echo", {"text": "hello"}), "done"]
    _, events = ask(place, list(steps), mcp_config=config)
    assert replies(events)[0].outcome == "denied"
    _, events = ask(place, list(steps), mcp_config=config, allowed_tools=["mcp__scene__echo"])
    assert replies(events)[0].content == "hello"
    started = [event for event in events if type(event).__name__ == "CallStarted"]
    assert [(one.mcp.server, one.mcp.tool) for one in (*started, *replies(events))] == [("scene", "echo")] * 2


def cli(place: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "holdfast", *words]
    return subprocess.run(argv, cwd=place, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def test_the_command_line_adds_lists_calls_and_removes_a_server(place: Path) -> None:
    added = cli(place, "mcp", "add", "scene", "--", sys.executable, SCENE, "plain")
    assert added.returncode == 0, added.stderr
    rows = json.loads(cli(place, "mcp", "list", "--json").stdout)
    assert [(row["name"], row["scope"]) for row in rows] == [("scene", "local")]
    assert "mcp__scene__echo" in cli(place, "mcp", "tools", "scene").stdout
    called = cli(place, "mcp", "call", "scene", "echo", '{"text": "hi"}')
    assert (called.returncode, called.stdout) == (0, "hi\n")
    assert cli(place, "mcp", "call", "scene", "echo", '{"text": "hi"}', "--disallowed-tools", "mcp__scene").returncode
    assert cli(place, "call", "mcp__scene__echo", '{"text": "a"}', "--allowed-tools", "mcp__scene").stdout == "a\n"
    unknown = cli(place, "mcp", "call", "scene", "nothing", "{}")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "has no tool 'nothing'; it has: echo" in unknown.stderr
    assert "Bash" not in unknown.stderr, "that is none of the server's"
    assert cli(place, "mcp", "remove", "scene").returncode == 0
    assert json.loads(cli(place, "mcp", "list", "--json").stdout) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("", "--", "x"), "no name for a server"),
        (("a\x1b[31m", "--", "x"), "no name for a server"),
        (("a", "ftp://host/mcp"), "one starts with https:// or http://"),
        (("a", "https://host/mcp", "more"), "a URL takes no arguments"),
        (("a", "--header", "A: b", "--", "x"), "for servers behind one"),
        (("a", "--transport", "sse", "--", "x"), "is not a URL"),
    ],
)
def test_what_cannot_be_a_server_is_not_added_and_nothing_given_is_ignored(
    place: Path, words: tuple[str, ...], said: str
) -> None:
    done = cli(place, "mcp", "add", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert json.loads(cli(place, "mcp", "list", "--json").stdout) == []


def test_looking_at_one_server_of_a_folder_starts_none_of_the_others(place: Path) -> None:
    started = place / "started"
    one = server()
    write(place / ".mcp.json", {"mcpServers": {"one": one, "held": server()}})
    trust(place, mcp_server_hash("one", one, root=str(place)))
    assert cli(place, "mcp", "add", "other", "--", "touch", str(started)).returncode == 0
    looked = cli(place, "mcp", "tools", "one")
    assert "mcp__one__echo" in looked.stdout
    assert "held" not in looked.stderr
    assert cli(place, "mcp", "call", "one", "echo", '{"text": "hi"}').stdout == "hi\n"
    assert not started.exists()


def test_why_a_server_cannot_be_reached_is_said_once(place: Path) -> None:
    assert cli(place, "mcp", "add", "gone", "--", "/nonexistent-server").returncode == 0
    for words in (("tools", "gone"), ("call", "gone", "echo", "{}")):
        done = cli(place, "mcp", *words)
        assert done.returncode
        assert done.stderr.count("cannot be started") == 1


def test_a_typing_error_is_told_with_the_names_there_are(place: Path) -> None:
    said = cli(place, "mcp", "tools", "sceen")
    assert said.returncode == 2
    assert "no MCP server 'sceen'" in said.stderr
    assert "WebSocket" in cli(place, "mcp", "add-json", "x", '{"type": "ws", "url": "wss://x"}').stderr


def test_exec_offers_the_servers_tools(place: Path) -> None:
    config = json.dumps({"mcpServers": {"scene": server()}})
    line = json.dumps({"type": "tool_use", "id": "1", "name": "mcp__scene__echo", "input": {"text": "hey"}})
    done = cli(place, "exec", "--mcp-config", config, "--allowed-tools", "mcp__scene__echo", stdin=line + "\n")
    assert json.loads(done.stdout.splitlines()[-1])["content"] == "hey"


def test_a_run_without_servers_loads_nothing_of_mcp(place: Path) -> None:
    code = (
        "from holdfast import Agent\nfrom holdfast.models.scripted import ScriptedModel\n"
        "Agent(ScriptedModel(['ok']), persist=False).run_sync('hi')\n"
        "import sys\nprint([name for name in sys.modules if name.startswith('holdfast.mcp')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_an_agent_loads_a_tool_by_name_and_then_calls_it(place: Path) -> None:
    config = json.dumps({"mcpServers": {"scene": server()}})
    search = call_of("ToolSearch", {"query": "select:mcp__scene__echo"})
    steps = [search, [{**call_of("mcp__scene__echo", {"text": "found"})[0], "id": "t2"}], "done"]
    _, events = ask(place, steps, mcp_config=config, allowed_tools=["mcp__scene__echo"])
    loaded, called = replies(events)
    assert loaded.content == [
        {"type": "text", "text": "Loaded, call them now: mcp__scene__echo."},
        {"type": "tool_reference", "tool_name": "mcp__scene__echo"},
    ]
    assert called.content == "found"


def test_doctor_says_how_each_server_does_and_why_one_is_not_started(place: Path) -> None:
    write(place / ".mcp.json", {"mcpServers": {"folder": server()}})
    given = {"good": server(), "bad": server("ends-at-once"), "socket": {"type": "ws", "url": "wss://x"}}
    done = cli(place, "doctor", "--json", "--mcp-config", json.dumps({"mcpServers": given}))
    rows = {row["name"]: row for row in map(json.loads, done.stdout.splitlines()) if row["area"] == "mcp"}
    assert (rows["good"]["level"], rows["good"]["detail"]) == ("ok", "connected, 8 tools")
    assert "no licence" in rows["bad"]["detail"]
    assert "not trusted" in rows["folder"]["detail"]
    assert {rows[name]["level"] for name in ("bad", "folder", "socket")} == {"warn"}
    assert "WebSocket" in rows["socket"]["detail"]


@pytest.mark.parametrize(("settings", "told"), [("{}", "not supported"), ('{"mcp": {"roots": true}}', "project")])
def test_a_setting_of_the_users_tells_servers_the_directories(place: Path, settings: str, told: str) -> None:
    config = json.dumps({"mcpServers": {"scene": server("roots")}})
    write(place / ".claude" / "settings.json", {"mcp": {"roots": True}})
    steps: list[Any] = [call_of("mcp__scene__echo", {"text": "x"}), "done"]
    _, events = ask(place, steps, mcp_config=config, allowed_tools=["mcp__scene"], settings=settings, trust=True)
    assert told in str(replies(events)[0].content)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"command": "holdfast-no-such-program"}, "The MCP server 's' cannot be started: "),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit('no database')"]}, "no database"),
    ],
    ids=["missing", "ends at once"],
)
def test_a_server_that_cannot_be_started_is_told_once(place: Path, config: dict[str, Any], why: str) -> None:
    with Agent(ScriptedModel(["Yes."]), cwd=place, mcp_servers={"s": config}) as agent:
        warnings = agent.run_sync("?").warnings
    assert [why in warning for warning in warnings] == [True], warnings
    write(place / "yes.json", ["Yes."])
    given = json.dumps({"mcpServers": {"s": config}})
    said = cli(place, "-p", "?", "--model", "scripted:yes.json", "--mcp-config", given)
    assert said.stdout == "Yes.\n"
    assert said.stderr.count(why) == 1, said.stderr
