import shlex

import pytest

from holdfast.permissions.shell.analysis import analyse
from holdfast.permissions.shell.commands import inspect_command
from holdfast.permissions.shell.words import Word


def refusal(command: str) -> str | None:
    name, *words = shlex.split(command)
    return inspect_command(name, [Word(word) for word in words]).refusal


@pytest.mark.parametrize(
    "command",
    [
        "git branch --list x",
        "git branch --contains HEAD x",
        "git branch -vv",
        "git tag -l x",
        "git tag -n3",
        "git tag --points-at HEAD",
        "git config a.b",
        "git config --get a.b",
        "git config --get a.b pattern",
        "git config list",
        "git config get a.b",
        "git reflog",
        "git reflog show HEAD",
        "git symbolic-ref HEAD",
        "git remote",
        "git remote -v",
        "git remote get-url origin",
        "git stash list",
        "git stash show -p",
        "git worktree list",
        "git notes",
        "git notes list",
        "git bisect log",
        "git submodule status",
        "git --no-pager --no-pager log",
        "git log -- --output=x",
        "git -v",
        "git --version",
        "git log --format=%h",
    ],
)
def test_forms_that_only_look_pass(command: str) -> None:
    assert refusal(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "git",
        "git --no-pager",
        "git branch x",
        "git branch -v x",
        "git branch -a x",
        "git branch --show-current x",
        "git tag x",
        "git config a.b c",
        "git config x",
        "git config set a.b c",
        "git config",
        "git reflog expire",
        "git reflog delete x",
        "git symbolic-ref HEAD x",
        "git symbolic-ref",
        "git remote show",
        "git remote show origin",
        "git remote add a b",
        "git stash",
        "git stash pop",
        "git worktree add x",
        "git notes add",
        "git bisect start",
        "git bisect",
        "git submodule update",
        "git submodule foreach ls",
        "git -C x log",
        "git -c a=b log",
        "git -p log",
        "git --git-dir=x log",
        "git --exec-path=x log",
        "git log --format=%G?",
        "git log --pretty=%GK",
        "git for-each-ref --format='%(signature)'",
        "git log -S --output=x",
        "git log --max-count --output=x",
        "git --version x",
        "git help",
        "git log --help",
        "git frobnicate",
        "git log --outp=x",
        "git hash-object -w f",
        "git cat-file --textconv HEAD:f",
        "git grep -nO x",
        "git grep -Ovim x",
    ],
)
def test_other_forms_are_refused(command: str) -> None:
    assert refusal(command)


def test_revisions_known_only_at_run_time_are_refused_but_paths_after_dashes_are_not() -> None:
    unknown = Word("", static=False)
    assert inspect_command("git", [Word("log"), unknown]).refusal
    assert inspect_command("git", [Word("log"), Word("--"), unknown]).refusal is None
    assert inspect_command("git", [unknown]).refusal
    assert inspect_command("git", [Word("config"), unknown]).refusal
    assert inspect_command("git", [Word("symbolic-ref"), Word("--"), unknown]).refusal
    assert inspect_command("git", [Word("branch"), Word("--"), unknown]).refusal


@pytest.mark.parametrize(
    "command",
    [
        "git blame -- a --output=x", "git annotate -- a --output=x", "git blame --end-of-options a --output=x",
        "git blame -- HEAD --output=x", "git blame -- -- --output=x", "git blame -- a $x", "git blame -- a *",
        'git blame -- a "$x"', "git blame a --output=x",
    ],
)  # fmt: skip
def test_blame_reads_options_behind_the_dashes(command: str) -> None:
    assert not analyse(command).read_only


@pytest.mark.parametrize(
    "command", ["git blame -- a", "git blame HEAD -- src/a.py", "git annotate a", "git blame -L1,5 a"]
)
def test_blame_of_a_named_file_only_looks(command: str) -> None:
    assert analyse(command).read_only
