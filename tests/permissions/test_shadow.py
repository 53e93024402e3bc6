"""The net under permissions/: verdicts that were recorded once (`make shadow` looks at all of them)."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def shadow() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shadow", SCRIPTS / "shadow.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shadow"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_part_of_the_recorded_verdicts_still_holds() -> None:
    words = [sys.executable, str(SCRIPTS / "shadow.py"), "--share", "150"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "543 looked at" in done.stdout


def test_the_record_is_the_frozen_one(shadow: ModuleType) -> None:
    assert shadow.frozen_problems() == []


@pytest.mark.parametrize(
    ("facts", "verdicts", "kind"),
    [
        ("-,-,-,-,-,-,-", "aqqqqqqqq", "looser"),
        ("R,-,-,-,-,-,-", "qqqqqqqqq", "looser"),
        ("-,C,-,-,-,-,-", "qqqqqqqqq", "stricter"),
        ("-,-,-,-,-,-,-", "qqqqqqqqx", "stricter"),
        ("-,-,-,-,-,-,-", "qqqqqqqax", "looser"),
        ("-,-,-,s,-,-,beef", "qqqqqqqqq", "changed"),
    ],
)
def test_a_difference_is_named_by_its_gravest_part(shadow: ModuleType, facts: str, verdicts: str, kind: str) -> None:
    before = shadow.Line("x", ("-",) * 7, "q" * 9)
    found = shadow.compare(before, shadow.Line("x", tuple(facts.split(",")), verdicts), "rm x")
    assert found.kind == kind
    assert shadow.compare(before, before, "rm x") is None


def test_a_danger_that_is_no_longer_seen_is_looser(shadow: ModuleType) -> None:
    lines = [shadow.Line("x", tuple(facts.split(",")), "q" * 9) for facts in ("-,C,-,-,-,b,-", "-,C,-,-,-,-,-")]
    assert shadow.compare(*lines, "rm x").kind == "looser"


def test_a_pattern_excuses_what_is_stricter_and_never_what_is_looser(shadow: ModuleType) -> None:
    known = [{"pattern": "rm", "reason": "meant"}, {"digests": ["abc"], "reason": "this one"}]
    assert shadow.excused(shadow.Difference("stricter", "", "x", "rm x"), known) == "meant"
    assert shadow.excused(shadow.Difference("looser", "", "x", "rm x"), known) is None
    assert shadow.excused(shadow.Difference("looser", "", "abc", "ls"), known) == "this one"
