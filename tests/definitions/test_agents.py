"""Agents in files: every field, every place, and files that are nearly or not at all what they should be."""

import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.contract.errors import UsageError
from holdfast.definitions.agents import AgentDefinition, find_agents, read_agents_option

FULL = """---
name: reviewer
description: Reviews changes. Use it after edits.
tools: Read, Grep, Bash(git diff *), mcp__docs, Agent(Explore, Plan)
disallowedTools: Write, MultiEdit
model: opus
permissionMode: plan
maxTurns: 7
skills: [style, testing]
mcpServers:
  - docs
  - local: {command: node, args: [server.js]}
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./check.sh}]
memory: project
background: true
effort: high
isolation: worktree
color: purple
initialPrompt: Look at the last commit.
somethingElse: 1
---

You review changes.
"""


def one(folders: Any, text: str | bytes, name: str = "x") -> AgentDefinition:
    folders.write(f".claude/agents/{name}.md", text)
    (found,) = find_agents(folders.where()).found.values()
    return found


def test_every_field_of_a_definition_is_read(folders: Any) -> None:
    agent = one(folders, FULL)
    assert (agent.name, agent.about) == ("reviewer", "Reviews changes. Use it after edits.")
    assert agent.tools == ("Read", "Grep", "Bash", "mcp__docs", "Agent")
    assert agent.agents == ("Explore", "Plan")
    assert agent.disallowed_tools == ("Write", "Edit")
    assert (agent.model, agent.permission_mode, agent.max_turns) == ("opus", "plan", 7)
    assert agent.skills == ("style", "testing")
    assert agent.mcp_servers == ("docs", {"local": {"command": "node", "args": ["server.js"]}})
    assert agent.hooks["PreToolUse"][0]["hooks"][0]["command"] == "./check.sh"
    assert (agent.memory, agent.background, agent.effort, agent.isolation) == ("project", True, "high", "worktree")
    assert (agent.color, agent.initial_prompt) == ("purple", "Look at the last commit.")
    assert agent.words() == "You review changes."
    assert (agent.warnings, agent.refusal) == ((), "")


def test_the_same_fields_are_read_from_the_command_line() -> None:
    (agent,) = read_agents_option(
        '{"r": {"description": "d", "prompt": "p", "tools": ["Read", "LS"], "model": "haiku", "maxTurns": 3, '
        '"background": true, "disallowedTools": ["Bash"], "permissionMode": "plan"}}'
    )
    assert (agent.name, agent.source, agent.words()) == ("r", "flag", "p")
    assert (agent.tools, agent.disallowed_tools, agent.model) == (("Read", "Glob"), ("Bash",), "haiku")
    assert (agent.max_turns, agent.background, agent.permission_mode) == (3, True, "plan")


def test_a_file_of_agents_can_be_named_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"r": {"description": "d", "prompt": "p"}}')
    assert read_agents_option(str(tmp_path / "a.json"))[0].name == "r"
    with pytest.raises(UsageError, match="neither JSON nor a file"):
        read_agents_option(str(tmp_path / "b.json"))


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("tools: Read, Edit", ("Read", "Edit")),
        ("tools: Read Edit", ("Read", "Edit")),
        ("tools: [Read, Edit]", ("Read", "Edit")),
        ("tools:\n  - Read\n  - Edit", ("Read", "Edit")),
        ('tools: ["Read", "Edit"]', ("Read", "Edit")),
        ("allowed-tools: Read, Edit", ("Read", "Edit")),
        ("allowedTools: [Read, Edit]", ("Read", "Edit")),
        ("allowed_tools: Read Edit", ("Read", "Edit")),
        ("tools: MultiEdit, LS, NotebookRead, Task, KillShell", ("Edit", "Glob", "Read", "Agent", "TaskStop")),
        ("tools: Read, codebase, editFiles", ("Read",)),
        ("tools: *", None),
        ('tools: "*"', None),
        ("tools: [*]", None),
        ("tools:", None),
        ("color: red", None),
        ("tools: []", ()),
    ],
)
def test_tools_are_read_in_every_form_people_write(folders: Any, written: str, names: Any) -> None:
    assert one(folders, f"---\nname: a\ndescription: d\n{written}\n---\nx").tools == names


def test_an_agent_whose_tools_are_all_unknown_is_listed_and_refuses_to_start(folders: Any) -> None:
    agent = one(folders, "---\nname: a\ndescription: d\ntools: codebase, search\n---\nx")
    assert agent.tools == ()
    assert "codebase, search" in agent.refusal


@pytest.mark.parametrize(
    ("word", "model"),
    [
        ("sonnet", "sonnet"),
        ("Opus", "opus"),
        ("inherit", None),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"),
        ("openai:gpt-6-sol", "openai:gpt-6-sol"),
        ("sonnet[1m]", "sonnet[1m]"),
    ],
)
def test_models_are_known_words_names_and_providers(folders: Any, word: str, model: str | None) -> None:
    agent = one(folders, f"---\nname: a\ndescription: d\nmodel: {word}\n---\nx")
    assert (agent.model, agent.warnings) == (model, ())


def test_an_unknown_model_word_inherits_with_a_warning(folders: Any) -> None:
    agent = one(folders, "---\nname: a\ndescription: d\nmodel: Claude Sonnet 4.5\n---\nx")
    assert agent.model is None
    assert "'Claude Sonnet 4.5' is not a known one" in agent.warnings[0]


def test_values_that_make_no_sense_are_said_and_left_out(folders: Any) -> None:
    agent = one(
        folders,
        "---\nname: a\ndescription: d\nmaxTurns: many\nbackground: perhaps\neffort: huge\nhooks: x\nmemory: all\n"
        "permissionMode: yolo\nisolation: moon\n---\nx",
    )
    assert (agent.max_turns, agent.background, agent.effort, agent.memory) == (None, False, None, None)
    assert (agent.permission_mode, agent.isolation, dict(agent.hooks)) == (None, None, {})
    assert len(agent.warnings) == 7


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf---\nname: a\ndescription: d\n---\nbody",
        b"---\r\nname: a\r\ndescription: d\r\n---\r\nbody",
        b"\n\n---\nname: a\ndescription: d\n---\nbody",
        b"---\nname: a\ndescription: d: e\n---\nbody",
    ],
)
def test_marks_line_ends_and_bad_yaml_load(folders: Any, text: bytes) -> None:
    agent = one(folders, text)
    assert (agent.name, agent.description[0], agent.words()) == ("a", "d", "body")


def test_a_file_without_front_matter_is_named_by_itself_and_a_readme_is_none(folders: Any) -> None:
    folders.write(".claude/agents/README.md", "# How to")
    agent = one(folders, "# Helps with tests\n\nDo it.", name="helper")
    assert (agent.name, agent.about) == ("helper", "Helps with tests")


def test_nearer_and_higher_places_win(folders: Any) -> None:
    def text(who: str) -> str:
        return f"---\nname: a\ndescription: {who}\n---\n{who}"

    where = folders.where(folders.project / "deep" / "er")
    order = [
        ("~/.claude/agents/a.md", "existing user"),
        ("~/.config/holdfast/agents/a.md", "native user"),
        (".claude/agents/sub/a.md", "root"),
        ("deep/.claude/agents/a.md", "deep"),
        ("deep/er/.claude/agents/a.md", "cwd"),
        ("deep/er/.holdfast/agents/a.md", "native cwd"),
    ]
    for path, who in order:
        folders.write(path, text(who))
        assert find_agents(where).found["a"].description == who
    given = read_agents_option('{"a": {"description": "flag", "prompt": "p"}}')
    assert find_agents(where, given).found["a"].description == "flag"
    folders.write("/agents/a.md", text("policy"))
    found = find_agents(where, given)
    assert found.found["a"].description == "policy"
    assert [agent.description for agent in found.hidden] == ["flag", *[who for _, who in order[::-1]]]


def test_an_untrusted_folder_brings_none(folders: Any) -> None:
    folders.write(".claude/agents/a.md", FULL)
    assert find_agents(folders.where(trusted=False)).found == {}


def test_links_lead_to_files_inside_the_project_only(folders: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "more").mkdir(parents=True)
    (outside / "b.md").write_text("---\nname: b\ndescription: d\n---\n")
    (outside / "more" / "c.md").write_text("---\nname: c\ndescription: d\n---\n")
    inside = folders.write("shared/a.md", "---\nname: a\ndescription: d\n---\n")
    place = folders.project / ".claude" / "agents"
    place.mkdir(parents=True)
    (place / "a.md").symlink_to(inside)
    (place / "b.md").symlink_to(outside / "b.md")
    (place / "more").symlink_to(outside / "more")
    (place / "loop").symlink_to(place)
    found = find_agents(folders.where())
    assert list(found.found) == ["a"]
    assert sorted(path.rpartition("/")[2] for path, _ in found.problems) == ["b.md", "more"]


def test_what_is_no_ordinary_file_is_left_out(folders: Any) -> None:
    place = folders.project / ".claude" / "agents"
    place.mkdir(parents=True)
    os.mkfifo(place / "pipe.md")
    (place / "gone.md").symlink_to(place / "nothing")
    (place / "dir.md").mkdir()
    with (place / "huge.md").open("wb") as file:
        file.write(b"---\nname: huge\ndescription: d\n---\nbody")
        file.truncate(100 << 20)
    found = find_agents(folders.where())
    assert list(found.found) == ["huge"]
    with pytest.raises(OSError, match="more than the limit"):
        found.found["huge"].words()
    assert len(found.problems) == 2


def test_a_rule_that_forbids_to_read_a_file_holds_for_agents(folders: Any) -> None:
    folders.write(".claude/agents/a.md", FULL)
    found = find_agents(folders.where(), may_read=lambda path: not path.endswith("a.md"))
    assert (found.found, found.problems[0][1]) == ({}, "a rule forbids to read it")
