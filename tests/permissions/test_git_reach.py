"""What git prints of tracked files under Read rules, in a real repository."""

import subprocess
from pathlib import Path

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decide import decide
from holdfast.permissions.rules import Rule
from holdfast.permissions.traits import facts_from_input


def verdict(command: str, folder: Path, *denied: str, allowed: tuple[str, ...] = ()) -> str:
    rules = [Rule.parse("deny", text) for text in denied] + [Rule.parse("allow", text) for text in allowed]
    context = PermissionContext.started_in(str(folder), "default", rules)
    return decide(facts_from_input("Bash", {"command": command}, cwd=str(folder)), context).behavior


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, timeout=20)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    (top / "sub").mkdir(parents=True)
    for name in (".env", "a.py", "sub/.env", "sub/b.py"):
        (top / name).write_text("x")
    git(top, "init", "-q")
    git(top, "add", ".")
    return top


NAMED = [
    "git show HEAD:.env", "git show :.env", "git show :0:.env", "git show :./.env", "git show HEAD:./.env",
    "git show HEAD~1:.env", "git show 'HEAD@{2020-01-01 10:00:00}:.env'", "git show 'HEAD^{/fix: x}:.env'",
    "git diff .env", "git diff -- .env", "git diff HEAD -- ./.env", "git diff HEAD~1 HEAD .env", "git diff -- :/.env",
    "git diff -- ':(top).env'", "git log -p -- .env", "git log -p .env", "git log --follow -p .env",
    "git log -L1,2:.env", "git log -L 1,2:.env", "git log -L:x:.env", "git blame .env", "git blame -L 1,5 .env",
    "git blame HEAD -- .env", "git annotate .env", "git cat-file -p HEAD:.env", "git cat-file blob :.env",
    "git archive HEAD .env", "git grep x -- .env", "git grep x HEAD -- .env", "git diff --no-index /dev/null .env",
    "git diff HEAD:.env HEAD:a.py", "git --no-pager show HEAD:.env", "(git show HEAD:.env)", "git show HEAD:.env | cat",
]  # fmt: skip


def test_a_file_that_git_names_in_its_own_ways_is_denied(repository: Path) -> None:
    every = ("Bash",)
    assert [one for one in NAMED if verdict(one, repository, "Read(./.env)", allowed=every) != "deny"] == []
    assert verdict("git show HEAD:.env", repository, "Read(./other)") == "allow"


WHOLE = [
    "git diff", "git diff HEAD~1", "git diff --cached", "git diff -l100", "git diff --stat -p", "git log -p",
    "git log -3 -p", "git log -pn5", "git log -U3", "git log --patch-with-stat", "git log --cc", "git log -W",
    "git show", "git show HEAD", "git show :/fix", "git show HEAD^{tree}", "git stash show -p", "git diff-tree -p HEAD",
    "git diff-index -p HEAD", "git diff-files -p", "git whatchanged -p", "git reflog -p", "git archive HEAD",
    "git format-patch --stdout HEAD", "git cat-file -p 1a2b3c4", "git cat-file --batch", "git diff -- '.e*'",
    "git diff -- '*env'", "git diff -- '*'", "git diff -- .", "git diff .", "git diff -- ':(icase).ENV'",
    "git show HEAD -- . ':!sub'", "git diff && git status", "git diff | head",
]  # fmt: skip


def test_a_patch_of_everything_is_asked_about_when_a_denied_file_is_tracked(repository: Path) -> None:
    assert [one for one in WHOLE if verdict(one, repository, "Read(./.env)", allowed=("Bash",)) != "ask"] == []


FREE = [
    "git status", "git log", "git log --oneline -5", "git log --stat", "git log -S secret", "git diff --stat",
    "git diff --name-only", "git diff --name-status HEAD~3", "git diff --shortstat", "git show --stat",
    "git show --format=%s -s", "git show --name-only", "git ls-files", "git ls-tree HEAD", "git diff a.py",
    "git diff -- a.py", "git diff sub", "git log -p -- a.py", "git show HEAD:a.py", "git show HEAD -- a.py sub",
    "git blame a.py", "git log -L 1,5:a.py", "git cat-file -t HEAD", "git diff -- . ':!.env'",
    "git diff -- . ':(exclude).env'", "git diff -- :/a.py", "git branch -vv", "git diff -- '*.py'",
]  # fmt: skip


def test_what_prints_no_denied_file_stays_free(repository: Path) -> None:
    assert [one for one in FREE if verdict(one, repository, "Read(./.env)") != "allow"] == []


@pytest.mark.parametrize(
    "rule", ["Read(~/.ssh/**)", "Read(*.pem)", "Read(./secrets/**)", "Read(//etc/**)", "Read(b/.env)"]
)
def test_a_rule_about_files_that_are_not_tracked_asks_nothing(rule: str, repository: Path) -> None:
    (repository / "key.pem").write_text("untracked")
    assert [one for one in ("git diff", "git log -p", "git show") if verdict(one, repository, rule) != "allow"] == []


@pytest.mark.parametrize("rule", [".env", "sub/**", "*.py", "//**/b.py", "./sub"])
def test_rules_of_every_shape_find_their_tracked_files(rule: str, repository: Path) -> None:
    assert verdict("git diff", repository, f"Read({rule})") == "ask"


def test_paths_in_revisions_start_at_the_top_of_the_repository(repository: Path) -> None:
    sub = repository / "sub"
    assert verdict("git show HEAD:sub/.env", sub, "Read(./.env)") == "deny"
    assert verdict("git show :sub/.env", sub, "Read(./.env)") == "deny"
    assert verdict("git show HEAD:sub/b.py", sub, "Read(./.env)") == "allow"
    assert verdict("git diff", sub, "Read(./.env)") == "ask"
    assert verdict("git diff b.py", sub, "Read(./.env)") == "allow"


@pytest.mark.parametrize("version", ["3", "4"])
def test_other_versions_of_the_index_are_read(version: str, repository: Path) -> None:
    git(repository, "update-index", "--index-version", version)
    assert verdict("git diff", repository, "Read(./.env)") == "ask"
    assert verdict("git diff", repository, "Read(./.envrc)") == "allow"


def test_an_index_that_cannot_be_read_is_asked_about(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"DIRC\0\0\0\x09")
    assert verdict("git log -p", repository, "Read(./.env)") == "ask"


def test_outside_a_repository_nothing_is_tracked(tmp_path: Path) -> None:
    assert verdict("git diff", tmp_path, "Read(./.env)") == "allow"


def test_a_folder_with_an_empty_git_directory_belongs_to_the_repository_around_it(repository: Path) -> None:
    (repository / "sub" / ".git").mkdir()
    assert verdict("git diff HEAD", repository / "sub", f"Read(/{repository}/.env)") == "ask"
    assert verdict("git diff HEAD", repository / "sub", f"Read(/{repository}/other)") == "allow"
