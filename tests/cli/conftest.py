"""A real `holdfast exec` process, spoken to line by line."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest


class ExecProcess:
    """Writes JSON lines in and reads JSON lines out, each wait bounded by the test's own timeout."""

    def __init__(self, *options: str, cwd: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "exec", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
        )

    def send(self, *messages: dict[str, Any] | str) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, str) else json.dumps(message)
            self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def finish(self) -> tuple[int, list[dict[str, Any]], str]:
        """Close standard input; the exit code, the remaining lines, and what went to standard error."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


class StartExec:
    """Starts processes and makes sure that none outlives its test."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.started: list[ExecProcess] = []

    def __call__(self, *options: str) -> ExecProcess:
        self.started.append(ExecProcess(*options, cwd=self.cwd))
        return self.started[-1]


@pytest.fixture
def start_exec(tmp_path: Path) -> Generator[StartExec]:
    (tmp_path / "hello.txt").write_text("hello\nworld\n", encoding="utf-8")
    start = StartExec(tmp_path)
    yield start
    for started in start.started:
        if started.process.poll() is None:
            started.process.kill()
        for stream in (started.process.stdin, started.process.stdout, started.process.stderr):
            assert stream is not None
            stream.close()
        started.process.wait()
