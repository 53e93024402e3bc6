import json
from typing import Any

from holdfast.settings.hook_items import mcp_server_hash
from holdfast.settings.trust_question import explain_untrusted, mcp_items, trust_question


def test_the_question_lists_what_the_folder_brings_with_places_and_the_answer_is_no(world: Any) -> None:
    world.write(
        ".claude/settings.json",
        '{"permissions": {"allow": ["Bash(npm *)"],\n  "deny": ["Read(.env)"]},\n "apiKeyHelper": "./x"}',
    )
    world.write(".mcp.json", '{"mcpServers": {\n  "db": {"command": "./run", "args": ["a"]}}}')
    world.write(".claude/agents/tester.md", "x")
    question = trust_question(world.load())
    assert question is not None
    assert [(line.kind, line.text, line.place, line.needs) for line in question.lines] == [
        ("allow rule", "Bash(npm *)", ".claude/settings.json:1", "trust"),
        ("setting", "apiKeyHelper = ./x", ".claude/settings.json:3", "refused"),
        ("MCP server", 'db: {"command":"./run","args":["a"]}', ".mcp.json:2", "approval"),
        ("agent", "tester.md", ".claude/agents/tester.md", "trust"),
    ]
    assert not question.default
    assert [line.kind for line in question.waiting] == ["allow rule", "MCP server", "agent"]
    assert question.approvals == ()


def test_nothing_is_asked_when_a_yes_would_change_nothing(world: Any) -> None:
    world.write(".claude/settings.json", {"permissions": {"deny": ["A"]}, "apiKeyHelper": "x"})
    assert trust_question(world.load()) is None
    assert explain_untrusted(world.load()) == ""


def test_a_yes_to_the_question_puts_everything_shown_in_force_and_is_not_asked_again(world: Any) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}
    world.write(".claude/settings.json", {"hooks": hooks, "permissions": {"allow": ["A"]}})
    world.write(".mcp.json", {"mcpServers": {"db": {"command": "./run"}}})
    question = trust_question(world.load())
    assert question is not None
    world.store.trust(question.root, items=question.approvals)
    settings = world.load()
    assert len(settings.hooks) == 1
    assert trust_question(settings) is None
    hooks["Stop"][0]["hooks"][0]["command"] = "y"
    world.write(".claude/settings.json", {"hooks": hooks})
    again = trust_question(world.load())
    assert again is not None
    assert [line.text for line in again.waiting if line.kind == "hook"] == ["Stop(*): y [what it runs is not pinned]"]


def test_text_of_the_folder_cannot_fake_or_hide_anything(world: Any) -> None:
    world.write(".claude/settings.json", {"permissions": {"allow": ["a\x1b[2J\u202eb\r\nTrusted!", "x" * 5000]}})
    question = trust_question(world.load())
    assert question is not None
    assert question.lines[0].text == r"a\x1b[2J<U+202E>b\r\nTrusted!"
    assert question.lines[1].text.endswith("… (5000 characters)")


def test_without_anybody_to_ask_the_reason_and_the_way_out_are_said(world: Any) -> None:
    world.write(".claude/settings.json", {"permissions": {"allow": ["A", "B"]}})
    text = explain_untrusted(world.load())
    assert "allow rule (2)" in text
    assert "not trusted" in text
    world.store.trust(str(world.project))
    assert explain_untrusted(world.load()) == ""


def test_a_folder_that_cannot_be_trusted_is_not_asked_about(world: Any) -> None:
    world.write("~/.claude/agents/mine.md", "x")
    world.write("~/.holdfast/settings.json", {"permissions": {"allow": ["A"]}})
    settings = world.load(cwd=world.home)
    assert settings.untrustable is not None
    assert trust_question(settings) is None
    assert "cannot be trusted" in explain_untrusted(settings)
    world.write(".claude/settings.json", {"permissions": {"allow": ["A"]}})
    world.project.chmod(0o777)
    assert trust_question(world.load()) is None


def test_a_worktree_does_not_ask_for_what_its_main_checkout_brings(world: Any) -> None:
    tree = world.home / "tree"
    private = world.project / ".git/worktrees/tree"
    private.mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {private}\n")
    (private / "gitdir").write_text(f"{tree}/.git\n")
    (private / "commondir").write_text("../..\n")
    world.write(".claude/settings.local.json", {"permissions": {"allow": ["A"], "deny": ["D"]}})
    settings = world.load(cwd=tree)
    assert [rule.text for rule in settings.rules] == ["D"]
    assert trust_question(settings) is None


def test_an_mcp_approval_is_bound_to_every_field(world: Any) -> None:
    base = {"command": "run", "args": ["a"], "env": {"X": "1"}, "cwd": "/x", "url": "u", "headers": {"h": "1"}}
    hashes = {mcp_server_hash("db", base, root="/nowhere"), mcp_server_hash("other", base, root="/nowhere")}
    for key in base:
        hashes.add(mcp_server_hash("db", {**base, key: "changed"}, root="/nowhere"))
    assert len(hashes) == 2 + len(base)
    shuffled = json.loads(json.dumps(dict(reversed(list(base.items())))))
    assert mcp_server_hash("db", shuffled, root="/nowhere") == mcp_server_hash("db", base, root="/nowhere")


def test_a_broken_mcp_file_is_shown_and_never_counts(world: Any) -> None:
    path = world.write(".mcp.json", '{"mcpServers": {')
    assert [(item.kind, item.needs) for item in mcp_items(str(path))] == [("MCP file", "refused")]
    path.write_text("[]")
    assert mcp_items(str(path)) == []
