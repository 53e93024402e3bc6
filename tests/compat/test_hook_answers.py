"""What hooks answer in JSON: one test for each field and sentence, by command hooks in whole sessions."""
# ruff: noqa: E501 - one line for one row

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.contract import Form
from holdfast.events import RunEnded, TerminalSignalled, TextStreamed
from holdfast.hooks import HookAnswer
from holdfast.hooks.answers import read_answer, read_output
from holdfast.hooks.events import EVENTS
from holdfast.session import user_store
from holdfast.session.summaries import list_sessions

from .hook_scene import Scene, command, group, own, says, tool
from .hook_tour import QUESTION, SERVER


@pytest.fixture(autouse=True)
def all_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_TOOL_SEARCH", "false")


def pre(**answer: Any) -> dict[str, Any]:
    """A gate that answers with this."""
    return command(own("PreToolUse", **answer))


# When it is JSON


@pytest.mark.parametrize(
    ("event", "wrote", "context"),
    [
        ("SessionStart", "branch: main", "branch: main"),
        ("UserPromptSubmit", "be brief", "be brief"),
        ("UserPromptExpansion", "be brief", "be brief"),
        ("PreToolUse", "be brief", ""),
        ("PostToolUse", "be brief", ""),
        ("Stop", "be brief", ""),
        ("Notification", "be brief", ""),
    ],
)
def test_plain_standard_output_is_context_for_three_events_only(event: str, wrote: str, context: str) -> None:
    """0 ok (stdout is JSON iff it starts with `{`)."""
    assert read_output(EVENTS[event], 0, wrote + "\n", "") == HookAnswer(additional_context=context)


def test_what_such_a_hook_prints_reaches_the_model(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, SessionStart=command("echo one"), UserPromptSubmit=command("echo two"))
    scene.run("done")
    assert "one" in scene.newest
    assert "two" in scene.newest


# Fields of every event


def test_continue_false_ends_the_run_and_says_why(isolated_home: Path, tmp_path: Path) -> None:
    """`continue`, `stopReason`."""
    stop = command(says(**{"continue": False, "stopReason": "because"}))
    scene = Scene(isolated_home, tmp_path, PostToolUse=stop)
    result = scene.run([tool("t", "Bash", command="touch made")], "never")
    assert (result.outcome, result.error, len(scene.requests)) == ("stopped_by_hook", "because", 1)


def test_a_system_message_is_for_the_user_and_suppress_output_does_nothing(isolated_home: Path, tmp_path: Path) -> None:
    """`systemMessage`, `suppressOutput` (inert)."""
    scene = Scene(isolated_home, tmp_path, PreToolUse=command(says(systemMessage="look", suppressOutput=True)))
    scene.call()
    assert scene.said == ["look"]
    assert "look" not in str([request.messages for request in scene.requests])


def test_a_terminal_sequence_that_notifies_is_sent(isolated_home: Path, tmp_path: Path) -> None:
    """`terminalSequence`."""
    scene = Scene(isolated_home, tmp_path, Stop=command(r"""printf '{"terminalSequence":"\\u0007"}'"""))
    scene.run("done")
    assert [event.sequence for event in scene.events if isinstance(event, TerminalSignalled)] == ["\a"]


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_what_is_said_for_one_event_must_name_it(event: str, isolated_home: Path, tmp_path: Path) -> None:
    """`hookEventName` (required)."""
    nameless = command(says(hookSpecificOutput={"permissionDecision": "allow", "decision": {"behavior": "allow"}}))
    scene = Scene(isolated_home, tmp_path, **{event: nameless})
    assert scene.call(permission_mode="default").outcome == "denied"
    assert any("hookEventName" in text for text in scene.said)


# PreToolUse


@pytest.mark.parametrize(
    ("word", "mode", "outcome"),
    [
        ("allow", "default", "completed"),
        ("deny", "bypassPermissions", "denied"),
        ("ask", "bypassPermissions", "denied"),  # nobody is there to be asked
        ("defer", "bypassPermissions", "denied"),  # outside of `-p` it cannot wait
    ],
)
def test_a_permission_decision_and_its_reason(
    word: str, mode: str, outcome: str, isolated_home: Path, tmp_path: Path
) -> None:
    """`permissionDecision: allow|deny|ask|defer`, `permissionDecisionReason`."""
    scene = Scene(isolated_home, tmp_path, PreToolUse=pre(permissionDecision=word, permissionDecisionReason="because"))
    assert scene.call(permission_mode=mode).outcome == outcome
    assert outcome == "completed" or "because" in scene.reply()


def test_an_updated_input_replaces_the_whole_input(isolated_home: Path, tmp_path: Path) -> None:
    """`updatedInput` (**replaces whole input**)."""
    gate = pre(updatedInput={"command": "echo changed"})
    scene = Scene(isolated_home, tmp_path, PreToolUse=group(gate, matcher="Bash"))
    scene.run([tool("t", "Bash", command="sleep 60", timeout=5, description="x")], "done")
    assert scene.reply() == "changed"
    scene = Scene(isolated_home, tmp_path, PreToolUse=group(pre(updatedInput={"timeout": 5}), matcher="Bash"))
    assert scene.call().outcome == "invalid"


def test_a_gates_additional_context_reaches_the_model(isolated_home: Path, tmp_path: Path) -> None:
    scene = Scene(isolated_home, tmp_path, PreToolUse=pre(additionalContext="node 22"))
    assert "node 22" in str(scene.call("echo hi").content)


WORDS = ("deny", "defer", "ask", "allow")


@pytest.mark.parametrize("first", WORDS)
@pytest.mark.parametrize("second", WORDS)
def test_of_several_gates_the_strictest_counts(first: str, second: str, isolated_home: Path, tmp_path: Path) -> None:
    """deny > defer > ask > allow."""
    gates = [pre(permissionDecision=word, permissionDecisionReason=f"it says {word}") for word in (first, second)]
    scene = Scene(isolated_home, tmp_path, PreToolUse=group(*gates))
    reply = scene.call()
    strictest = min(first, second, key=WORDS.index)
    assert (reply.outcome == "completed") is (strictest == "allow")
    assert strictest == "allow" or f"it says {strictest}" in str(reply.content)


@pytest.mark.parametrize(("word", "outcome"), [("approve", "completed"), ("block", "denied")])
def test_older_words_of_a_gate_still_count(word: str, outcome: str, isolated_home: Path, tmp_path: Path) -> None:
    """legacy `decision: approve|block` maps."""
    scene = Scene(isolated_home, tmp_path, PreToolUse=command(says(decision=word, reason="because")))
    assert scene.call(permission_mode="default").outcome == outcome


# PermissionRequest


def request(behavior: str, **more: Any) -> dict[str, Any]:
    """A hook that answers the question."""
    return command(own("PermissionRequest", decision={"behavior": behavior, **more}))


def test_a_hook_answers_the_question_with_yes_and_another_input(isolated_home: Path, tmp_path: Path) -> None:
    """`decision{behavior allow, updatedInput}`."""
    scene = Scene(isolated_home, tmp_path, PermissionRequest=request("allow", updatedInput={"command": "touch other"}))
    assert scene.call(permission_mode="default").outcome == "completed"
    assert (tmp_path / "other").exists()
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("interrupts", [False, True])
def test_a_hook_answers_the_question_with_no(interrupts: bool, isolated_home: Path, tmp_path: Path) -> None:
    """`decision{behavior deny, message, interrupt}`."""
    answer = request("deny", message="because", interrupt=interrupts)
    scene = Scene(isolated_home, tmp_path, PermissionRequest=answer)
    assert "because" in str(scene.call(permission_mode="default").content)
    assert len(scene.requests) == (1 if interrupts else 2)


@pytest.mark.parametrize(
    ("update", "then", "outcome"),
    [
        ({"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"}, "touch more", "completed"),
        ({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch *"}], "behavior": "allow"}, "touch more", "completed"),
        ({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "echo *"}], "behavior": "deny"}, "echo hi", "denied"),
        ({"type": "replaceRules", "rules": [{"toolName": "Bash", "ruleContent": "touch *"}], "behavior": "allow"}, "touch more", "completed"),
        ({"type": "setMode", "mode": "acceptEdits"}, "touch more", "completed"),
        ({"type": "addDirectories", "directories": ["../extra"]}, "cat ../extra/x", "completed"),
    ],
)  # fmt: skip
def test_a_yes_brings_permission_updates(
    update: dict[str, Any], then: str, outcome: str, isolated_home: Path, tmp_path: Path
) -> None:
    """`updatedPermissions[]`: every type that gives, `rules[{toolName,ruleContent?}]`, `behavior`."""
    project = tmp_path / "project"
    for name in ("project", "extra"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("x")
    if "directories" in update:
        update = update | {"directories": [str(project / one) for one in update["directories"]]}
    once = f"[ -e asked ] && exit 0; touch asked; {own('PermissionRequest', decision=_yes(update))}"
    scene = Scene(isolated_home, project, PermissionRequest=command(once))
    calls = [tool("t", "Bash", command="touch made")], [tool("u", "Bash", command=then)]
    scene.run(*calls, "done", permission_mode="default")
    assert (scene.finished("t").outcome, scene.finished("u").outcome) == ("completed", outcome)


@pytest.mark.parametrize("kind", ["Rules", "Directories"])
def test_what_a_yes_has_brought_another_takes_away(kind: str, isolated_home: Path, tmp_path: Path) -> None:
    """`removeRules`, `removeDirectories`."""
    project, extra = tmp_path / "project", tmp_path / "extra"
    project.mkdir()
    extra.mkdir()
    (extra / "x").write_text("x")
    what: dict[str, Any] = {"directories": [str(extra)]}
    if kind == "Rules":
        what = {"rules": [{"toolName": "Bash", "ruleContent": "cat *"}], "behavior": "allow"}
    add, remove = (own("PermissionRequest", decision=_yes({"type": word + kind, **what})) for word in ("add", "remove"))
    script = f"if [ -e b ]; then exit 0; elif [ -e a ]; then {remove}; else {add}; fi"
    scene = Scene(isolated_home, project, PermissionRequest=command(script))
    read = f"cat {extra}/x"
    commands = {"t": "touch a", "u": read, "v": "touch b", "w": read}
    scene.run(*([tool(id_, "Bash", command=one)] for id_, one in commands.items()), "done", permission_mode="default")
    assert [scene.finished(id_).outcome for id_ in commands] == ["completed", "completed", "completed", "denied"]


def _yes(update: dict[str, Any]) -> dict[str, Any]:
    return {"behavior": "allow", "updatedPermissions": [{"destination": "session", **update}]}


@pytest.mark.parametrize(
    ("destination", "file"),
    [
        ("session", None),
        ("localSettings", ".claude/settings.local.json"),
        ("projectSettings", ".claude/settings.json"),
        ("userSettings", "~"),
    ],
)
def test_a_permission_update_goes_where_it_says(
    destination: str, file: str | None, isolated_home: Path, tmp_path: Path
) -> None:
    """`destination session|localSettings|projectSettings|userSettings`."""
    rules = [{"toolName": "Bash", "ruleContent": "touch *"}]
    update = {"type": "addRules", "rules": rules, "behavior": "allow", "destination": destination}
    scene = Scene(isolated_home, tmp_path, PermissionRequest=request("allow", updatedPermissions=[update]))
    scene.call(permission_mode="default")
    written = {path.name for path in tmp_path.rglob("settings*.json") if "touch *" in path.read_text()}
    files = [json.loads(path.read_text()) for path in isolated_home.rglob("settings*.json")]
    at_home = any("Bash(touch *)" in str(one.get("permissions")) for one in files)
    assert written == ({Path(file).name} if file not in (None, "~") else set())
    assert at_home is (file == "~")


# After a call


def test_what_follows_a_call_adds_to_it_or_replaces_it(isolated_home: Path, tmp_path: Path) -> None:
    """PostToolUse `additionalContext, updatedToolOutput, updatedMCPToolOutput`."""
    scene = Scene(isolated_home, tmp_path, PostToolUse=command(own("PostToolUse", additionalContext="covered")))
    assert str(scene.call("echo hi").content) == "hi\n\ncovered"
    for name in ("updatedToolOutput", "updatedMCPToolOutput"):
        scene = Scene(isolated_home, tmp_path, PostToolUse=command(own("PostToolUse", **{name: "short"})))
        assert scene.call("echo hi").content == "short"


def test_a_block_after_a_call_tells_the_model_and_undoes_nothing(isolated_home: Path, tmp_path: Path) -> None:
    """`decision:"block", reason` of PostTool*."""
    scene = Scene(isolated_home, tmp_path, PostToolUse=command(says(decision="block", reason="because")))
    assert "because" in str(scene.call("touch made").content)
    assert (tmp_path / "made").exists()
    scene = Scene(isolated_home, tmp_path, PostToolUseFailure=command(says(decision="block", reason="because")))
    assert "because" in str(scene.call("exit 3").content)


def test_what_nothing_here_reads_is_said() -> None:
    """`classifierContext`."""
    own_words = {"hookEventName": "PostToolUse", "classifierContext": "x"}
    answer = read_answer(EVENTS["PostToolUse"], {"hookSpecificOutput": own_words})
    assert answer.warnings == ("it answered with 'classifierContext', which does nothing for PostToolUse",)


# Sessions


def test_a_session_begins_as_its_hooks_say(isolated_home: Path, tmp_path: Path) -> None:
    """SessionStart `additionalContext, initialUserMessage, sessionTitle, watchPaths, reloadSkills`."""
    skill = isolated_home / ".claude" / "skills" / "deploy"
    made = f"mkdir -p {skill}; printf -- '---\\ndescription: ships it\\n---\\nship' > {skill}/SKILL.md"
    answer = own(
        "SessionStart",
        additionalContext="branch: main",
        initialUserMessage="and look around",
        sessionTitle="The work",
        watchPaths=[str(tmp_path / "watched")],
        reloadSkills=True,
    )
    changed = command('jq -r .file_path > "$CLAUDE_PROJECT_DIR/log"')
    start = group(command(f"{made}; {answer}"), matcher="startup")
    scene = Scene(isolated_home, tmp_path, SessionStart=start, FileChanged=changed)
    scene.run([tool("t", "Bash", command="touch watched")], "done")
    told = str(scene.requests[0].messages)
    assert all(word in told for word in ("branch: main", "and look around", "deploy: ships it"))
    assert scene.lines() == [str(tmp_path / "watched")]
    [summary] = list_sessions(user_store(), str(tmp_path))
    assert summary.title == "The work"


def test_a_refused_call_may_be_tried_again(isolated_home: Path, tmp_path: Path) -> None:
    """PermissionDenied `retry`."""
    scene = Scene(isolated_home, tmp_path, PermissionDenied=command(own("PermissionDenied", retry=True)))
    assert "lets you try this call again" in str(scene.call(permission_mode="default").content)


def _one(form: Form) -> dict[str, Any]:
    return {"age": 1}


@pytest.mark.parametrize("event", ["Elicitation", "ElicitationResult"])
def test_a_hook_answers_a_server(event: str, isolated_home: Path, tmp_path: Path) -> None:
    """Elicitation* `action, content`."""
    answer = command(own(event, action="accept", content={"age": 42}))
    scene = Scene(isolated_home, tmp_path, **{event: answer})
    config = {"command": "python3", "args": [str(SERVER), "elicits", json.dumps(QUESTION)], "alwaysLoad": True}
    servers = json.dumps({"mcpServers": {"scene": config}})
    call = [tool("t", "mcp__scene__echo", text="x")]
    scene.run(call, "done", mcp_config=servers, strict_mcp_config=True, on_form=_one)
    assert json.loads(scene.reply())["result"] == {"action": "accept", "content": {"age": 42}}


def test_a_hook_says_what_is_shown(isolated_home: Path, tmp_path: Path) -> None:
    """MessageDisplay `displayContent`."""
    scene = Scene(isolated_home, tmp_path, MessageDisplay=command(own("MessageDisplay", displayContent="(hidden)")))
    scene.run("the secret")
    assert "".join(event.text for event in scene.events if isinstance(event, TextStreamed)) == "(hidden)"


@pytest.mark.parametrize("form", ["plain", "json"])
def test_a_hook_names_the_worktree_it_has_made(form: str, isolated_home: Path, tmp_path: Path) -> None:
    """WorktreeCreate: stdout = path; over HTTP `worktreePath`."""
    made = tmp_path / "made"
    named = f"echo {made}" if form == "plain" else own("WorktreeCreate", worktreePath=str(made))
    scene = Scene(isolated_home, tmp_path, WorktreeCreate=command(f"mkdir -p {made}; {named}"))
    scene.run([tool("t", "EnterWorktree", name="x")], [tool("u", "Bash", command="pwd")], "done")
    assert scene.reply("u").startswith(str(made))


# Sizes, and waiting


def test_long_texts_go_to_a_file(isolated_home: Path, tmp_path: Path) -> None:
    """Strings >10,000 chars spill to a file."""
    long = "x" * 10_001
    after = command(own("PostToolUse", additionalContext=long))
    gate = command("cat >/dev/null; head -c 20000 /dev/zero | tr '\\0' y >&2; exit 2")
    scene = Scene(isolated_home, tmp_path, PostToolUse=after, PreToolUse=group({**gate, "if": "Bash(rm *)"}))
    scene.run([tool("t", "Bash", command="echo hi")], [tool("u", "Bash", command="rm x")], "done")
    for id_, letter in (("t", "x"), ("u", "y")):
        text = scene.reply(id_)
        assert len(text) < 3_000
        path = next(word for word in text.replace('"', " ").split() if word.startswith("/")).rstrip(".,:)")
        assert letter * 10_001 in Path(path).read_text()


def test_a_deferred_call_of_several_is_asked_about(isolated_home: Path, tmp_path: Path) -> None:
    """`defer` (only `-p`, single call); how `-p` ends and `--resume` goes on stands in tests/cli/test_hooks.py."""
    scene = Scene(isolated_home, tmp_path, PreToolUse=pre(permissionDecision="defer"))
    scene.run([tool("t", "Bash", command="touch a"), tool("u", "Bash", command="touch b")], "done")
    assert {scene.finished(id_).outcome for id_ in "tu"} == {"denied"}
    [ended] = [event for event in scene.events if isinstance(event, RunEnded)]
    assert ended.outcome == "success"
