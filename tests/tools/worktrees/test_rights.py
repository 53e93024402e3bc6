"""What may be done in worktrees: rules of the checkout, modes, programs and hooks of the repository, a person's no."""

import json
from pathlib import Path

import pytest
from tests.tools.worktrees.test_worktrees import Scene, git

from holdfast.app import build_executor
from holdfast.app.options import Options
from holdfast.contract import Answer


def settings(deny: list[str], allow: tuple[str, ...] = ()) -> str:
    return json.dumps({"permissions": {"deny": deny, "allow": list(allow)}})


@pytest.mark.parametrize("rule", ["Read(secrets/**)", "Read(/secrets/**)", "Read(./secrets/key.txt)", "Read(key.txt)"])
def test_what_is_denied_in_the_checkout_is_denied_in_the_worktree_and_still_there(tmp_path: Path, rule: str) -> None:
    scene = Scene(tmp_path, settings=(settings([rule]),))
    tree = scene.enter()
    for place in (tree, scene.repository):
        assert scene.call("Read", file_path=str(place / "secrets" / "key.txt")).outcome == "denied", place
        assert "token" not in str(scene.call("Grep", pattern="token", path=str(place), output_mode="content").content)
        assert scene.call("Bash", command=f"cat {place}/secrets/key.txt").outcome == "denied", place


@pytest.mark.parametrize(
    "rule", ["Read(secrets/**)", "Read(/secrets/**)", "Read(./secrets/key.txt)", "Read(secrets/key.*)", "Read(//{})"]
)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_copy_in_a_worktree_that_stays_is_as_denied_as_the_file(tmp_path: Path, rule: str, *, is_new: bool) -> None:
    text = rule.replace("{}", f"{tmp_path}/project/secrets/**"[1:])
    scene = Scene(tmp_path, settings=(settings([text]),))
    tree = scene.enter()
    scene.call("ExitWorktree", action="keep")
    if is_new:
        options = Options(cwd=str(scene.repository), permission_mode="bypassPermissions", settings=(settings([text]),))
        scene.executor = build_executor(options)
    inner = tree.relative_to(scene.repository)
    assert scene.call("Read", file_path=f"{inner}/secrets/key.txt").outcome == "denied"
    assert scene.call("Bash", command=f"cat {inner}/secrets/key.txt").outcome == "denied"
    assert not scene.call("Read", file_path=f"{inner}/code.py").is_error


def test_an_absolute_rule_about_the_checkout_holds_in_the_worktree(tmp_path: Path) -> None:
    scene = Scene(tmp_path, settings=(settings([f"Read(/{tmp_path}/project/secrets/**)"]),))
    tree = scene.enter()
    assert scene.call("Read", file_path=str(tree / "secrets" / "key.txt")).outcome == "denied"


def test_rules_that_allow_hold_in_the_worktree_and_the_checkout_is_outside_of_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, mode="default", settings=(settings([], ("Edit(part/**)",)),))
    tree = scene.enter()
    before = len(scene.asker.questions)
    assert not scene.call("Write", file_path=str(tree / "part" / "new.txt"), content="x").is_error
    assert not scene.call("Read", file_path=str(tree / "code.py")).is_error
    assert not scene.call("Bash", command="git status --short").is_error
    assert len(scene.asker.questions) == before
    scene.call("Write", file_path=str(scene.repository / "part" / "new.txt"), content="x")
    scene.call("Read", file_path=str(scene.repository / "code.py"))
    assert len(scene.asker.questions) == before + 2
    scene.call("ExitWorktree", action="keep")
    before = len(scene.asker.questions)
    assert not scene.call("Write", file_path=str(scene.repository / "part" / "more.txt"), content="x").is_error
    assert len(scene.asker.questions) == before


def test_a_session_below_the_root_stays_below_it_in_the_worktree(tmp_path: Path) -> None:
    scene = Scene(tmp_path, mode="default", below="part")
    tree = scene.enter()
    assert scene.executor.state.cwd == str(tree / "part")
    assert not scene.executor.state.permissions.is_inside(str(tree / "code.py"))
    assert scene.executor.state.permissions.is_inside(str(tree / "part" / "a.txt"))


@pytest.mark.parametrize("mode", ["plan", "dontAsk"])
def test_plan_mode_and_dont_ask_make_no_worktree(tmp_path: Path, mode: str) -> None:
    scene = Scene(tmp_path, mode=mode)
    assert scene.call("EnterWorktree", name="a").outcome == "denied"
    assert scene.branches == ["main"]


def test_nobody_makes_one_unasked_where_the_repository_starts_programs(tmp_path: Path) -> None:
    scene = Scene(tmp_path, mode="default", settings=(settings([], ("EnterWorktree", "ExitWorktree")),))
    scene.enter()
    assert scene.asker.questions == []
    assert not scene.call("ExitWorktree", action="remove").is_error
    git(scene.repository, "config", "filter.x.smudge", "touch smudged")
    scene.enter("b")
    assert "filter.x.smudge" in scene.asker.questions[0].reason


def test_hooks_of_the_repository_run_only_with_a_persons_yes(tmp_path: Path) -> None:
    scene = Scene(tmp_path, mode="default", settings=(settings([], ("EnterWorktree", "ExitWorktree")),))
    hook = scene.repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    scene.enter()
    assert not (tmp_path / "ran").exists()


# Hooks of the user


def hooked(tmp_path: Path, create: str, remove: str | None) -> str:
    hooks = {"WorktreeCreate": [{"hooks": [{"type": "command", "command": create}]}]}
    if remove is not None:
        hooks["WorktreeRemove"] = [{"hooks": [{"type": "command", "command": remove}]}]
    return json.dumps({"hooks": hooks})


def test_a_hook_makes_the_worktree_and_a_hook_removes_it(tmp_path: Path) -> None:
    made = tmp_path / "made"
    create = f"cat > {tmp_path}/told; mkdir -p {made}; echo {made}"
    remove = f"rm -rf {made}"
    scene = Scene(tmp_path, settings=(hooked(tmp_path, create, remove),))
    assert scene.call("EnterWorktree", name="n").data["worktreePath"] == str(made)
    assert json.loads((tmp_path / "told").read_text())["name"] == "n"
    assert scene.executor.state.cwd == str(made)
    unknown = scene.call("ExitWorktree", action="remove")
    assert (unknown.is_error, "cannot be told" in str(unknown.content)) == (True, True)
    assert not scene.call("ExitWorktree", action="remove", discard_changes=True).is_error
    assert (made.exists(), scene.executor.state.cwd) == (False, str(scene.repository))


def test_a_hook_that_fails_or_names_nothing_makes_no_worktree(tmp_path: Path) -> None:
    for command, said in (("echo no >&2; exit 1", "no"), ("echo relative", "absolute"), ("true", "absolute")):
        place = tmp_path / said / command.replace("/", "").replace(" ", "")
        place.mkdir(parents=True)
        scene = Scene(place, settings=(hooked(tmp_path, command, None),))
        reply = scene.call("EnterWorktree", name="n")
        assert (reply.is_error, said in str(reply.content)) == (True, True)
        assert scene.executor.state.cwd == str(scene.repository)


def test_what_a_hook_made_is_kept_where_no_hook_removes_it(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    scene = Scene(tmp_path, settings=(hooked(tmp_path, f"echo {made}", None),))
    scene.call("EnterWorktree", name="n")
    assert "WorktreeRemove" in str(scene.call("ExitWorktree", action="remove", discard_changes=True).content)
    assert not scene.call("ExitWorktree", action="keep").is_error
    assert made.exists()


def test_a_person_who_says_no_keeps_everything(tmp_path: Path) -> None:
    scene = Scene(tmp_path, mode="default")
    tree = scene.enter()
    (tree / "new.txt").write_text("x")
    scene.asker._answers.clear()
    scene.asker._answers.append(Answer(message="no"))
    assert scene.call("ExitWorktree", action="remove", discard_changes=True).outcome == "denied"
    assert (tree / "new.txt").exists()
