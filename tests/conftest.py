"""For every test: nobody's home directory is touched, and Hypothesis runs the same examples each time.

A limit for the whole run ends a suite that hangs, with the stacks of all threads of all workers.
"""

import asyncio
import faulthandler
import os
import signal
import subprocess
import sys
import time
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


_LIMIT_S = 2_400.0
"""The whole suite; the limit of one test is in `pyproject.toml`. `HOLDFAST_SUITE_LIMIT_S` sets another."""
_ENDS_AT = "HOLDFAST_SUITE_ENDS_AT"
_LATER_S = float(os.environ.get("HOLDFAST_SUITE_AFTER_S", "10"))
"""The process that collects the results goes after its workers, so that their stacks are printed first."""


def pytest_configure(config: pytest.Config) -> None:
    """Set the clock that ends this process, wherever it hangs, with every thread's stack and a status that is not 0."""
    if hasattr(signal, "SIGHUP"):  # a suite under nohup, or started by a program that ignores it, tests it all the same
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        limit_s = float(os.environ.get("HOLDFAST_SUITE_LIMIT_S", _LIMIT_S))
        os.environ.setdefault(_ENDS_AT, str(time.time() + limit_s))  # a worker that replaces another gets no new time
    left_s = float(os.environ[_ENDS_AT]) - time.time()
    said = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)  # the test's own standard error is caught
    faulthandler.dump_traceback_later(max(left_s, 0.1) + (0 if is_worker else _LATER_S), exit=True, file=said)


def pytest_unconfigure() -> None:
    faulthandler.cancel_dump_traceback_later()


_ORDINARY = (
    "app/test_sandbox",
    "cli/test_call.py",
    "cli/test_commands.py",
    "cli/test_exec.py",
    "cli/test_people.py",
    "cli/test_standard_streams.py",
    "host/sandbox",
    "lib/test_atomic.py",
    "lib/test_handles.py",
    "lib/test_guarded_read.py",
    "settings/test_save.py",
    "tools/files/test_notebook_edit.py",
    "tools/files/test_read.py",
    "tools/files/test_write_and_edit.py",
    "tools/search",
    "tools/shell/test_bash.py",
    "tools/shell/test_bash_directory.py",
    "tools/shell/test_sed.py",
)
_THE_SAME_FOR_ROOT = (
    "test_death_at_every_call",
    "test_an_error_at_every_call",
    "test_a_link_swapped_in_before_any_call",
    "test_notes_let_the_next_start_sweep",
    "test_eight_editors_lose_no_update",
    "test_a_line_just_within_the_limit",
    "test_exec_does_not_wait_at_a_second_signal",
    "test_without_a_reader_a_command_ends_quietly",
    "test_every_help_is_whole",
    "test_another_encoding_shows_our_marks",
)
"""Tests in these files that take long and ask nothing of the user's rights."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what also has to hold for a user who is not root (`scripts/ordinary_user.py`)."""
    tests = Path(__file__).parent
    for item in items:
        if not item.path.is_relative_to(tests) or item.name.startswith(_THE_SAME_FOR_ROOT):
            continue
        if item.path.relative_to(tests).as_posix().startswith(_ORDINARY):
            item.add_marker("ordinary")


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
