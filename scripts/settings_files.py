"""Start a session with each settings file of a directory, and tell which of them stop the start.

    python scripts/settings_files.py DIRECTORY [--as flag|user|project] [--jobs 2] [--show]

Every `*.json` below the directory is tried alone, in an empty home, with a model that says one word. What such files
name is the work of strangers: hooks are switched off, and no program of theirs runs. A file that is no JSON object is
no settings file; it counts apart, and must be refused. Ends with 1 if a settings file did not start, or another did.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIMIT_S = 120
NO_HOOKS = json.dumps({"disableAllHooks": True})


class Outcome(NamedTuple):
    """What became of one file."""

    path: Path
    is_settings: bool
    started: bool
    said: str

    @property
    def is_right(self) -> bool:
        """A settings file starts; anything else is refused."""
        return self.started == self.is_settings


def is_settings(path: Path) -> bool:
    """Whether it is JSON with an object in it, as every reader of such files expects."""
    try:
        return isinstance(json.loads(path.read_text(encoding="utf-8-sig")), dict)
    except (ValueError, OSError, RecursionError):
        return False


def tried(path: Path, way: str) -> Outcome:
    """Start a session with this file as the only one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        home, project, script = place / "home", place / "project", place / "model.json"
        script.write_text('["ok"]', encoding="utf-8")
        for made in (home / ".claude", project / ".claude"):
            made.mkdir(parents=True)
        environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
        words = ["-p", "hi", "--model", f"scripted:{script}", "--settings", NO_HOOKS]
        if way == "flag":
            words += ["--settings", str(path)]
        else:
            target = (home if way == "user" else project) / ".claude" / "settings.json"
            target.write_bytes(path.read_bytes())
        if way == "project":
            _run(["trust", "--yes"], project, environ)
        done = _run(words, project, environ)
        return Outcome(path, is_settings(path), done.returncode == 0, done.stderr.strip() or done.stdout.strip())


def _run(words: Sequence[str], cwd: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "holdfast", *words]
    return subprocess.run(
        argv,
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def main() -> int:
    """Try every file, print what was not as it should be, and how many there were."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--as", dest="way", choices=("flag", "user", "project"), default="flag")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="also what was said about files that start")
    given = parser.parse_args()
    files = sorted(path for path in given.directory.rglob("*.json") if path.is_file())
    if not files:
        print(f"there is no *.json below {given.directory}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(given.jobs) as pool:
        outcomes = list(pool.map(lambda path: tried(path.resolve(), given.way), files))
    for one in outcomes:
        if not one.is_right or given.show:
            word = "started" if one.started else "refused"
            print(f"{'ok   ' if one.is_right else 'WRONG'} {word} {one.path}\n      {one.said[:600]}")
    settings = [one for one in outcomes if one.is_settings]
    others = [one for one in outcomes if not one.is_settings]
    print(
        f"{len(outcomes)} files as {given.way}: {len(settings)} are settings, "
        f"{sum(one.started for one in settings)} of them start; "
        f"{len(others)} are none, {sum(one.started for one in others)} of them start"
    )
    return 0 if all(one.is_right for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
