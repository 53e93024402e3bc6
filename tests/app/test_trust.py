"""What an untrusted folder brings, what the user saved there, and how a program is told."""

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.app import Options, load_rights
from holdfast.app.keep_rules import RuleKeeper
from holdfast.app.results import RunResult
from holdfast.cli.main import run
from holdfast.contract import RuleUpdate, UsageError
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.testing import ScriptedModel

RULE = "Bash(make *)"
ALWAYS = RuleUpdate("allow", (RULE,), "localSettings")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def allowed(folder: Path) -> list[str]:
    rights = load_rights(Options(cwd=str(folder)))
    return [rule.text for rule in rights.permissions.rules if rule.behavior == "allow"]


def answer(folder: Path, **choices: Any) -> tuple[RunResult, str]:
    """The result of one run, and what the model was told before it."""
    model = ScriptedModel(["Done."])

    async def scene() -> RunResult:
        async with Agent(model, cwd=folder, **choices) as agent:
            return await agent.run("Hello")

    result = asyncio.run(asyncio.wait_for(scene(), 60))
    return result, "\n".join(block.text for block in model.requests[0].system)


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", ".claude/rules/style.md", "CLAUDE.local.md"])
def test_instructions_alone_are_a_line_of_the_trust_question(
    project: Path, name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text("Speak of zebras.", encoding="utf-8")
    before, told = answer(project)
    assert "zebras" not in told
    [warning] = before.warnings
    assert "instructions (1)" in warning
    monkeypatch.chdir(project)
    assert run(["trust", "--yes"]) == 0
    assert name.removesuffix("/style.md") in capfd.readouterr().out
    after, told = answer(project)
    assert "zebras" in told
    assert after.warnings == ()


def test_yes_is_recorded_also_where_the_folder_brings_nothing_yet(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert run(["trust"]) == 0
    assert "--yes trusts it all the same" in capfd.readouterr().out
    assert not load_rights(Options()).settings.trusted
    assert run(["trust", "--yes"]) == 0
    (project / "AGENTS.md").write_text("Speak of zebras.", encoding="utf-8")
    assert "zebras" in answer(project)[1]


def test_a_program_may_vouch_for_a_folder_or_refuse_to(project: Path) -> None:
    (project / "AGENTS.md").write_text("Speak of zebras.", encoding="utf-8")
    result, told = answer(project, trust=True)
    assert ("zebras" in told, result.warnings) == (True, ())
    assert "zebras" not in answer(project)[1]
    roots = SettingsRoots.from_environment()
    TrustStore(roots.state, home=roots.home).trust(str(project))
    result, told = answer(project, trust=False)
    assert "zebras" not in told
    assert "instructions (1)" in result.warnings[0]


def test_nobody_can_vouch_for_a_folder_that_must_not_be_trusted(project: Path) -> None:
    project.chmod(0o777)
    with pytest.raises(UsageError, match="cannot be trusted: every user"):
        load_rights(Options(cwd=str(project), trust=True))


def test_what_the_user_saved_by_always_holds_next_time_without_trust(project: Path) -> None:
    shipped = project / ".holdfast" / "settings.local.json"
    shipped.parent.mkdir()
    shipped.write_text('{"permissions": {"allow": ["Bash(curl *)"]}}', encoding="utf-8")
    assert allowed(project) == []
    RuleKeeper(str(project))(ALWAYS)
    assert allowed(project) == [RULE]


def test_a_clone_that_ships_the_same_file_gains_nothing(project: Path, tmp_path: Path) -> None:
    RuleKeeper(str(project))(ALWAYS)
    clone = tmp_path / "clone"
    shutil.copytree(project, clone)
    assert (allowed(project), allowed(clone)) == ([RULE], [])
    other = project / ".claude" / "settings.json"
    other.parent.mkdir()
    shutil.copy(project / ".holdfast" / "settings.local.json", other)
    assert allowed(project) == [RULE]
    moved = tmp_path / "moved"
    project.rename(moved)
    shutil.copytree(clone, project)
    assert (allowed(project), allowed(moved)) == ([], [])


def test_taking_trust_back_forgets_what_was_saved(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RuleKeeper(str(project))(ALWAYS)
    monkeypatch.chdir(project)
    assert run(["trust", "--revoke"]) == 0
    assert allowed(project) == []


def test_the_local_file_that_is_made_leaves_the_repository_clean(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=60)
    RuleKeeper(str(folder))(ALWAYS)
    assert (folder / ".holdfast" / "settings.local.json").exists()
    status = subprocess.run(
        ["git", "-C", str(folder), "status", "--porcelain"], capture_output=True, check=True, timeout=60
    )
    assert status.stdout == b""


def test_a_project_that_ignores_files_itself_keeps_its_own_list(project: Path) -> None:
    (project / ".holdfast").mkdir()
    (project / ".holdfast" / ".gitignore").write_text("mine\n", encoding="utf-8")
    RuleKeeper(str(project))(ALWAYS)
    assert (project / ".holdfast" / ".gitignore").read_text(encoding="utf-8") == "mine\n"
