import os
from pathlib import Path

from holdfast.host.sandbox import Policy
from holdfast.host.sandbox.governing import governing_paths
from holdfast.host.sandbox.mounts import plan_mounts


def kinds(policy: Policy, root: Path) -> dict[str, str]:
    """What is mounted below a directory, by its path there."""
    mounts = plan_mounts(policy).mounts
    return {os.path.relpath(m.path, root): m.kind for m in mounts if m.path.startswith(str(root))}


def test_every_directory_between_a_writable_one_and_a_protected_path_is_a_mount_point(project: Path) -> None:
    (project / "a" / "b" / "c").mkdir(parents=True)
    policy = Policy(writable=(str(project),), fixed=(str(project / "a" / "b" / "c"),))
    assert kinds(policy, project) == {".": "writable", "a": "writable", "a/b": "writable", "a/b/c": "fixed"}


def test_the_first_missing_component_is_masked(project: Path) -> None:
    policy = Policy(writable=(str(project),), governing=(str(project / "x" / "y" / "z"),))
    assert kinds(policy, project) == {".": "writable", "x": "placeholder"}
    assert plan_mounts(policy).placeholders == (str(project / "x"),)


def test_an_ordinary_project_needs_few_masks(project: Path, policy: Policy) -> None:
    assert kinds(policy, project) == {
        ".": "writable",
        ".git": "writable",
        ".claude": "placeholder",
        ".holdfast": "placeholder",
        ".mcp.json": "placeholder",
        ".git/hooks": "fixed",
        ".git/config": "fixed",
        ".git/commondir": "fixed",
        ".git/config.worktree": "fixed",
    }
    assert len(plan_mounts(policy).mounts) <= 12


def test_what_lies_in_something_fixed_needs_no_mount(project: Path) -> None:
    (project / "a" / "b").mkdir(parents=True)
    policy = Policy(writable=(str(project),), fixed=(str(project / "a"), str(project / "a" / "b")))
    assert kinds(policy, project) == {".": "writable", "a": "fixed"}


def test_something_hidden_in_something_fixed_stays_hidden(project: Path) -> None:
    (project / "a").mkdir()
    (project / "a" / "key").write_text("k", encoding="utf-8")
    policy = Policy(writable=(str(project),), fixed=(str(project / "a"),), hidden=(str(project / "a" / "key"),))
    assert kinds(policy, project) == {".": "writable", "a": "fixed", "a/key": "hidden"}


def test_a_place_that_may_not_be_changed_wins_over_what_is_writable_in_it(project: Path) -> None:
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    assert kinds(Policy(writable=(str(inner),), fixed=(str(project),)), project) == {}


def test_a_project_in_a_hidden_directory_is_shown(project: Path) -> None:
    policy = Policy(writable=(str(project),), hidden=(str(project.parent),))
    [hidden] = [mount for mount in plan_mounts(policy).mounts if mount.path == str(project.parent)]
    assert (hidden.kind, hidden.has_shown) == ("hidden", True)
    assert kinds(policy, project) == {".": "writable"}


def test_behind_a_link_the_target_is_protected_and_the_link_is_watched(project: Path) -> None:
    (project / "real").mkdir()
    (project / ".claude").symlink_to("real")
    plan = plan_mounts(Policy(writable=(str(project),), governing=(str(project / ".claude"),)))
    assert kinds(Policy(writable=(str(project),), governing=(str(project / ".claude"),)), project) == {
        ".": "writable",
        "real": "fixed",
    }
    assert plan.watched == (str(project / ".claude"),)


def test_a_linked_worktree_is_protected_with_its_target(project: Path) -> None:
    worktree = project / "w"
    gitdir = project / ".git" / "worktrees" / "w"
    worktree.mkdir()
    gitdir.mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {gitdir}\n", encoding="utf-8")
    named = governing_paths(str(worktree))
    assert {str(worktree / ".git"), str(gitdir), str(project / ".git" / "hooks")} <= set(named)


def test_submodules_are_protected_too(project: Path) -> None:
    for name in ("one", "two/three"):
        place = project / ".git" / "modules" / name
        place.mkdir(parents=True)
        (place / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    named = {os.path.relpath(path, project) for path in governing_paths(str(project))}
    assert {".git/modules/one/config", ".git/modules/two/three/hooks"} <= named
