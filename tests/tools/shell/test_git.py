"""Git operations in a finished command."""

from typing import Any

import pytest

from holdfast.permissions.shell.text.analysis import analyse
from holdfast.tools.shell._git import operations_in, summary


@pytest.mark.parametrize(
    ("command", "output", "found", "words"),
    [
        (
            "git commit -m x",
            "[main 1a2b3c4] x\n 1 file changed",
            {"commit": {"sha": "1a2b3c4", "kind": "committed"}},
            "committed 1a2b3c4",
        ),
        (
            "git -c commit.gpgsign=false commit --amend --no-edit",
            "[main (root-commit) abcdef012] x",
            {"commit": {"sha": "abcdef012", "kind": "amended"}},
            "amended abcdef012",
        ),
        (
            "git cherry-pick abc",
            "[main 1234567] y",
            {"commit": {"sha": "1234567", "kind": "cherry-picked"}},
            "cherry-picked 1234567",
        ),
        (
            "git push -u origin topic",
            "To example\n * [new branch]      topic -> topic",
            {"push": {"branch": "topic"}},
            "pushed topic",
        ),
        ("git merge --no-ff topic", "", {"branch": {"ref": "topic", "action": "merged"}}, "merged topic"),
        ("git rebase main", "", {"branch": {"ref": "main", "action": "rebased"}}, "rebased main"),
        (
            "gh pr create --title t --body b",
            "https://github.com/o/r/pull/12",
            {"pr": {"action": "created", "number": 12, "url": "https://github.com/o/r/pull/12"}},
            "pull request #12 created",
        ),
        ("gh pr close 3", "", {"pr": {"action": "closed"}}, "pull request closed"),
        (
            "glab mr create",
            "https://gitlab.com/g/r/-/merge_requests/7",
            {"pr": {"action": "created", "number": 7, "url": "https://gitlab.com/g/r/-/merge_requests/7"}},
            "pull request #7 created",
        ),
        (
            "curl -X POST https://api.github.com/repos/o/r/pulls",
            "",
            {"pr": {"action": "created"}},
            "pull request created",
        ),
        ("curl https://api.github.com/repos/o/r/pulls", "", {}, ""),
        ("git status", "", {}, ""),
        ("echo git commit", "[main 1a2b3c4] x", {}, ""),
    ],
)
def test_operations_are_read_from_words_and_output(
    command: str, output: str, found: dict[str, Any], words: str
) -> None:
    assert operations_in(analyse(command), output) == found
    assert summary(found) == words
