"""Texts that programs run themselves, as deny and ask rules see them."""

import pytest

from holdfast.permissions.policy_tests import judge
from holdfast.permissions.shell.analysis import analyse


def verdict(command: str, *, deny: list[str]) -> str:
    return judge("Bash", {"command": command}, allow=["Bash"], deny=deny, cwd="/proj").behavior


@pytest.mark.parametrize(
    ("command", "piece"),
    [
        ("tar -I 'rm x' -xf a", "rm x"),
        ("tar cf a b --checkpoint-action=exec='rm x'", "rm x"),
        ("socat - EXEC:'rm x'", "rm x"),
        ("awk 'BEGIN { system(\"rm x\") }'", "rm x"),
        ("python3 -c 'os.system(\"rm x\")'", "rm x"),
        ("sort --compress-program=rm f", "rm"),
    ],
)
def test_the_text_that_a_program_runs_is_a_piece(command: str, piece: str) -> None:
    assert piece in analyse(command).pieces


@pytest.mark.parametrize(
    "command",
    [
        "awk '/rm x/ { print }' f", "sed -i 's/rm x/y/' f", "sed -n '/git push/p' f", "git commit -m 'rm x'",
        "grep 'rm x' f > g", "rg 'rm x'", "sort f", "tar tf a.tar", "echo 'rm x' > f", "ls | xargs sed -i 's/rm x/y/'",
        "gh pr create --title 'rm x'", "man rm", "less rm", "python3 rm.py", "make rm",
        "python3 -c 'print(\"rm x\")'", "node -e 'console.log(\"git push\")'", "perl -ne 'print if /rm x/' f > g",
    ],
)  # fmt: skip
def test_text_that_nobody_runs_is_no_piece(command: str) -> None:
    assert analyse(command).pieces == ()
    assert verdict(command, deny=["Bash(rm *)", "Bash(git push:*)"]) != "deny"
