"""Skills as people keep them: how long a new process takes until it knows what a model is told of 3,000 of them."""

import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import Row, row

SKILLS = 3_000
ROUNDS = int(os.environ.get("BENCH_DEFINITION_ROUNDS", "7"))
LIMIT_S = 0.3
OURS = """
import os, sys, time
from holdfast.definitions.library import open_library
from holdfast.definitions.places import Where
from holdfast.settings import SettingsRoots
place = os.path.realpath(sys.argv[1])
library = open_library(Where(place, place, SettingsRoots.from_environment(), True))
assert len(library) == int(sys.argv[2]) and len(library.listing()) <= 15_000
print(time.process_time())
"""
BARE = """
import os, sys, time
root = os.path.join(sys.argv[1], ".claude", "skills")
for name in os.listdir(root):
    with open(os.path.join(root, name, "SKILL.md"), "rb") as file:
        file.read(65536)
print(time.process_time())
"""


def _write(place: str) -> None:
    words = ("Reviews", "what", "was", "changed,", "writes", "notes", "of", "a", "release,", "looks", "at", "tables")
    body = "\n".join(" ".join(words) for _ in range(60))
    for number in range(SKILLS):
        directory = Path(place, ".claude", "skills", f"skill-{number:04d}")
        directory.mkdir(parents=True)
        about = " ".join(words[(number + step) % len(words)] for step in range(20))
        head = (
            f"name: {directory.name}\ndescription: {about}. Use it when asked.\nlicense: MIT\nallowed-tools: Read Grep"
        )
        (directory / "SKILL.md").write_text(f"---\n{head}\n---\n\n# Skill\n\n{body}\n", encoding="utf-8")


def _process_s(code: str, place: str) -> float:
    argv = [sys.executable, "-c", code, place, str(SKILLS)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ, "HOME": place})
    return float(done.stdout)


def rows() -> list[Row]:
    """Processor time of a whole process with its imports: what else the machine does is not in it."""
    with TemporaryDirectory() as place:
        _write(place)
        ours = statistics.median(_process_s(OURS, place) for _ in range(ROUNDS))
        bare = statistics.median(_process_s(BARE, place) for _ in range(ROUNDS))
    told = f"a list of {SKILLS:,} skills, new process"
    return [
        row(told, ours * 1e3, LIMIT_S * 1e3, unit="ms", limit=1.0, against="300 ms of processor time"),
        row(f"{told}, by file", ours * 1e3, bare * 1e3, unit="ms", limit=5.0, against="python that reads the files"),
    ]
