"""A project with a repository, a sandbox around it, and commands in that sandbox."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.host.sandbox.surroundings import Outside

from holdfast.host.command import Command, Finished
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Found, NotAvailable, Policy, Wall, look_for_sandbox
from holdfast.host.sandbox.governing import governing_paths, pinned_paths
from holdfast.host.sandbox.placeholders import Placeholders
from holdfast.testing.started import started

LIMIT_S = 60
Run = Callable[..., Finished]


@pytest.fixture(scope="session")
def found() -> Found:
    try:
        return look_for_sandbox()
    except NotAvailable as problem:
        pytest.skip(str(problem))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = Path(os.path.realpath(tmp_path)) / "project"
    place.mkdir()
    subprocess.run(["git", "init", "-q", str(place)], check=True, timeout=LIMIT_S)
    (place / "code.py").write_text("print(1)\n", encoding="utf-8")
    return place


@pytest.fixture
def policy(project: Path) -> Policy:
    place = str(project)
    return Policy(writable=(place,), governing=tuple(governing_paths(place)), pinned=tuple(pinned_paths(place)))


@pytest.fixture
def run(found: Found, project: Path, policy: Policy, tmp_path: Path) -> Iterator[Run]:
    wall = Wall(found, placeholders=Placeholders(str(tmp_path / "journal")))

    def run_inside(script: str, given: Policy | None = None, **options: object) -> Finished:
        command = Command(argv=["/bin/bash", "-c", script], cwd=str(project), **options)  # pyright: ignore[reportArgumentType]

        async def main() -> Finished:
            async with Processes() as processes:
                wrapped = wall.wrap(command, given or policy)
                return await asyncio.wait_for(processes.run(wrapped), LIMIT_S)

        return asyncio.run(main())

    yield run_inside
    wall.close()


@pytest.fixture
def outside(project: Path, policy: Policy) -> Iterator[Outside]:
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with started(waits, stdin=subprocess.PIPE, env={**os.environ, "MARK": "HOLDFAST-OUTER"}) as process:
        around = Outside(project, policy, process)
        yield around
        around.close()
