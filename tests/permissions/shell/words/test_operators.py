import shutil
import subprocess

from holdfast.permissions.shell.words.values import applied

BASH = shutil.which("bash") or "/bin/bash"
VALUES = ["/home/u", "/w/project", "a.b.c", "build"]
OPERATORS = [
    "%/*", "%%/*", "#*/", "##*/", "%.*", "%%.*", "#*.", "##*.", ":0:1", ":1", ":1:2", ": -2", ": -2:1", "/u/x", "//u/x",
    "/#\\/home/x", "/%u/x", "/u", "//./_", "%zzz", "#[a-z]", "%[!a-z]", "%'*'", ":0:99", ":99",
]  # fmt: skip


def test_what_an_operator_leaves_is_what_bash_leaves() -> None:
    cases = [(value, operator) for value in VALUES for operator in OPERATORS]
    script = "\n".join(f"x='{value}'; printf '%s\\n' \"${{x{operator}}}\"" for value, operator in cases)
    told = subprocess.run([BASH, "-c", script], capture_output=True, check=True, timeout=20).stdout.decode().split("\n")
    ours = [applied(*case) for case in cases]
    wrong = [(case, one, two) for case, one, two in zip(cases, ours, told, strict=False) if one not in (None, two)]
    assert wrong == []
    assert sum(one is None for one in ours) < len(ours) // 5


def test_what_is_not_certain_is_not_said() -> None:
    assert applied("abc", "/[a-z]/x") is None
    assert applied("abc", "%$y") is None
    assert applied("a" * 600, "%a") is None
