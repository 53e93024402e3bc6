import shlex

import pytest

from holdfast.permissions.shell.programs.inspect import inspect_command
from holdfast.permissions.shell.text.analysis import analyse
from holdfast.permissions.shell.words.word import Word


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
    "command",
    [
        "git stash list -- --output=x", "git stash list HEAD -- --output=x", "git stash list -- a --output=x",
        'git stash list -- "$x"', "git stash list --end-of-options --output=x", "git stash show -- --output=x",
        "git reflog -- --output=x", "git range-diff a b c -- --output=x", "git log --end-of-options --output=x",
        'git log --end-of-options "$x"', "git diff --end-of-options --ext-diff",
    ],
)  # fmt: skip
def test_other_commands_that_may_read_on_are_refused(command: str) -> None:
    assert not analyse(command).read_only


@pytest.mark.parametrize("form", ["%G?", "%h %+GG", "%-GS", "% GK", "%>(20)%+GS", "%(signature)", "%(signature:grade)"])
@pytest.mark.parametrize(
    "command",
    [
        "git log --format='{}'", "git log --pretty='format:{}'", "git show --format '{}'",
        "git shortlog --group='{}' HEAD",
        "git shortlog --group=format:'{}' HEAD", "git shortlog --group '{}' HEAD", "git for-each-ref --format='{}'",
        "git branch --format='{}'", "git tag -l --format='{}'", "git stash list --format='{}'",
        "git reflog --format='{}'",
    ],
)  # fmt: skip
def test_a_format_that_asks_for_a_signature_starts_gpg(command: str, form: str) -> None:
    assert not analyse(command.format(form)).read_only


@pytest.mark.parametrize(
    "command", ["git log -p", "git diff HEAD~1", "git show", "git stash show", "git range-diff a b c"]
)
def test_submodules_that_a_commit_names_are_listed_but_not_entered(command: str) -> None:
    assert analyse(f"{command} --submodule").read_only
    assert analyse(f"{command} --submodule=log").read_only
    assert analyse(f"{command} --submodule=short").read_only
    assert not analyse(f"{command} --submodule=diff").read_only
    assert not analyse(f"{command} --submodule=").read_only


@pytest.mark.parametrize(
    "command",
    [
        'git blame -- "$f"', 'git blame HEAD -- "$f"', 'git blame -L1,5 -- "$f"', 'git annotate -- "$f"',
        'for f in *.py; do git blame -- "$f"; done', 'while read -r f; do git blame -s -- "$f"; done < list',
    ],
)  # fmt: skip
def test_one_quoted_word_behind_the_dashes_of_blame_is_the_file(command: str) -> None:
    assert analyse(command).read_only


@pytest.mark.parametrize(
    "command",
    [
        "git blame -- $f", 'git blame -- "$@"', 'git blame -- "$*"', 'git blame -- "${f[@]}"', 'git blame -- "$f" a',
        'git blame -- a "$f"', 'git blame -- "$f" "$g"', 'git blame -- "$f"*', 'git blame -- "$f"$g', 'git blame "$f"',
        'git blame "$f" -- a', 'git blame --end-of-options "$f"', 'ls | xargs git blame -- "$f"', "git blame -- -x",
        'git blame -- "$f" --output=x', "ls | xargs git blame --", "ls | xargs -I{} git blame -- {}",
    ],
)  # fmt: skip
def test_more_than_one_word_behind_the_dashes_of_blame_is_refused(command: str) -> None:
    assert not analyse(command).read_only


@pytest.mark.parametrize(
    "command", ["git blame -- a", "git blame HEAD -- src/a.py", "git annotate a", "git blame -L1,5 a"]
)
def test_blame_of_a_named_file_only_looks(command: str) -> None:
    assert analyse(command).read_only
