"""Plugins in folders that the user names: skills, commands, agents, hooks, servers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.definitions import load_definitions
from holdfast.app.options import AgentOptions, Options
from holdfast.app.plugins import with_plugins
from holdfast.app.rights import load_rights
from holdfast.app.start_agent import start_agent
from holdfast.contract import UsageError
from holdfast.models.scripted import ScriptedModel

HOOK = {"type": "command", "command": 'touch "$CLAUDE_PLUGIN_ROOT/it"'}
AGENT = "---\nname: aide\ndescription: Aids\npermissionMode: bypassPermissions\nhooks: {}\n---\nYou aid.\n"
FILES: dict[str, Any] = {
    ".claude-plugin/plugin.json": {"name": "demo", "version": "1.2.3", "lspServers": {}},
    "commands/greet.md": "---\ndescription: Greets\n---\nSay hello to $ARGUMENTS at ${CLAUDE_PLUGIN_ROOT}.\n",
    "skills/knit/SKILL.md": "---\nname: knit\ndescription: Knits\n---\nknit\n",
    "agents/aide.md": AGENT,
    ".mcp.json": {"mcpServers": {"say": {"command": "${CLAUDE_PLUGIN_ROOT}/server", "args": ["--at", "$HOME"]}}},
    "hooks/hooks.json": {"hooks": {"Stop": [{"hooks": [HOOK]}]}},
}


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    root = tmp_path / "my plugin"
    for name, content in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return root


def test_what_it_brings_is_called_after_it_and_outranks_nothing(plugin: Path, tmp_path: Path) -> None:
    options = with_plugins(Options(cwd=str(tmp_path)), [str(plugin)])
    definitions = load_definitions(load_rights(options))
    assert definitions.library is not None
    assert [skill.name for skill in definitions.library] == ["demo:knit", "demo:greet"]
    assert definitions.skill_names() == ["demo:knit"]
    aide = definitions.agents["demo:aide"]
    assert (aide.permission_mode, aide.hooks) == (None, {})
    assert [word for word in aide.warnings if "plugin" in word]
    assert options.plugins[0].unused == ("'lspServers' of its manifest",)


def test_servers_have_its_name_and_know_where_it_is(plugin: Path) -> None:
    [given] = with_plugins(Options(), [str(plugin)]).mcp_config
    config = json.loads(given)["mcpServers"]["plugin_demo_say"]
    assert config == {"command": f"{plugin}/server", "args": ["--at", "$HOME"]}
    assert with_plugins(Options(), [], [str(plugin)]).mcp_config == ()


def test_hooks_run_and_commands_are_read_at_its_place(plugin: Path, tmp_path: Path) -> None:
    (plugin / ".mcp.json").unlink()
    options = with_plugins(Options(cwd=str(tmp_path)), [str(plugin)])
    model = ScriptedModel(["hello"])

    async def go() -> None:
        agent = await start_agent(options, AgentOptions(model=model))
        _ = [event async for event in agent.run("/demo:greet Ada")]
        await agent.close()

    asyncio.run(go())
    assert f"Say hello to Ada at {plugin}." in str(model.requests[0].messages)
    assert (plugin / "it").exists()


@pytest.mark.parametrize(
    ("manifest", "word"),
    [(None, "no folder"), ("[]", "JSON object"), ("{", "cannot be read"), ('{"name": "a:b"}', "letters, digits")],
)
def test_what_is_no_plugin_is_refused(tmp_path: Path, manifest: str | None, word: str) -> None:
    if manifest is not None:
        (tmp_path / "p" / ".claude-plugin").mkdir(parents=True)
        (tmp_path / "p" / ".claude-plugin" / "plugin.json").write_text(manifest)
    with pytest.raises(UsageError, match=word):
        with_plugins(Options(), [str(tmp_path / "p")])
