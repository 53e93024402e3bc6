"""`holdfast agents` and `holdfast skills`: what is there, what it says, and what is odd about it."""

import json
from pathlib import Path

import pytest

from holdfast.cli.main import run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with an agent, a skill and a command; the project has nothing."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    base = tmp_path / ".claude"
    for path, text in {
        "agents/counter.md": "---\nname: counter\ndescription: Counts.\ntools: Read, Nonsense\n---\nYou count.\n",
        "skills/Odd Name/SKILL.md": "---\ndescription: Odd.\n---\nDo \x1b[2J it. !`id`\n",
        "commands/fix.md": "Fix $1 now.\n",
    }.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(text)
    return tmp_path


def test_agents_are_listed_shown_and_linted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["agents", "list", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == {"name": "counter", "source": "user", "description": "Counts."}
    assert "Explore" in [row["name"] for row in rows]
    assert run(["agents", "show", "counter"]) == 0
    assert "You count." in capsys.readouterr().out
    assert run(["agents", "show", "conter"]) == 2
    assert run(["agents", "lint"]) == 1
    assert "it names a tool 'Nonsense'" in capsys.readouterr().out


def test_types_that_come_with_us_are_shown_and_those_that_cannot_be_started_are_marked(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["agents", "show", "Explore"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("source: built in", "permission_mode: plan", "Grep", "You explore"))
    assert run(["agents", "show", "Explor"]) == 2
    assert "Did you mean 'Explore'?" in capsys.readouterr().err
    file = home / ".claude" / "agents" / "counter.md"
    file.write_text(file.read_text().replace("Read, ", ""))
    assert run(["agents", "list"]) == 0
    assert "counter  [user, cannot be started]" in capsys.readouterr().out


def test_skills_and_commands_are_listed_shown_and_linted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["skills"]) == 0
    listed = capsys.readouterr().out
    assert "[user command]  Fix $1 now." in listed
    assert run(["skills", "show", "Odd-Name"]) == 0
    shown = capsys.readouterr().out
    assert "commands: id" in shown
    assert "\x1b" not in shown
    assert run(["skills", "lint", "--json"]) == 1
    assert "single hyphens" in capsys.readouterr().out


def test_what_an_untrusted_folder_brings_is_not_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = home / "work" / ".claude" / "agents"
    place.mkdir(parents=True)
    (place / "theirs.md").write_text("---\nname: theirs\ndescription: x\n---\nx\n")
    assert run(["agents", "list"]) == 0
    said = capsys.readouterr()
    assert "theirs" not in said.out
    assert "not trusted" in said.err
