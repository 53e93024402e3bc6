"""How a process ends: at once, and with everything done that was to be done at its end."""

import subprocess
import sys
from pathlib import Path

SCRIPT = (
    "import atexit, sys, threading, time\n"
    "import holdfast.__main__ as program\n"
    "atexit.register(lambda: print('at the end'))\n"
    "late = threading.Event()\n"
    "threading.Thread(target=lambda: (late.wait(0.2), print('from a thread'))).start()\n"
    "sys.argv = ['holdfast', *sys.argv[1:]]\n"
    "program.main()\n"
    "print('never')\n"
)


def end(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"HOME": str(place), "PATH": "/usr/bin:/bin"}
    argv = [sys.executable, "-c", SCRIPT, *words]
    return subprocess.run(argv, capture_output=True, text=True, cwd=place, env=environ, timeout=60, check=False)


def test_what_is_registered_for_the_end_runs_and_output_is_whole(tmp_path: Path) -> None:
    done = end(tmp_path, "tools")
    assert done.returncode == 0
    assert "Bash" in done.stdout
    assert done.stdout.endswith("at the end\n")
    assert "never" not in done.stdout


def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    assert end(tmp_path, "call", "Nothing", "{}").returncode == 1
    assert end(tmp_path, "no-such-command-here").returncode == 2
