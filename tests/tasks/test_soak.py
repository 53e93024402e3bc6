"""Many jobs for a while: open files and memory do not grow, and nothing is left."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILES_PER_JOB = 4  # two pipes, the process itself, the output on disk
SCRIPT = Path(__file__).parents[2] / "scripts" / "soak.py"


@pytest.fixture
def soak() -> ModuleType:
    spec = importlib.util.spec_from_file_location("soak_script", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak_script"] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_sixty_four_jobs_for_twenty_seconds_leave_files_and_memory_as_they_were(soak: ModuleType) -> None:
    report = asyncio.run(soak.soak(20.0))
    files, memory_mb = report.growth()
    assert report.started >= 64
    assert files <= 0
    assert report.most_files <= report.quiet[0].files + soak.JOBS * FILES_PER_JOB
    assert memory_mb <= 20
    assert report.left == 0
