"""Shared by the tests of the process ground."""

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "torture_processes.py"


@pytest.fixture(scope="session")
def torture() -> ModuleType:
    spec = importlib.util.spec_from_file_location("torture_processes", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def token(torture: ModuleType) -> Iterator[str]:
    """A number for `sleep` that nobody else uses; whoever still sleeps by it at the end is ended."""
    name = f"66666.{os.getpid():07d}{time.monotonic_ns() % 10**9:09d}"
    yield name
    for pid in torture.holders(name):
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], object]:
    """Wait until something is true, at most a minute: a busy machine is slow, not wrong."""

    def wait(condition: Callable[[], object]) -> object:
        deadline = time.monotonic() + 60
        while not (answer := condition()):
            if time.monotonic() > deadline:
                pytest.fail("it did not become true in a minute")
            time.sleep(0.005)
        return answer

    return wait


@pytest.fixture
def python() -> str:
    return sys.executable
