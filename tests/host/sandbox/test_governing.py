"""What governs git beside its hooks and its configuration: what that configuration names."""

import os
import subprocess
from pathlib import Path

from holdfast.host.sandbox.governing import governing_paths, pinned_paths


def git(place: Path, *words: str) -> None:
    options = ("-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(place), *options, *words], check=True, timeout=60, capture_output=True)


def named(project: Path) -> set[str]:
    return {os.path.relpath(path, project) for path in governing_paths(str(project))}


def test_files_that_the_configuration_includes_and_its_directory_of_hooks_belong_to_it(project: Path) -> None:
    (project / ".gitsettings").touch()
    (project / ".git" / "extra").touch()
    git(project, "config", "include.path", "../.gitsettings")
    git(project, "config", "includeIf.onbranch:main.path", "extra")
    git(project, "config", "core.hooksPath", "tools/hooks")
    assert {".gitsettings", ".git/extra", "tools/hooks"} <= named(project)
    (project / ".git" / "config").write_text('[core] hooksPath = "a b"\n[Include]path=x\n', encoding="utf-8")
    assert "a b" in named(project)
    assert str(project / ".git" / "x") in pinned_paths(str(project)), "one may not come into being"
    (project / ".git" / "config").write_text("[Include]path=no/x\n", encoding="utf-8")
    assert ".git/no/x" in named(project)


def test_what_an_included_file_includes_belongs_to_it_too(project: Path) -> None:
    git(project, "config", "include.path", "../one")
    (project / "one").write_text("[include]\n\tpath = two\n\tpath = one\n", encoding="utf-8")
    (project / "two").write_text("[core]\n\thooksPath = mine\n", encoding="utf-8")
    assert {"one", "two", "mine"} <= named(project)


def test_what_links_among_hooks_and_settings_lead_to_is_what_runs(project: Path) -> None:
    for name in ("tools/check", "conf/claude.json", "shared/agents/one.md", "src/deep/x"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    for place, target in {
        ".git/hooks/pre-commit": "../../tools/check",
        ".claude/settings.json": "../conf/claude.json",
        ".claude/agents": "../shared/agents",
        ".claude/hooks/deep/run": "../../../src/deep/x",
        ".claude/top": "../src",
        ".claude/commands": "..",
        ".claude/skills/all": "../..",
        ".claude/rules/gone": "nowhere",
    }.items():
        (project / place).parent.mkdir(parents=True, exist_ok=True)
        (project / place).symlink_to(target)
    found = named(project)
    assert {"tools/check", "conf/claude.json", "shared/agents", "src/deep/x"} <= found
    assert found.isdisjoint({".", "..", "src", ".claude/rules/nowhere"})


def test_the_file_by_which_a_submodule_names_its_repository_belongs_to_it(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "one")
    git(project, "submodule", "add", "-q", str(other), "lib/sub")
    assert {"lib/sub/.git", ".git/modules/lib/sub/config", ".git/modules/lib/sub/hooks"} <= named(project)


def test_the_configuration_of_a_worktrees_repository_counts_for_the_worktree(project: Path) -> None:
    git(project, "config", "core.hooksPath", "tools/hooks")
    git(project, "commit", "-q", "--allow-empty", "-m", "one")
    git(project, "worktree", "add", "-q", "tree")
    assert {"tree/.git", ".git/worktrees/tree", ".git/config", "tree/tools/hooks"} <= {
        os.path.relpath(path, project) for path in governing_paths(str(project / "tree"))
    }
    assert {"tree/.git", ".git/worktrees"} <= named(project)


def test_what_is_no_ordinary_file_is_not_waited_for(project: Path) -> None:
    (project / ".git" / "config").unlink()
    os.mkfifo(project / ".git" / "config")
    place = project / ".git" / "modules" / "evil"
    place.mkdir(parents=True)
    (place / "HEAD").touch()
    os.mkfifo(place / "config")
    assert ".git/modules/evil/config" in named(project)
