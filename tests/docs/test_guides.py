"""Each guide is followed from top to bottom in an empty folder: its files are written, its commands run, as shown."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
BLOCK = re.compile(r"^<!-- (?:file: (?P<file>\S+)|run) -->\n```\w*\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE)


class Step(NamedTuple):
    file: str
    """To write; empty: a command to run."""
    text: str
    shown: str = ""


def steps(page: str) -> Iterator[Step]:
    for block in BLOCK.finditer(page):
        if block["file"]:
            yield Step(block["file"], block["text"])
            continue
        for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield Step("", command, shown)


def pattern(shown: str) -> re.Pattern[str]:
    """What is shown, word for word; `…` stands for anything, alone on a line for any number of lines."""
    lines = [".*" if line == "…" else re.escape(line).replace("…", "[^\n]*") + "\n" for line in shown.splitlines()]
    return re.compile("".join(lines), re.DOTALL)


def surroundings(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("LANG", "TMPDIR", "SSL_CERT_FILE")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return kept | {"PATH": path, "HOME": str(home), "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_a_guide_can_be_followed_from_an_empty_folder(guide: Path, tmp_path: Path) -> None:
    folder, home = tmp_path / "shop", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    for step in steps(guide.read_text("utf-8")):
        if step.file:
            place = folder / step.file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(step.text, encoding="utf-8")
            continue
        done = subprocess.run(
            ["bash", "-c", step.text],
            cwd=folder,
            env=surroundings(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        said = done.stdout + done.stderr  # a guide shows them in this order
        assert pattern(step.shown).fullmatch(said), f"$ {step.text}\n{said}\nbut the guide shows\n{step.shown}"


def test_the_guides_run_something() -> None:
    counted = {guide.stem: len(list(steps(guide.read_text("utf-8")))) for guide in GUIDES}
    assert counted["first-agent"] >= 10
    assert counted["team-permissions"] >= 5


def test_what_is_shown_is_compared_word_for_word() -> None:
    assert pattern("a … c\n…\n").fullmatch("a b c\nmore\nlines\n")
    assert not pattern("a … c\n").fullmatch("a b d\n")
    assert not pattern("a.c\n").fullmatch("abc\n")
