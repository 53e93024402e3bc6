"""Agents that are killed at random points and resumed; `make torture` kills 200."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "torture_loop.py"


def test_killed_agents_go_on_with_no_result_lost_and_nothing_done_twice() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", "20", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("20 kills")
