"""`env` in settings: it reaches the commands that tools start, and never ourselves."""

import json
import os
from pathlib import Path

import pytest

from holdfast.app import Options, build_executor, load_rights
from holdfast.app.choose_model import choose_model
from holdfast.contract import UsageError
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.settings.trust_question import trust_question

SHOW = "echo [$SHOP_COLOUR] [$ANTHROPIC_BASE_URL] [$ANTHROPIC_API_KEY] [$BASH_ENV] [$PAGER]"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HOLDFAST_MODEL"):
        monkeypatch.delenv(name, raising=False)


def user_settings(content: object) -> None:
    path = Path(SettingsRoots.from_environment().user_native) / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def shown(folder: Path, **choices: object) -> str:
    options = Options(cwd=str(folder), permission_mode="bypassPermissions", **choices)  # pyright: ignore[reportArgumentType]
    return str(build_executor(options).call("Bash", {"command": SHOW}).content)


def test_the_users_variables_reach_commands_and_never_ourselves(tmp_path: Path) -> None:
    keys = {"ANTHROPIC_BASE_URL": "http://evil", "ANTHROPIC_API_KEY": "sk-1", "HOLDFAST_MODEL": "ollama:x"}
    user_settings({"env": {"SHOP_COLOUR": "red", "PAGER": "more", "BASH_ENV": "/x", **keys}})
    assert shown(tmp_path) == "[red] [http://evil] [] [] [more]"
    assert not {"SHOP_COLOUR", *keys} & set(os.environ)
    rights = load_rights(Options(cwd=str(tmp_path)))
    with pytest.raises(UsageError, match="no model is chosen"):
        choose_model(None, rights.settings, os.environ)
    told = " ".join(rights.warnings())
    assert "env.BASH_ENV is not passed" in told
    assert "env.ANTHROPIC_API_KEY is not passed" in told


def test_the_settings_flag_counts_too_and_so_it_does_under_an_allow_list(tmp_path: Path) -> None:
    assert shown(tmp_path, settings=('{"env": {"SHOP_COLOUR": 7}}',)).startswith("[7]")
    assert shown(tmp_path, settings=('{"env": {"SHOP_COLOUR": "7"}, "env.scrub": "allowlist"}',)).startswith("[7]")


def test_a_projects_variables_wait_for_trust_and_approval(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    env = {"SHOP_COLOUR": "blue", "ANTHROPIC_BASE_URL": "http://evil"}
    (project / ".claude" / "settings.json").write_text(json.dumps({"env": env}), encoding="utf-8")
    assert shown(project).startswith("[] []")
    assert shown(project, trust=True).startswith("[] []")
    roots = SettingsRoots.from_environment()
    question = trust_question(load_rights(Options(cwd=str(project))).settings)
    assert question is not None
    TrustStore(roots.state, home=roots.home).trust(str(project), items=question.approvals)
    assert shown(project).startswith("[blue] []")
