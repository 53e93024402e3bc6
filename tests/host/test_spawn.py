import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.host import spawn as spawning
from holdfast.host.child_env import ChildEnvironments
from holdfast.host.spawn import UNKNOWN_CODE, Environment, collect, spawn
from holdfast.testing import started

USUAL = Environment({b"PATH": os.fsencode(os.environ["PATH"]), b"KEPT": b"yes"})


@pytest.fixture(params=["direct", "popen"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "popen":
        monkeypatch.setattr(spawning, "_fork_exec", None)
    return str(request.param)


def said(argv: list[str | bytes], environment: Environment = USUAL, cwd: str | None = None) -> tuple[str, int]:
    ours, theirs = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        pid = spawn(argv, environment, b"OWN=one", streams=(nothing, theirs, theirs), cwd=cwd)
    finally:
        os.close(theirs)
        os.close(nothing)
    with os.fdopen(ours) as file:
        return file.read(), collect(pid)


def test_the_program_gets_its_words_its_place_and_its_environment(tmp_path: Path) -> None:
    text, code = said(["bash", "-c", 'echo "$0 $1|$KEPT|$OWN|$PWD"; exit 7', "a b", b"c"], cwd=str(tmp_path))
    assert (text, code) == (f"a b c|yes|one|{tmp_path.resolve()}\n", 7)


def test_it_leads_its_own_session_and_holds_no_handle_of_ours() -> None:
    with open("/dev/null", "rb") as file:
        os.set_inheritable(file.fileno(), True)
        script = "ps -o pid=,sid=,pgid= -p $$; ls /proc/$$/fd | wc -w"
        text, _ = said(["bash", "-c", script])
    ids, count = text.splitlines()
    assert len(set(ids.split())) == 1
    assert int(count) <= 4  # its three streams, and what bash opens for the pipe


def test_signals_that_python_ignores_are_as_usual() -> None:
    assert said(["bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}"])[0] == "y\n141\n"


@pytest.mark.parametrize(
    ("argv", "cwd", "kind"),
    [
        (["/no/such/program"], None, FileNotFoundError),
        (["no-such-program"], None, FileNotFoundError),
        (["true"], "/no/such/place", FileNotFoundError),
        (["/etc/passwd"], None, PermissionError),
        (["true", "a\0b"], None, ValueError),
    ],
)
def test_a_start_that_fails_says_why_and_leaves_nothing(
    argv: list[str | bytes], cwd: str | None, kind: type, open_files: Callable[[], set[tuple[str, str]]]
) -> None:
    before = open_files()
    with pytest.raises(kind):
        said(argv, cwd=cwd)
    assert len(open_files() - before) <= 1  # `said` itself keeps one end of its pipe


def test_a_signal_is_a_negative_code_and_an_end_that_somebody_else_took_is_no_success() -> None:
    assert said(["bash", "-c", "kill -9 $$"])[1] == -9
    with started(["true"]) as gone:
        gone.wait(60)
        assert collect(gone.pid) == UNKNOWN_CODE != 0


def test_low_handles_are_no_problem() -> None:
    code = """
import os, sys
from holdfast.host.spawn import Environment, spawn, collect
out = os.dup(1)
os.close(0); os.close(1)
nothing = os.open("/dev/null", os.O_RDONLY)
assert nothing == 0
pid = spawn(["/bin/echo", "hello"], Environment({}), b"A=b", streams=(nothing, out, out))
sys.exit(collect(pid))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hello\n", b"")


def test_an_environment_is_made_once_for_equal_changes_and_nobody_takes_its_marks_away() -> None:
    environments = ChildEnvironments({"A": "1", "HOLDFAST_JOB": "of-another.3"}, "mark")
    first = environments.of({"B": "2", "A": None, "HOLDFAST_SESSION": None})
    assert environments.of({"B": "2", "A": None, "HOLDFAST_SESSION": None}) is first
    assert sorted(first.entries) == [b"B=2", b"HOLDFAST_SESSION=mark"]
    assert environments.job_entry(4) == b"HOLDFAST_JOB=mark.4"
    assert environments.of({}, inherits=False).entries == [b"HOLDFAST_SESSION=mark"]
    for number in range(200):
        environments.of({"N": str(number)})
    assert environments.of({"N": "3"}).entries == [b"A=1", b"N=3", b"HOLDFAST_SESSION=mark"]
    with pytest.raises(ValueError, match="illegal"):
        environments.of({"A=B": "c"})
