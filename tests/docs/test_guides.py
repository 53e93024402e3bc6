"""Each guide is followed from top to bottom in an empty folder: its files are written, its commands run, as shown."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from holdfast.lib.positions import Object, located
from holdfast.settings.schema import KNOWN, check, normalised

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


def run(command: str, folder: Path, home: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=surroundings(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr  # pages show them in this order


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
        said = run(step.text, folder, home)
        assert pattern(step.shown).fullmatch(said), f"$ {step.text}\n{said}\nbut the guide shows\n{step.shown}"


def test_the_guides_run_something() -> None:
    counted = {guide.stem: len(list(steps(guide.read_text("utf-8")))) for guide in GUIDES}
    assert counted["first-agent"] >= 10
    assert counted["team-permissions"] >= 5


def test_what_is_shown_is_compared_word_for_word() -> None:
    assert pattern("a … c\n…\n").fullmatch("a b c\nmore\nlines\n")
    assert not pattern("a … c\n").fullmatch("a b d\n")
    assert not pattern("a.c\n").fullmatch("abc\n")


def test_what_the_page_about_permissions_shows_is_what_is_said(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "concepts" / "permissions.md").read_text("utf-8")
    shown = dict(
        re.findall(r"^```console\n\$ (holdfast permissions \w+.*?)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    )
    explain, backtest = (next(line for line in shown if word in line) for word in ("explain", "backtest"))
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"permissions": {\n "deny": [\n  "Bash(rm *)"\n]}}')
    assert pattern(shown[explain]).fullmatch(run(explain, tmp_path, tmp_path / "home"))

    (tmp_path / "new.json").write_text('{\n "permissions": {\n  "deny":\n  [\n   "Bash(touch *)"\n]}}')
    calls = [{"tool": "Bash", "input": {"command": command}} for command in ("touch x", "ls", "make all")]
    (tmp_path / "script.json").write_text(json.dumps([[call] for call in calls] + ["Done."]))
    run("holdfast -p hi --model scripted:script.json --allowed-tools 'Bash(touch *)'", tmp_path, tmp_path / "home")
    said = run(backtest, tmp_path, tmp_path / "home")
    assert pattern(shown[backtest]).fullmatch(said), said


def json_blocks() -> Iterator[tuple[Path, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for text in re.findall(r"^```json\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            yield page, text


@pytest.mark.parametrize(("page", "text"), list(json_blocks()), ids=lambda value: getattr(value, "stem", ""))
def test_settings_on_a_page_are_accepted(page: Path, text: str) -> None:
    """Every block of JSON can be read; what is a settings file has only known keys with values that fit."""
    lines = text.splitlines()
    found: list[Any] = (
        [json.loads(line) for line in lines] if lines[1:2] and lines[1][:1] in "{[" else [json.loads(text)]
    )
    for value in found:
        given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if set(given) & (set(KNOWN) - {"mcp"}):
            read = located(given)
            assert isinstance(read, Object)
            assert check(normalised(read), path=None, strict=True) == []


def test_blocks_that_a_shell_reads_are_whole() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for text in re.findall(r"^```(?:bash|sh)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            assert subprocess.run(["bash", "-n"], input=text, text=True, timeout=30, check=False).returncode == 0, (
                f"{page}: {text}"
            )
