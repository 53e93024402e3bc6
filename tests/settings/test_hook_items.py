import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from holdfast.settings.hook_items import hook_hash, what_is_not_pinned


def _hash(world: Any, handler: dict[str, object]) -> str:
    return hook_hash("PreToolUse", "Bash", handler, root=str(world.project))


@pytest.mark.parametrize(
    "command",
    [
        "./scripts/check.sh",
        "scripts/check.sh --fast",
        "bash scripts/check.sh",
        "cd x && scripts/check.sh",
        '"$CLAUDE_PROJECT_DIR"/scripts/check.sh',
        "${CLAUDE_PROJECT_DIR}/scripts/check.sh",
        "$HOLDFAST_PROJECT_DIR/scripts/check.sh;true",
        "X=scripts/check.sh sh -c true",
        "sh -c 'scripts/check.sh'",
        "{root}/scripts/check.sh",
        "$PWD/scripts/check.sh",
        "${PWD}/scripts/check.sh",
        "$(pwd)/scripts/check.sh",
        "`pwd`/scripts/check.sh",
        '"$(git rev-parse --show-toplevel)"/scripts/check.sh',
        "$(git rev-parse --show-toplevel 2>/dev/null || pwd)/scripts/check.sh",
        "${CLAUDE_PROJECT_DIR:-.}/scripts/check.sh",
        "${CLAUDE_PROJECT_DIR:-$(pwd)}/scripts/check.sh",
        "cd scripts && ./check.sh",
        'cd "$CLAUDE_PROJECT_DIR/scripts" && ./check.sh',
        "cd $CLAUDE_PROJECT_DIR && bash scripts/check.sh",
        "uv run scripts/check.sh",
    ],
)
def test_a_changed_script_is_another_hook(world: Any, command: str) -> None:
    handler: dict[str, object] = {"type": "command", "command": command.replace("{root}", str(world.project))}
    world.write("scripts/check.sh", "echo good")
    before = _hash(world, handler)
    assert _hash(world, handler) == before
    world.write("scripts/check.sh", "echo evil")
    after = _hash(world, handler)
    assert after != before
    (world.project / "scripts/check.sh").unlink()
    assert _hash(world, handler) not in {before, after}


def test_arguments_of_the_exec_form_are_looked_at_too(world: Any) -> None:
    handler: dict[str, object] = {"type": "command", "command": "python3", "args": ["tool.py", 5]}
    world.write("tool.py", "1")
    before = _hash(world, handler)
    world.write("tool.py", "2")
    assert _hash(world, handler) != before


def test_a_deep_handler_spells_the_same_frozen_and_plain(world: Any) -> None:
    handler: dict[str, object] = {"type": "mcp_tool", "input": {"a": [{"b": [1, None]}], "c": {}}}
    frozen: Mapping[str, Any] = MappingProxyType(
        {"type": "mcp_tool", "input": {"a": (MappingProxyType({"b": (1, None)}),), "c": {}}}
    )
    assert _hash(world, handler) == hook_hash("PreToolUse", "Bash", frozen, root=str(world.project))


def test_programs_outside_the_folder_and_other_files_do_not_matter(world: Any) -> None:
    handler: dict[str, object] = {"type": "command", "command": "../outside.sh /bin/true ~/x src"}
    before = _hash(world, handler)
    world.write("../outside.sh", "x")
    world.write("src/other.py", "x")
    assert _hash(world, handler) == before


@pytest.mark.parametrize("kind", ["fifo", "huge", "loop"])
def test_a_script_that_cannot_be_read_does_not_hang_or_crash(world: Any, kind: str) -> None:
    path = world.project / "x.sh"
    handler: dict[str, object] = {"type": "command", "command": "./x.sh " + "word " * 5000 + "\0"}
    before = _hash(world, handler)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to("x.sh")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)
    assert _hash(world, handler) != before


def test_an_approved_hook_whose_script_changes_is_not_as_approved_any_more(world: Any) -> None:
    world.write("check.sh", "good")
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": "./check.sh", "args": ["a"]}]}]}
    world.write(".claude/settings.json", {"hooks": hooks})
    world.write("~/.claude/settings.json", {"hooks": hooks})
    first = world.load()
    world.store.trust(str(world.project), items=[item.hash for item in first.items])
    settings = world.load()
    own, brought = settings.hooks
    assert (own.folder, brought.folder) == (None, str(world.project))
    assert brought.is_as_approved(settings.approved)
    world.write("check.sh", "evil")
    assert own.is_as_approved(settings.approved)
    assert not brought.is_as_approved(settings.approved)
    assert [hook.folder for hook in world.load().hooks if not hook.broken] == [None]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("npm run lint", "package.json"),
        ("make check", "Makefile"),
        ("cd x && just check", "x/justfile"),
        ("pre-commit run --all-files", ".pre-commit-config.yaml"),
        ("python3 -m checks.style", "checks/style.py"),
        ("uv run python -m checks", "checks/__main__.py"),
    ],
)
def test_what_a_runner_is_told_to_run_is_part_of_the_hook(world: Any, command: str, file: str) -> None:
    handler: dict[str, object] = {"type": "command", "command": command}
    world.write(file, "1")
    before = _hash(world, handler)
    world.write(file, "2")
    assert _hash(world, handler) != before


@pytest.mark.parametrize("directory", [".claude/hooks", ".holdfast/hooks"])
def test_everything_in_the_folders_hook_directories_is_part_of_each_hook(world: Any, directory: str) -> None:
    handler: dict[str, object] = {"type": "command", "command": "python3 -m checks"}
    before = _hash(world, handler)
    world.write(f"{directory}/deep/shared.py", "1")
    assert _hash(world, handler) != before
    assert _hash(world, {"type": "http", "url": "https://x"}) == _hash(world, {"type": "http", "url": "https://x"})


def test_what_cannot_be_pinned_is_said(world: Any) -> None:
    root = str(world.project)
    world.write("a.sh", "1")
    assert what_is_not_pinned({"command": "./a.sh"}, root) == ""
    assert what_is_not_pinned({"command": "cat /etc/hostname"}, root) == ""
    assert what_is_not_pinned({"command": "nosuchprogram --x"}, root) == "what it runs is not pinned"
    for number in range(1_001):
        world.write(f".claude/hooks/{number}", "x")
    assert "not all are pinned" in what_is_not_pinned({"command": "./a.sh"}, root)
