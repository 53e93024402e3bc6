"""The two locks: what the program needs to run is pinned, and just as in the development set."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def pins(name: str) -> dict[str, str]:
    return dict(_PIN.findall((ROOT / "requirements" / name).read_text(encoding="utf-8")))


def test_what_runs_is_pinned_as_in_the_development_set() -> None:
    run, dev = pins("run.txt"), pins("dev.txt")
    assert {name: version for name, version in run.items() if dev.get(name) != version} == {}
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {found[0].lower() for text in wanted if (found := _NAME.match(text))}
    assert names <= run.keys()
