"""A history replayed hunk by hunk through Edit gives the bytes of its commits, with LF and with CRLF files."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

LINES = ["", "    return x", "\tif y:", "}", "# comment “quoted”", "value = 'a'", "trailing  ", "ß = 1", "end"]


def make_history(root: Path, seed: int) -> None:
    """Commits over files of few different lines, so that most places look alike."""
    chance = random.Random(seed)

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "core.autocrlf=false", *arguments], cwd=root, check=True, timeout=60, capture_output=True
        )

    git("init", "-q")
    git("config", "user.email", "a@example.com")
    git("config", "user.name", "a")
    texts = {name: [chance.choice(LINES) for _ in range(60)] for name in ("a.py", "b.c", "ü name.txt")}
    for number in range(25):
        for name, lines in texts.items():
            for _ in range(chance.randrange(4)):
                place = chance.randrange(len(lines) + 1)
                lines[place : place + chance.randrange(4)] = chance.choices(LINES, k=chance.randrange(4))
            end = chance.choice(("\n", ""))
            (root / name).write_bytes(("\n".join(lines) + end).encode())
        (root / f"new{number}").write_bytes(b"only\n" * number)
        git("add", "-A")
        git("commit", "-q", "-m", f"change {number}")


@pytest.mark.parametrize("options", [[], ["--crlf"], ["--via", "exec"]], ids=["lf", "crlf", "exec"])
def test_a_generated_history_is_replayed_to_the_byte(
    tmp_path: Path, options: list[str], run_script: Callable[..., str]
) -> None:
    make_history(tmp_path, seed=2)
    told = run_script("replay_commits.py", str(tmp_path), *options)
    assert "same" in told
    assert int(told.split(" same")[0].split()[-1]) > 60
