"""What governs git beside its hooks and its configuration: what that configuration names."""

import os
import subprocess
from pathlib import Path

from holdfast.host.sandbox.governing import governing_paths


def git(place: Path, *words: str) -> None:
    options = ("-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(place), *options, *words], check=True, timeout=60, capture_output=True)


def named(project: Path) -> set[str]:
    return {os.path.relpath(path, project) for path in governing_paths(str(project))}


def test_files_that_the_configuration_includes_and_its_directory_of_hooks_belong_to_it(project: Path) -> None:
    git(project, "config", "include.path", "../.gitsettings")
    git(project, "config", "includeIf.onbranch:main.path", "extra")
    git(project, "config", "core.hooksPath", "tools/hooks")
    assert {".gitsettings", ".git/extra", "tools/hooks"} <= named(project)
    (project / ".git" / "config").write_text('[core] hooksPath = "a b"\n[Include]path=x\n', encoding="utf-8")
    assert {"a b", ".git/x"} <= named(project)


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
