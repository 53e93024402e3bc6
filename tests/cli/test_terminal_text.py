"""Nothing that a folder or a model names reaches a terminal as a command to it."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.app import Options, load_rights
from holdfast.lib.visible import json_for_terminal
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.testing import started

EVIL = "a\x1b[31mred\u202etxt\x9bm"


def holdfast(folder: Path, *words: str) -> str:
    argv = [sys.executable, "-m", "holdfast", *words]
    done = subprocess.run(argv, cwd=folder, capture_output=True, timeout=100, check=False)
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("words", [("trust",), ("trust", "--yes"), ("trust", "--revoke"), ("doctor",)])
def test_a_folders_name_moves_no_cursor(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / EVIL
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("be kind")
    shown = holdfast(folder, *words)
    assert "red" in shown
    assert not any(sign in shown for sign in ("\x1b[31m", "\u202e", "\x9b"))


def test_json_on_a_terminal_is_the_same_value_without_what_a_terminal_obeys() -> None:
    value = {"name": EVIL, "plain": "é 日本 \U0001f600", "more": "\x7f\x85\u2028\u2066"}
    line = json.dumps(value, ensure_ascii=False).encode()
    shown = json_for_terminal(line)
    assert json.loads(shown) == value
    assert "é 日本 \U0001f600" in shown.decode()
    assert not any(sign in shown.decode() for sign in "\u202e\x9b\x7f\x85\u2028\u2066")


def test_exec_on_a_terminal_escapes_what_a_terminal_obeys(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "holdfast", "exec", "--permission-mode", "bypassPermissions"]
    call = {
        "type": "tool_use",
        "id": "1",
        "name": "Bash",
        "input": {"command": "printf 'x\\302\\233my\\342\\200\\256z'"},
    }
    with started(argv, cwd=tmp_path, stdin=subprocess.PIPE, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(json.dumps(call).encode() + b"\n")
        process.stdin.close()
        shown = b""
        while b"tool_result" not in shown or not shown.endswith(b"\n"):
            shown += os.read(ours, 65536)
    os.close(ours)
    assert b"x\\u009bmy\\u202ez" in shown


def test_trust_never_adds_the_root_the_home_or_a_parent_as_a_working_directory(
    tmp_path: Path, isolated_home: Path
) -> None:
    folder, sibling = tmp_path / "up" / "project", tmp_path / "up" / "sibling"
    (folder / ".claude").mkdir(parents=True)
    sibling.mkdir()
    (folder / "link").symlink_to("/")
    wide = ["/", "~", "..", "../..", str(tmp_path), "link", "~/..", str(isolated_home)]
    given = {"permissions": {"additionalDirectories": [*wide, "../sibling"]}}
    (folder / ".claude" / "settings.json").write_text(json.dumps(given))
    roots = SettingsRoots.from_environment()
    TrustStore(roots.state, home=roots.home).trust(str(folder))
    working = load_rights(Options(cwd=str(folder))).permissions.roots.working
    assert set(working) == {str(folder), str(sibling)}
    assert holdfast(folder, "trust", "--revoke")
    assert holdfast(folder, "trust").count("never counts") == len(wide)


def test_a_users_own_choice_of_a_parent_still_counts(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    working = load_rights(Options(cwd=str(folder), add_dirs=("..",))).permissions.roots.working
    assert str(tmp_path) in working
