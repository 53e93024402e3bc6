"""How users configure hooks: files, matchers, handlers, common fields, environment; one test for each sentence."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.events import HookRan, HookStarted
from holdfast.hooks import Hook, HookAnswer
from holdfast.hooks.command import CommandRunner, Surroundings
from holdfast.hooks.gate import Hooks
from holdfast.hooks.inputs import PreToolUse
from holdfast.hooks.prompt import PromptRunner
from holdfast.hooks.schema import Handlers, Runner, hooks_of
from holdfast.host.processes import Processes
from holdfast.settings.merge import Origin, freeze
from holdfast.settings.model import HookEntry
from holdfast.settings.sources import SourceKind

from .hook_scene import Scene, command, group, says, tool

BLOCK = says(decision="block", reason="because")


def logs(word: str) -> dict[str, Any]:
    return command(f'echo {word} >> "$CLAUDE_PROJECT_DIR/log"')


# Files


@pytest.mark.parametrize(
    "file",
    [
        "~/.claude/settings.json", "~/.config/holdfast/settings.json", ".claude/settings.json",
        ".claude/settings.local.json", ".holdfast/settings.json",
    ],
)  # fmt: skip
def test_any_settings_file_may_hold_hooks(
    file: str, isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = Scene(isolated_home, tmp_path)
    path = isolated_home / file[2:] if file.startswith("~/") else tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": [group(logs("heard"), matcher="Edit|Bash")]}}))
    if not file.startswith("~/"):
        scene.call()
        assert scene.lines() == []  # until the folder is trusted
        assert run(["trust", "--yes"]) == 0
    scene.call()
    assert scene.lines() == ["heard"]


def test_entries_of_all_files_merge_and_identical_handlers_run_once(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, PreToolUse=[group(logs("user"), logs("both")), group(logs("both"))])
    more = json.dumps({"hooks": {"PreToolUse": [group(logs("both"), matcher="Bash"), group(logs("flag"))]}})
    scene.call(settings=more)
    assert sorted(scene.lines()) == ["both", "flag", "user"]


def test_an_agents_front_matter_may_hold_hooks(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path)
    (isolated_home / ".claude" / "agents").mkdir()
    hooks = json.dumps({"PreToolUse": [group(logs("agent"))]})
    text = f"---\nname: looker\ndescription: looks\nhooks: {hooks}\n---\nLook."
    (isolated_home / ".claude" / "agents" / "looker.md").write_text(text)
    given = {"description": "look", "prompt": "look", "subagent_type": "looker"}
    bash = tool("b", "Bash", command="true")
    scene.run([tool("t", "Agent", **given)], [bash], "looked", [tool("c", "Bash", command="true")], "done")
    assert scene.lines() == ["agent"]


def test_a_skills_front_matter_may_hold_hooks_and_only_there_once_counts(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, PreToolUse=group({**logs("always"), "once": True}, matcher="Bash"))
    skill = isolated_home / ".claude" / "skills" / "tidy"
    skill.mkdir(parents=True)
    hooks = json.dumps({"PreToolUse": [group({**logs("once"), "once": True}, matcher="Bash")]})
    (skill / "SKILL.md").write_text(f"---\ndescription: tidies\nhooks: {hooks}\n---\nTidy.")
    bash = [tool("b", "Bash", command="true")]
    scene.run(bash, bash, "done", prompt="/tidy")
    assert sorted(scene.lines()) == ["always", "always", "once"]


def test_all_matching_hooks_run_in_parallel(isolated_home: Path, tmp_path: Path) -> None:
    """Each of two waits for the other."""

    def meets(one: str, other: str) -> dict[str, Any]:
        wait = f"for i in $(seq 600); do [ -e {other} ] && exit 0; sleep 0.05; done; exit 2"
        return command(f"touch {one}; {wait}")

    scene = Scene(isolated_home, tmp_path, PreToolUse=[group(meets("a", "b")), group(meets("b", "a"), matcher="Bash")])
    assert scene.call().outcome == "completed"


# Matchers


@pytest.mark.parametrize(
    ("matcher", "names", "fits"),
    [
        ("*", ("Bash",), True),
        ("", ("Bash",), True),
        (None, ("Bash",), True),
        ("Edit|Write", ("Write",), True),
        ("Edit, Write", ("Edit",), True),
        ("Edit|Write", ("NotebookEdit",), False),
        ("Bash", ("BashOutput",), False),
        ("my-tool_2", ("my-tool_2",), True),
        ("mcp__memory", ("mcp__memory__read",), False),
        ("mcp__memory__.*", ("mcp__memory__read",), True),
        ("mcp__.*__write.*", ("mcp__files__write_file",), True),
        ("Edit.*", ("NotebookEdit",), True),
        ("^Edit$", ("NotebookEdit",), False),
        ("(?<what>Ba)sh", ("Bash",), True),
    ],
)
def test_a_list_of_names_is_exact_and_anything_else_an_unanchored_javascript_pattern(
    matcher: str | None, names: tuple[str, ...], fits: bool
) -> None:
    async def never(event: object) -> HookAnswer | None:
        raise AssertionError

    assert bool(Hooks([Hook("PreToolUse", never, matcher)]).before(names)) is fits


# Handlers


def test_a_command_runs_in_a_shell_and_with_args_without_one(isolated_home: Path, tmp_path: Path) -> None:
    """`command`; `args` = exec form."""
    write = "import sys; open('log', 'a').write(sys.argv[1])"
    without = command(sys.executable, args=["-c", write, "$HOME `id` ${CLAUDE_PROJECT_DIR}\n"])
    scene = Scene(isolated_home, tmp_path, PreToolUse=group(command('echo "shell $((1 + 1))" > log2'), without))
    scene.call()
    assert scene.lines() == [f"$HOME `id` {tmp_path}"]
    assert scene.lines("log2") == ["shell 2"]


def test_an_async_command_decides_nothing_and_keeps_nobody_waiting(isolated_home: Path, tmp_path: Path) -> None:
    wait = "for i in $(seq 600); do [ -e made ] && break; sleep 0.05; done; touch seen; exit 2"
    scene = Scene(isolated_home, tmp_path, PreToolUse=command(wait, **{"async": True}))
    look = "for i in $(seq 600); do [ -e seen ] && break; sleep 0.05; done; ls seen"
    scene.run([tool("t", "Bash", command="touch made")], [tool("u", "Bash", command=look)], "done")
    assert (scene.finished("t").outcome, scene.reply("u")) == ("completed", "seen")


def test_an_async_command_that_wakes_tells_the_model_with_exit_code_two(isolated_home: Path, tmp_path: Path) -> None:
    """`asyncRewake`."""
    handler = command("echo 3 errors >&2; touch seen; exit 2", asyncRewake=True, rewakeMessage="The linter says:")
    scene = Scene(isolated_home, tmp_path, PostToolUse=group(handler, matcher="Bash"))
    told: list[str] = []

    def turn(request: Any) -> Any:
        told.append(str(request.messages))
        heard = "The linter says:" in told[-1] or len(told) > 200
        return "done" if heard else [tool(f"t{len(told)}", "Bash", command="sleep 0.02")]

    scene.run(*[turn] * 220)
    assert "3 errors" in told[-1]


def test_a_shell_may_be_named(isolated_home: Path, tmp_path: Path) -> None:
    """`shell`: bash; a PowerShell that is not there is a gate that failed; commandWindows is for others."""
    bash = command('[[ -n "$BASH_VERSION" ]] && echo bash > log', shell="bash", commandWindows="exit 2")
    scene = Scene(isolated_home, tmp_path, PreToolUse=group(bash))
    assert scene.call().outcome == "completed"
    assert scene.lines() == ["bash"]


class _Server:
    """Answers every POST with one text; keeps headers and bodies."""

    def __init__(self, status: str, body: str) -> None:
        self._answer = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n{body}".encode()
        self.heard: list[tuple[str, dict[str, Any]]] = []

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].split()[0])
        self.heard.append((head, json.loads(await reader.readexactly(length))))
        writer.write(self._answer)
        await writer.drain()
        writer.close()


def posted(scene: Callable[[str], Scene], server: _Server) -> Any:
    """One call with a hook at this server's address."""

    async def body() -> Any:
        async with await asyncio.start_server(server.hear, "127.0.0.1", 0) as listening:
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/hook"
            return await asyncio.to_thread(scene(url).call)

    return asyncio.run(asyncio.wait_for(body(), 60))


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        ("200 OK", '{"decision":"block","reason":"because"}', "denied"),
        ("201 Created", '{"decision":"block","reason":"because"}', "denied"),
        ("200 OK", "", "completed"),
        ("200 OK", "fine", "completed"),
        ("500 No", '{"decision":"block","reason":"because"}', "completed"),
        ("302 Moved", '{"decision":"block","reason":"because"}', "completed"),
    ],
)
def test_http_two_hundred_with_json_decides_and_anything_else_does_not(
    status: str, body: str, outcome: str, isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`http` (`url`, `headers`, `allowedEnvVars`); HTTP: 2xx+JSON decides, else non-blocking."""
    monkeypatch.setenv("SHOWN", "yes")
    monkeypatch.setenv("HIDDEN", "secret")
    server = _Server(status, body)
    headers = {"X-Shown": "Bearer ${SHOWN}", "X-Hidden": "$HIDDEN"}

    def scene(url: str) -> Scene:
        handler = {"type": "http", "url": url, "headers": headers, "allowedEnvVars": ["SHOWN"]}
        return Scene(isolated_home, tmp_path, PreToolUse=handler)

    assert posted(scene, server).outcome == outcome
    [(head, told)] = server.heard
    assert "x-shown: bearer yes\r\n" in head
    assert "secret" not in head
    assert (told["hook_event_name"], told["tool_input"]) == ("PreToolUse", {"command": "touch made"})


def test_an_mcp_tool_gets_what_its_input_names(isolated_home: Path, tmp_path: Path) -> None:
    """`mcp_tool` (`server`, `tool`, `input` with `${tool_input.x}`)."""
    text = '{"decision":"block","reason":"not ${tool_input.command}"}'
    handler = {"type": "mcp_tool", "server": "guard", "tool": "echo", "input": {"text": text}}
    scene = Scene(isolated_home, tmp_path, PreToolUse=group(handler, matcher="Bash"))
    server = {"command": sys.executable, "args": [str(Path(__file__).parents[1] / "data/mcp/scene.py"), "plain"]}
    scene.call(mcp_config=json.dumps({"mcpServers": {"guard": server}}), strict_mcp_config=True)
    assert "not touch made" in scene.reply()


@pytest.mark.parametrize("kind", ["prompt", "agent"])
def test_a_prompt_or_an_agent_decides_with_the_event_for_its_arguments(
    kind: str, isolated_home: Path, tmp_path: Path
) -> None:
    """`prompt`/`agent` (`prompt` with `$ARGUMENTS`)."""
    handler = {"type": kind, "prompt": "May this be? <$ARGUMENTS>"}
    scene = Scene(isolated_home, tmp_path, PreToolUse=group(handler, matcher="Bash"))
    scene.run([tool("t", "Bash", command="touch made")], '{"ok": false, "reason": "because"}', "done")
    assert "because" in scene.reply()
    assert '"command":"touch made"' in str(scene.requests[1].messages)


def test_a_prompt_names_its_model() -> None:
    """`model`."""
    asked: list[str | None] = []

    async def ask(text: str, model: str | None) -> str:
        asked.append(model)
        return '{"ok": true}'

    event = PreToolUse(tool_name="Bash", tool_input={}, tool_use_id="t")
    asyncio.run(asyncio.wait_for(PromptRunner(ask).run({"prompt": "?", "model": "small"}, event, 5), 20))
    assert asked == ["small"]


# Common fields


@pytest.mark.parametrize(
    ("rule", "given", "hears"),
    [
        ("Bash(git *)", "git push", True),
        ("Bash(git *)", "ls", False),
        ("Bash(git *)", "FOO=1 git push", True),
        ("Bash(git *)", "npm test && git push", True),
        ("Bash(git *)", "echo $(git push)", True),
        ("Bash(git push *)", "$TOOL push", True),
        ("Bash(git push *)", 'eval "$X"', True),
        ("Bash(git push *)", "echo 'unfinished", True),
        ("Bash(git push *)", "git $VERB origin", True),
        ("Bash(git push *)", "ls $HOME", False),
        ("Bash", "ls", True),
        ("Edit(*.ts)", 'eval "$X"', False),
        ("Edit(*.ts)", "ls", False),
        ("Bash(", "ls", True),
        ("Bash(git *) || Bash(npm *)", "ls", True),
    ],
)  # fmt: skip
def test_if_is_one_rule_about_the_call_and_what_it_cannot_tell_is_heard(
    rule: str, given: str, hears: bool, isolated_home: Path, tmp_path: Path
) -> None:
    """`if` (one permission rule, tool events only, fails open)."""
    scene = Scene(isolated_home, tmp_path, PreToolUse=group({**command(BLOCK), "if": rule}, matcher="Bash"))
    scene.call(given)
    assert ("because" in scene.reply()) is hears


def test_if_on_any_other_event_never_runs(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, UserPromptSubmit={**command(BLOCK), "if": "Bash(git *)"})
    assert scene.run("done").text == "done"


def entry(event: str, **handler: Any) -> HookEntry:
    frozen: Any = freeze(handler)
    return HookEntry(event, None, frozen, Origin(SourceKind.USER, "/settings.json", 1))


@pytest.mark.parametrize(
    ("event", "kind", "given", "limit_s"),
    [
        ("PreToolUse", "command", None, 600),
        ("PreToolUse", "http", None, 600),
        ("PreToolUse", "mcp_tool", None, 600),
        ("PreToolUse", "prompt", None, 30),
        ("PreToolUse", "agent", None, 60),
        ("UserPromptSubmit", "command", None, 30),
        ("MessageDisplay", "command", None, 10),
        ("SessionEnd", "command", None, 1.5),
        ("PreToolUse", "command", 7, 7),
    ],
)
def test_a_timeout_is_in_seconds_and_has_its_default(
    event: str, kind: str, given: float | None, limit_s: float
) -> None:
    """`timeout` s (600; prompt 30; agent 60; UserPromptSubmit 30; SessionEnd budget 1.5)."""
    more = {"url": "http://x", "server": "s", "tool": "t", "prompt": "?", "command": "true"}
    handler = {"type": kind, **more, **({} if given is None else {"timeout": given})}
    runner = CommandRunner(_no_processes, Surroundings())
    others: dict[str, Callable[[HookEntry], Runner]] = dict.fromkeys(("http", "prompt", "agent", "mcp_tool"), _nobody)
    [hook] = hooks_of((entry(event, **handler),), Handlers(runner, others))
    assert hook.timeout_s == limit_s + 60  # a second wall, in case that a runner does not end by itself


def _no_processes() -> Processes:
    raise AssertionError("nothing is run")


def _nobody(entry: HookEntry) -> Runner:
    return PromptRunner(_asks_nobody)


async def _asks_nobody(text: str, model: str | None) -> str:
    raise AssertionError("nobody is asked")


def test_a_status_message_is_shown_while_a_hook_works(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, PreToolUse=command("true", statusMessage="looking"))
    scene.call()
    [started] = [event for event in scene.events if isinstance(event, HookStarted)]
    assert started.status == "looking"


@pytest.mark.parametrize(("policy", "outcome"), [("block", "denied"), ("ask", "denied"), ("continue", "completed")])
def test_on_failure_says_what_a_failure_means(policy: str, outcome: str, isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, PreToolUse=command("exit 3", onFailure=policy))
    assert scene.call().outcome == outcome


def test_a_timeout_is_no_decision(isolated_home: Path, tmp_path: Path) -> None:
    """Of a gate it is a failure, which at best is asked about; of everything else it changes nothing."""
    slow = command(f"sleep 60; {BLOCK}", timeout=0.2)
    scene = Scene(isolated_home, tmp_path, PostToolUse=slow, UserPromptSubmit=slow, Stop=slow)
    assert scene.call().outcome == "completed"
    assert sum("took longer" in text for text in scene.said) == 3
    scene = Scene(isolated_home, tmp_path, PreToolUse=slow)
    assert scene.call().outcome == "denied"


# What a command sees


def test_the_environment_names_the_project_and_the_event_under_both_names(isolated_home: Path, tmp_path: Path) -> None:
    """Env: `CLAUDE_PROJECT_DIR`, `CLAUDE_ENV_FILE` (SessionStart), `CLAUDE_EFFORT`, and what scripts read besides."""
    keep = command('env -0 > "$CLAUDE_HOOK_EVENT_NAME"')
    file = str(tmp_path / "x")
    scene = Scene(isolated_home, tmp_path, SessionStart=keep, PreToolUse=keep)
    scene.run([tool("t", "Read", file_path=file)], "done", effort="high")
    seen: dict[str, dict[str, str]] = {}
    for event in ("SessionStart", "PreToolUse"):
        words = (tmp_path / event).read_bytes().decode().split("\0")
        seen[event] = {word.partition("=")[0]: word.partition("=")[2] for word in words if word}
    own = {
        "PROJECT_DIR": str(tmp_path), "EFFORT": "high", "HOOK_EVENT_NAME": "PreToolUse", "TOOL_NAME": "Read",
        "TOOL_FILE_PATH": file, "TOOL_INPUT_FILE_PATH": file,
    }  # fmt: skip
    for prefix in ("CLAUDE_", "HOLDFAST_"):
        found = {name.removeprefix(prefix): value for name, value in seen["PreToolUse"].items()}
        assert found | own == found
        assert found["SESSION_ID"] in found["TRANSCRIPT_PATH"]
        assert prefix + "ENV_FILE" not in seen["PreToolUse"]
        assert Path(seen["SessionStart"][prefix + "ENV_FILE"]).is_file()


def test_a_session_start_hook_leaves_variables_for_later_commands(isolated_home: Path, tmp_path: Path) -> None:
    leaves = [command(f'echo "export {name}=1" >> "$CLAUDE_ENV_FILE"') for name in ("FIRST", "SECOND")]
    scene = Scene(isolated_home, tmp_path, SessionStart=group(*leaves))
    assert scene.call("echo $FIRST$SECOND").content == "11"


def test_a_hook_has_no_terminal(isolated_home: Path, tmp_path: Path) -> None:
    look = "{ (: < /dev/tty) 2>/dev/null && echo tty; [ -t 0 ] && echo in; echo $$ $(ps -o sid= $$); } > log"
    scene = Scene(isolated_home, tmp_path, PreToolUse=command(look))
    controller, terminal = os.openpty()
    try:
        assert stat.S_ISCHR(os.fstat(terminal).st_mode)
        scene.call()
    finally:
        os.close(controller)
        os.close(terminal)
    [line] = scene.lines()
    pid, session = line.split()
    assert pid == session


def test_each_run_is_told_with_its_time(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, PreToolUse=command(BLOCK))
    scene.call()
    [ran] = [event for event in scene.events if isinstance(event, HookRan)]
    assert (ran.event, ran.outcome, ran.reason, ran.origin.endswith("settings.json:1")) == (
        "PreToolUse", "deny", "because", True,
    )  # fmt: skip
    assert ran.duration_ms > 0
