"""Texts that programs run themselves, as deny and ask rules see them."""

import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.shell.text.analysis import analyse


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


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'print(\"please rm the file\")'", "python3 -c 'rm = 3; print(rm)'", "php -r 'echo \"rm\";'",
        "python3 x.py --message 'rm stale entries'", "python3 -m pytest -k 'rm and not curl'", "node x.js 'rm is bad'",
        "node -e 'console.log(\"rm is bad\")'", "bun test -t 'rm works'", "vim -c ':%s/rm /mv /g' -c wq a",
        "awk '{ if ($1 == \"a\" || $2) print \"rm \" $2 > \"o\" }' a", "make test ARGS='-k rm'", "less 'my rm file'",
        "make note MSG='git push is later'", "python3 -c '\n# rm stale entries\nprint(1)\n'",
    ],
)  # fmt: skip
def test_code_and_arguments_that_start_no_program_may_speak_of_one(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)", "Bash(git push:*)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'import subprocess as s; s.run([\"rm\", \"x\"])'", "python3 -Ic 'import os; os.popen(\"rm x\")'",
        "python3 -c 'import pty; pty.spawn([\"rm\"])'", "python3 -c 'from sh import rm; rm(1)'", "ruby -run -e rm -- x",
        "perl -e 'open F, \"rm x|\"'", "perl -e 'open(F, \"-|\", \"rm x\")'", "perl -e 'print qx{rm x}'",
        "ruby -e 'puts %x(rm x)'", "ruby -e 'require \"open3\"; Open3.capture2(\"rm x\")'",
        "php -r 'passthru(\"rm x\");'",
        "node -e 'require(\"child_process\").spawn(\"rm\", [1])'", "deno eval 'new Deno.Command(\"rm\").output()'",
        "lua -e 'os.execute(\"rm x\")'", "osascript -e 'do shell script \"rm x\"'", "awk '{ print | \"rm x\" }' f",
        "awk '{ \"rm x\" | getline }' f", "vim -c 'call system(\"rm x\")'", "less '+!rm x' f", "ed '!rm x'",
        "make CC='rm x'", "make 'X=$(shell rm x)'", "make --eval='all: ; rm x'", "make --eval 'all: ; rm x'",
    ],
)  # fmt: skip
def test_code_that_starts_a_program_is_held_against_the_rules(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"]) == "deny"
