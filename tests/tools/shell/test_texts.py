"""The model-facing text covers every behaviour that users' prompts rely on; each is named here."""

import pytest

from holdfast.contract import PromptFacts
from holdfast.tools.shell.bash import Bash
from holdfast.tools.shell.sleep import Sleep

BASH = Bash().prompt()


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("the directory persists, other state does not", ("working directory is carried on", "are not")),
        ("the environment comes from the login shell", ("login shell",)),
        ("terminal work, not file work", ("git, builds, tests",)),
        ("look at the parent before creating", ("parent directory exists", "`mkdir foo/bar`", "`ls`")),
        ("quote paths with spaces", ("spaces in double quotes",)),
        ("time limits", ("120000", "600000", "2 minutes", "10 minutes")),
        ("describe the command", ("`description`",)),
        ("long output is shortened", ("30,000",)),
        ("background", ("`run_in_background`", "TaskOutput", "TaskStop", "`&`")),
        ("no sleeping", ("`sleep`", "Sleep")),
        ("dedicated tools first", ("Read rather than `cat`, `head` or `tail`", "Glob rather", "Grep rather", "`awk`")),
        ("writing and speaking without echo", ("Write rather than `echo >`", "not with `echo`")),
        ("independent commands in parallel", ("several Bash calls in one message",)),
        ("dependent commands chained", ("`&&`", "`;`")),
        ("absolute paths instead of cd", ("absolute paths",)),
        ("commit only when asked", ("only when the user asks",)),
        ("leave the configuration", ("git configuration alone",)),
        ("nothing destructive", ("`push --force`", "`reset --hard`", "`checkout .`", "`restore .`", "`clean -f`")),
        ("branches are not deleted", ("`branch -D`",)),
        ("never force-push main", ("force-push to main or master", "warn")),
        ("hooks are not skipped", ("`--no-verify`", "`--no-gpg-sign`")),
        ("new commits rather than amending", ("new commit rather than amending",)),
        ("a failed hook means a new commit", ("hook fails", "commit anew")),
        ("stage by name", ("Stage files by name", "`git add -A`", "`git add .`", "secrets")),
        ("commit step: look", ("`git status`", "`git diff`", "`git log`", "style")),
        ("commit step: message", ("says the reason",)),
        ("commit step: co-author", ("co-author",)),
        ("commit step: here-document", ("here-document",)),
        ("no interactive git", ("`git rebase -i`", "`git add -i`")),
        ("gh for everything about GitHub", ("use `gh` for everything",)),
        ("pull request: all commits", ("all commits that will be in it, not only the last",)),
        ("pull request: sections", ("`## Summary`", "`## Test plan`", "`gh pr create")),
        ("pull request: the address at the end", ("address of the pull request",)),
    ],
)
def test_the_bash_text_covers(behaviour: str, words: tuple[str, ...]) -> None:
    for word in words:
        assert word in BASH, f"{behaviour}: {word!r} is missing"


def test_the_description_is_one_paragraph() -> None:
    assert len(Bash().description()) < 300
    assert "prompt cache" in Sleep().prompt()


def test_the_text_of_sleep_tells_of_tasks_only_where_there_are_any() -> None:
    assert "TaskOutput" in Sleep().prompt()
    alone = Sleep().prompt(PromptFacts(background=False))
    assert "task" not in alone.lower()
    assert "The wait ends early when the user writes something." in alone
