"""The first time: which model, whether it answers, and what of the folder counts."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.tui.faces import AnsweringFace
from tests.tui.talking import talking

from holdfast.app.options import Options
from holdfast.app.rights import load_rights
from holdfast.app.servers import unapproved_servers
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.settings.trust_question import trust_question
from holdfast.tui.ask.first_run import DEMO, set_up_model, tell_sandbox
from holdfast.tui.ask.trust import ask_servers, choose_items


def set_up(place: Path, face: AnsweringFace, *, has_demo: bool = True) -> str | None:
    async def run() -> str | None:
        return await set_up_model(face, load_rights(Options(cwd=str(place))), has_demo=has_demo)

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HOLDFAST_MODEL"):
        monkeypatch.delenv(name, raising=False)


def test_a_model_is_asked_for_a_word_before_it_counts_and_can_be_kept(tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('"Ready."\n', encoding="utf-8")
    face = AnsweringFace((5, "nonsense"), (5, f"scripted:{script}"), 2, columns=400)
    assert set_up(tmp_path, face) == f"scripted:{script}"
    assert face.answers == []
    assert f"✓ scripted:{script} answers" in face.text
    kept = Path(os.environ["XDG_CONFIG_HOME"], "holdfast", "settings.json")
    assert json.loads(kept.read_text("utf-8"))["model"] == f"scripted:{script}"


def test_a_key_that_does_not_work_is_asked_for_again_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")  # nobody listens there
    face = AnsweringFace(2, (1, "sk-secret"), 2, (1, ""), 6)
    assert set_up(tmp_path, face) is None
    assert [menu.is_secret for menu in face.menus] == [False, True, False, True, False]
    assert "sk-secret" not in face.text
    assert "ANTHROPIC_API_KEY" not in os.environ


def test_who_has_no_model_can_see_the_demo_or_leave(tmp_path: Path) -> None:
    assert set_up(tmp_path, AnsweringFace(1)) == DEMO
    assert set_up(tmp_path, AnsweringFace(None)) is None
    assert set_up(tmp_path, AnsweringFace(5), has_demo=False) is None


def test_what_a_folder_brings_is_shown_item_by_item_and_approved_one_by_one(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo \x1b[2J"}]}]},
        "permissions": {"allow": ["Bash(make *)"]},
        "env": {"FOO": "bar"},
    }
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (tmp_path / "AGENTS.md").write_text("Be kind.", encoding="utf-8")
    question = trust_question(load_rights(Options(cwd=str(tmp_path))).settings)
    assert question is not None

    def answered(*answers: Any) -> tuple[tuple[str, ...] | None, str]:
        async def run() -> tuple[tuple[str, ...] | None, str]:
            face = AnsweringFace(*answers, columns=200)
            return await choose_items(face, question), face.text

        return asyncio.run(run())

    chosen, shown = answered(1)
    assert chosen is None
    for words in ("hook  PreToolUse(Bash): echo", "allow rule  Bash(make *)", "FOO=bar", "AGENTS.md"):
        assert words in shown
    assert "\x1b" not in shown
    assert answered(2)[0] == question.approvals
    assert len(question.approvals) == 2
    assert answered(3, [2])[0] == question.approvals[1:]
    assert answered(3, None)[0] is None
    assert answered(None)[0] is None


def test_each_server_of_a_trusted_folder_is_shown_and_approved_by_itself(tmp_path: Path) -> None:
    servers = {"good": {"command": "true"}, "evil\x1b[2J": {"command": "\u202esh", "args": ["\x1b]0;x\x07"]}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    options = Options(cwd=str(tmp_path))
    roots = SettingsRoots.from_environment()
    store = TrustStore(roots.state, home=roots.home)

    def waiting() -> list[str]:
        return [entry.name for entry, _ in unapproved_servers(load_rights(options), options)]

    def asked(*answers: int | None) -> str:
        async def run() -> str:
            face = AnsweringFace(*answers, columns=120)
            await ask_servers(face, load_rights(options), options)
            assert not face.answers
            return face.text

        return asyncio.run(run())

    assert waiting() == []  # an untrusted folder starts nothing
    store.trust(str(tmp_path))
    assert sorted(waiting()) == sorted(servers)
    shown = asked(2, None)
    assert '"command":"true"' in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "<U+202E>sh" in shown
    assert waiting() == ["evil\x1b[2J"]
    assert asked() == ""  # nobody is asked twice in a session
    servers["good"] = {"command": "false"}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    assert '"command":"false"' in asked(None)


def test_the_sandbox_of_the_machine_is_told_once(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with talking(tmp_path, "Done.") as talk:
            assert talk.talk.agent is not None
            told: list[str] = []
            for _ in range(2):
                talk.face.lines.clear()
                await tell_sandbox(talk.face, talk.talk.agent)
                told.append(talk.face.text)
            return told

    first, second = asyncio.run(run())
    assert "sandbox" in first
    assert second == ""
