"""For every test: nobody's home directory is touched, and Hypothesis runs the same examples each time."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
# `make fuzz`: every property gets this many examples, those with a larger size of their own here (`max(…)`) as well;
# only whole sessions (`tests/engine/test_schedules.py`) get fewer. An example should cost about a millisecond.
settings.register_profile(
    "deep", deadline=None, max_examples=20_000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_SCRIPTS = Path(__file__).parents[1] / "scripts"
_BASES = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_DATA_HOME": ".local/share",
    "XDG_CACHE_HOME": ".cache",
}


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test, with the XDG directories inside it."""
    home = tmp_path_factory.mktemp("home", numbered=True)
    monkeypatch.setenv("HOME", str(home))
    for variable, place in _BASES.items():
        monkeypatch.setenv(variable, str(home / place))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return home


@pytest.fixture
def open_files() -> Callable[[], set[tuple[str, str]]]:
    """What this process holds open: each handle with what it leads to.

    Compare with `-`: what an earlier test left for the garbage collector may be closed meanwhile.
    """

    def look() -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        for number in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):  # the one that lists them
                found.add((number, os.readlink(f"/proc/self/fd/{number}")))
        return found

    return look


@pytest.fixture
def comes_true() -> Callable[[Callable[[], object]], Awaitable[None]]:
    """Waits, while others work, until something is true; at most ten seconds."""

    async def wait(condition: Callable[[], object]) -> None:
        for _ in range(2_000):
            if condition():
                return
            await asyncio.sleep(0.005)
        pytest.fail("it did not become true in ten seconds")

    return wait


@pytest.fixture
def run_script() -> Callable[..., str]:
    """Runs a development script to its good end, in a bounded time, and gives what it printed."""

    def run(name: str, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, str(_SCRIPTS / name), *arguments], capture_output=True, text=True, timeout=110, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
