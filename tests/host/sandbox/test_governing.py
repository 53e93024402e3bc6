"""What governs git beside its hooks and its configuration: what that configuration names."""

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.host.sandbox.governing import governing_paths, linked_tree, pinned_paths


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


HOOKS = (
    "[core]\n\thooksPath = tools/hooks ; where ours are\n",
    "[core]\n\thooksPath = tools/hooks # where ours are\n",
    '[core]\n\thooksPath = "tools/"hooks\n',
    '[core]\n\thooksPath = "tools/hooks" ; "no"\n',
    "[core]\n\thooksPath = tools/\\\nhooks\n",
    '[core]\n\thooksPath = "a b/c\\\\d"\n',
    "[CORE] HOOKSPATH=tools/hooks\r\n",
    "[core]hooksPath=tools/../tools/hooks/\n[core]\n\tbare = false\n",
    "[core]\n\thooksPath = one\n\thooksPath = tools/hooks\n",
    '[include]\n\tpath = "more" ; and more\n',
    '[includeIf "gitdir:**"]\n\tpath = mo\\\nre # and more\n',
    "\ufeff[core]\n\thooksPath = tools/hooks\n[broken\n",
)


@pytest.mark.parametrize("text", HOOKS)
@pytest.mark.parametrize("whose", [".git/config", ".git/config.worktree", "home"])
def test_the_directory_of_hooks_is_the_one_that_git_finds(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, whose: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    git(project, "config", "extensions.worktreeConfig", "true")
    own = project / whose if whose != "home" else home / ".gitconfig"
    kept = own.read_text("utf-8") if own.exists() else ""
    own.write_text(text if whose == "home" or not kept else f"{kept}{text.removeprefix(chr(0xFEFF))}", encoding="utf-8")
    (own.parent / "more").write_text("[core]\n\thooksPath = tools/hooks\n", encoding="utf-8")
    asked = ["git", "-C", str(project), "config", "core.hooksPath"]
    said = subprocess.run(asked, check=False, timeout=60, capture_output=True, text=True).stdout.rstrip("\n")
    wanted = said or "tools/hooks"  # a broken file: whoever mends it has these hooks
    assert os.path.normpath(wanted) in named(project)


def test_settings_in_a_file_behind_a_link_count_and_the_users_are_found_where_variables_say(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "dotfiles"
    real.write_text("[core]\n\thooksPath = .githooks\n", encoding="utf-8")
    (tmp_path / ".gitconfig").symlink_to(real)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ".githooks" in named(project)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    assert ".githooks" not in named(project)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(real))
    assert ".githooks" in named(project)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    assert ".githooks" not in named(project)


def test_a_bare_repository_is_governed_by_what_lies_in_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "b.git")
    git(tmp_path / "b.git", "config", "core.hooksPath", "mine")
    assert {"hooks", "config", "mine"} <= named(tmp_path / "b.git")
    pinned = {os.path.basename(path) for path in pinned_paths(str(tmp_path / "b.git"))}
    assert {"commondir", "config.worktree"} <= pinned


def test_a_worktree_belongs_to_a_repository_only_where_that_one_says_so_too(project: Path, tmp_path: Path) -> None:
    git(project, "commit", "-q", "--allow-empty", "-m", "one")
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    found = linked_tree(str(tmp_path / "tree"))
    assert found == (str(project / ".git" / "worktrees" / "tree"), str(project / ".git"))
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / ".git").write_text((tmp_path / "tree" / ".git").read_text("utf-8"), encoding="utf-8")
    for place in (tmp_path / "evil", project, tmp_path):
        assert linked_tree(str(place)) is None
