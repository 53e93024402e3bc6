"""Real `holdfast -p` processes that are killed at random points and resumed; `make torture` kills 200."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "torture_cli.py"


def test_killed_command_lines_go_on_with_nothing_done_twice_and_every_request_valid() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", "5", "--seed", "3"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("5 kills")
