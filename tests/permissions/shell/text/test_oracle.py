"""What generated read-only commands really do, seen by strace in a sandbox (`make oracle` runs many more)."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[4] / "scripts"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shell_oracle", SCRIPTS / "shell_oracle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shell_oracle"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    module = load()
    if problem := module.sandbox_problem():
        pytest.skip(f"the oracle needs bwrap and strace: {problem}")
    return module


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_commands_called_read_only_change_nothing(oracle: ModuleType) -> None:
    generated, run, violations = oracle.check(300, 20_261_115)
    assert violations == []
    assert run > generated // 2


def test_the_oracle_sees_a_write_a_program_a_connection_and_a_signal(oracle: ModuleType) -> None:
    commands = [
        "touch new.txt",
        "echo x > new.txt",
        "rm a.txt",
        "perl -e 1",
        "kill -0 1; kill -CONT 1",
        "head -c 1 /dev/zero",
        "ls",
        "exec 3<>/dev/tcp/127.0.0.1/9",
    ]
    found = {(violation.command, violation.what) for violation in oracle.run_batch(commands)}
    assert ("touch new.txt", "open for writing") in found
    assert ("echo x > new.txt", "open for writing") in found
    assert ("rm a.txt", "change") in found
    assert ("perl -e 1", "program outside the tables") in found
    assert ("kill -0 1; kill -CONT 1", "change") in found
    assert ("head -c 1 /dev/zero", "device read") in found
    assert ("exec 3<>/dev/tcp/127.0.0.1/9", "network") in found
    assert not any(command == "ls" for command, _ in found)
