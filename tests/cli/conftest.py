"""A real `holdfast exec` process, spoken to line by line."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import started

LIMIT_S = 100.0


def piped(argv: list[str], cwd: Path) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    """A process spoken to over all three standard streams."""
    pipe = subprocess.PIPE
    return started(argv, limit_s=LIMIT_S, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe)


class ExecProcess:
    """Writes JSON lines in and reads JSON lines out, each wait bounded by the limit it was started with."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._rest = b""

    def send(self, *messages: dict[str, Any] | str) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, str) else json.dumps(message)
            self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next line. By descriptor: what a buffered reader holds, `communicate` would never see."""
        assert self.process.stdout is not None
        while b"\n" not in self._rest and (more := os.read(self.process.stdout.fileno(), 1 << 16)):
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def finish(self) -> tuple[int, list[dict[str, Any]], str]:
        """Close standard input; the exit code, the remaining lines, and what went to standard error."""
        out, err = self.process.communicate(timeout=60)
        lines = (self._rest + out).splitlines()
        return self.process.returncode, [json.loads(line) for line in lines], err.decode()


class StartExec:
    """Starts processes and makes sure that none outlives its test."""

    def __init__(self, cwd: Path, stack: ExitStack) -> None:
        self.cwd = cwd
        self._stack = stack

    def __call__(self, *options: str) -> ExecProcess:
        argv = [sys.executable, "-m", "holdfast", "exec", *options]
        return ExecProcess(self._stack.enter_context(piped(argv, self.cwd)))


@pytest.fixture
def start_exec(tmp_path: Path) -> Generator[StartExec]:
    (tmp_path / "hello.txt").write_text("hello\nworld\n", encoding="utf-8")
    with ExitStack() as stack:
        yield StartExec(tmp_path, stack)
