"""What `initialize` and the options of hosts change about a session."""

import json
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import Contains, IsPartialDict

from holdfast.app.options import AgentOptions
from holdfast.cli.host_options import with_host_agent
from holdfast.cli.main import run
from holdfast.session import user_store
from holdfast.session.summaries import list_sessions

from .conftest import StartHost, call, first, results, texts


def test_what_the_place_brings_can_go_with_the_first_message(start: StartHost, place: Path) -> None:
    host = start()
    host.control("initialize", excludeDynamicSections=True, appendSystemPrompt="MORE WORDS")
    assert "MORE WORDS" in (said := texts(host.say("SYSTEM")))
    assert str(place) not in said
    assert f"Working directory: {place}" in texts(host.say("FIRST MESSAGE"))


def test_another_name_stands_for_a_tool_and_its_rules_hold(start: StartHost, place: Path) -> None:
    host = start("--disallowedTools", "Bash(touch no)", "--allowedTools", "Bash")
    host.control("initialize", toolAliases={"mcp__shell__run": "Bash", "Edit": "Bash"})
    found = host.say(call("mcp__shell__run", command="touch yes"), call("Edit", command="touch no"), "SAY x")
    assert [bool(result.get("is_error")) for result in results(found)] == [False, True]
    assert [(place / name).exists() for name in ("yes", "no")] == [True, False]


def test_words_for_plan_mode_and_for_agents(start: StartHost) -> None:
    host = start("--permission-mode", "plan")
    agents = {"echo": {"description": "Echoes", "prompt": "You echo."}}
    words = {"planModeInstructions": "PLAN LIKE THIS", "appendSubagentSystemPrompt": "AGENTS HEAR THIS"}
    host.control("initialize", agents=agents, forwardSubagentText=True, **words)
    told = texts(host.say("FIRST MESSAGE"))
    assert "PLAN LIKE THIS" in told
    assert "nothing may be changed" in told
    found = host.say(call("Agent", description="d", prompt="SYSTEM", subagent_type="echo"), "SAY x")
    assert "You echo." in texts(found)
    assert "AGENTS HEAR THIS" in texts(found)
    assert "AGENTS HEAR THIS" not in texts(host.say("SYSTEM"))


def test_only_the_chosen_skills_are_told_of_and_a_title_is_kept(start: StartHost, tmp_path: Path) -> None:
    for name in ("speak", "other"):
        home = tmp_path / "config" / "skills" / name
        home.mkdir(parents=True)
        (home / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}\nargument-hint: WORD\n---\nx\n")
    host = start(CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
    answer = host.control("initialize", skills=["speak"], title="My title")
    assert answer["commands"] == Contains(IsPartialDict(name="speak", argumentHint="WORD"), IsPartialDict(name="clear"))
    said = texts(found := host.say("SYSTEM"))
    assert ("Does speak" in said, "Does other" in said, first(found)["skills"]) == (True, False, ["speak"])
    host.finish()
    assert [one.title for one in list_sessions(user_store())] == ["My title"]


def test_a_whole_session_is_one_agent(start: StartHost) -> None:
    agents = json.dumps({"pirate": {"description": "Sails", "prompt": "You are PIRATE-5.", "tools": ["Read"]}})
    host = start("--agents", agents, "--agent", "pirate")
    found = host.say("SYSTEM")
    assert (texts(found).startswith("You are PIRATE-5."), first(found)["tools"]) == (True, ["Read"])
    host = start("--agents", agents, "--agent", "pirat")
    host.send({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize"}})
    code, lines, err = host.finish()
    assert (code, lines[0]["response"]["subtype"]) == (2, "error")
    assert "Did you mean 'pirate'?" in err


@pytest.mark.parametrize(
    ("words", "thinks"),
    [(["high"], True), (["max"], True), (["low"], False), (["max", "--thinking", "disabled"], False)],
)
def test_great_effort_means_thinking_unless_that_is_switched_off(
    start: StartHost, words: list[str], *, thinks: bool
) -> None:
    found = start("--model", "claude-haiku-4-5", "--effort", *words).say("SAY hi")
    kinds = [block["type"] for line in found if line["type"] == "assistant" for block in line["message"]["content"]]
    assert ("thinking" in kinds) is thinks


def test_settings_and_forbidden_tools_may_come_with_the_first_request(start: StartHost, place: Path) -> None:
    host = start("--initialize-fields", "settings,disallowedTools", "--allowedTools", "Bash")
    denied = {"permissions": {"deny": ["Bash(touch no)"]}}
    host.control("initialize", settings=denied, disallowedTools=["Write", "Bash(touch never)"])
    found = host.say(*(call("Bash", command=f"touch {name}") for name in ("yes", "no", "never")), "SAY x")
    assert "Write" not in first(found)["tools"]
    assert [(place / name).exists() for name in ("yes", "no", "never")] == [True, False, False]
    assert host.finish()[2] == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"skills": "speak"},
        {"title": 7},
        {"toolAliases": ["Bash"]},
        {"planModeInstructions": {}},
        {"settings": 3},
        {"disallowedTools": [7]},
        {"managedSettings": {"permissions": {}}},
        {"denyAll": True},
    ],
)
def test_what_cannot_be_meant_is_refused(start: StartHost, fields: dict[str, Any]) -> None:
    host = start()
    assert next(iter(fields)) in host.control("initialize", **fields)


def test_the_options_of_hosts_are_taken(start: StartHost, place: Path) -> None:
    (place / ".claude").mkdir()
    (place / ".claude" / "settings.local.json").write_text('{"outputStyle": "Terse"}')
    words = ["--betas", "a-1,b-2", "--task-budget", "9", "--thinking-display", "omitted", "--debug-file", "log.txt"]
    host = start(*words, "--brand-new", "x", MAX_THINKING_TOKENS="4000")
    answer = host.control("initialize")
    assert (answer["output_style"], answer["available_output_styles"]) == ("Terse", ["default", "Terse"])
    found = host.say("SAY hi")
    assert first(found)["output_style"] == "Terse"
    assert [block["type"] for line in found if line["type"] == "assistant" for block in line["message"]["content"]] == [
        "thinking",
        "text",
    ]
    code, _, err = host.finish()
    assert (code, (place / "log.txt").stat().st_size > 0) == (0, True)
    assert [line.partition(":")[2].strip() for line in err.splitlines()] == [
        "the option --brand-new is not known here and is left out",
        "this version does nothing with --task-budget",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--managed-settings", "{}"], "--managed-settings"),
        (["--sdk-url", "http://x"], "--sdk-url"),
        (["--max-permissions", "x"], "--max-permissions"),
        (["--restrict-all"], "--restrict-all"),
        (["--modle", "x"], "Did you mean --model?"),
        (["--initialize-fields=settings,tools"], "tools cannot come with the first request"),
        (["--resume-session-at=x"], "needs a session"),
        (["--resume-drops-turn=x"], "give both"),
    ],
)
def test_what_must_hold_and_cannot_is_refused(start: StartHost, words: list[str], told: str) -> None:
    code, lines, err = start(*words).finish()
    assert (code, lines, told in err) == (2, [], True)


def test_options_that_nothing_is_done_with_are_said(capfd: pytest.CaptureFixture[str]) -> None:
    given = {"task_budget": 1}
    with_host_agent({**given, "thinking_display": None, "main_agent": None}, AgentOptions())
    assert capfd.readouterr().err.splitlines() == [
        f"holdfast: this version does nothing with {name}" for name in ("--task-budget",)
    ]


@pytest.mark.parametrize("given", [None, {}, {"settings": {}}])
def test_limits_that_were_promised_for_the_first_request_and_do_not_come_stop_the_start(
    start: StartHost, given: dict[str, Any] | None
) -> None:
    host = start("--initialize-fields", "settings,disallowedTools")
    if given is None:
        host.prompt("SAY x")
    else:
        assert "disallowedTools" in host.control("initialize", **given)
    code, lines, err = host.finish()
    assert (code, "--initialize-fields" in err) == (2, True)
    assert [(line["type"], line["startup_failure_reason"]) for line in lines] == [
        ("result", "initialize_fields_not_delivered")
    ]


def test_what_the_first_request_brings_needs_a_host(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["-p", "x", "--model", "scripted:none", "--initialize-fields", "settings"]
    assert run(words) == 2
    assert "needs --input-format stream-json" in capfd.readouterr().err
