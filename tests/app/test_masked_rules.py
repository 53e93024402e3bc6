"""A rule about files that may be meant: inside, its mask answers where it is certain, and a person where it is not."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.app import Options, build_executor
from holdfast.app.masks import masks_of
from holdfast.permissions import PermissionContext, Rule
from holdfast.testing import ScriptedAsker


@pytest.fixture
def place(tmp_path: Path) -> Path:
    project = Path(os.path.realpath(tmp_path)) / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=60)
    (project / "secrets").mkdir()
    for name in (".env", "secrets/key", "free"):
        (project / name).write_text("HIDDEN" if name != "free" else "free", encoding="utf-8")
    return project


def certain(place: Path, *deny: str, ask: str = "") -> bool:
    rules = [Rule.parse("deny", text) for text in deny]
    rules += [Rule.parse("ask", ask)] if ask else []
    rights = PermissionContext.started_in(str(place), "default", rules)
    return masks_of(rights, str(place), writable=[str(place)]).is_certain


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], True),
        (["Read(./.env)"], True),
        (["Read(./secrets/**)", "Edit(./free)"], True),
        (["Read(./secrets/**)", "Read(./secrets/key)"], True),
        (["Read(~/.nothing/**)", "Read(//etc/holdfast/**)", "Read(//no/such/**/*.key)"], True),
        (["Bash(rm *)", "Read(./.env)"], True),
        (["Read(.env)"], False),  # one may be made anywhere
        (["Read(./secrets/*.pem)"], False),
        (["Read(secrets/**)"], False),
        (["Read(secrets)"], False),
        (["Read(./missing)"], False),
        (["Read(./missing/**)"], False),
        (["Read(./.env)", "Read(**/*.key)"], False),
        (["Read"], False),
        (["Edit(./link)"], False),
    ],
)
def test_masks_are_certain_where_no_other_file_can_be_meant(place: Path, rules: list[str], expected: bool) -> None:
    (place / "link").symlink_to("free")
    assert certain(place, *rules) is expected


def test_no_mask_answers_a_rule_that_asks_nor_a_walk_that_is_not_finished(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not certain(place, "Read(./.env)", ask="Read(./free)")
    assert certain(place, "Read(./secrets/**)")
    (place / "many").mkdir()
    for number in range(30):
        (place / "many" / f"{number}.key").touch()
    monkeypatch.setattr("holdfast.app.masks._MAX_ENTRIES", 10)
    assert not certain(place, "Read(./secrets/**)", "Read(./many/**/*.key)", "Read(//etc/**/*.nothing)")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize(
    ("deny", "command", "questions"),
    [
        ("Read(./.env)", 'f=.en; cat "${f}v" free; echo done', 0),
        ("Read(./secrets/**)", "cat $(ls -d se*)/key free; echo done", 0),
        ("Read(./secrets/**)", "grep -r HIDDEN . ; echo done", 0),
        ("Read(.env)", 'f=.en; cat "${f}v" free; echo done', 1),
        ("Read(./.env)", 'f=.en; git show "HEAD:${f}v"; cat "$f" free; echo done', 1),
        ("Bash(rm *)", 'f=.en; "$f" x; echo done', 1),
    ],
)
def test_a_command_that_may_mean_a_masked_file_is_not_asked_about_inside(
    place: Path, deny: str, command: str, questions: int
) -> None:
    if "env" not in deny:
        (place / ".env").unlink()
    settings = {"sandbox": {"enabled": True}, "permissions": {"deny": [deny]}}
    asker = ScriptedAsker(["deny"])
    executor = build_executor(Options(cwd=str(place), settings=(json.dumps(settings),)), asker=asker)
    reply = executor.call("Bash", {"command": command})
    assert len(asker.questions) == questions, reply.content
    told = str(reply.content).replace(command, "")
    assert "HIDDEN" not in told
    assert ("done" in told) is not bool(questions)


def test_without_the_sandbox_such_a_command_is_asked_about(place: Path) -> None:
    asker = ScriptedAsker(["deny"])
    settings = json.dumps({"permissions": {"deny": ["Read(./.env)"]}})
    executor = build_executor(Options(cwd=str(place), settings=(settings,)), asker=asker)
    executor.call("Bash", {"command": 'f=.en; cat "${f}v"'})
    assert len(asker.questions) == 1
