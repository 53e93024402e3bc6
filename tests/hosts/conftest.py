"""A program that drives a real `holdfast` process over stream-json, with a model that does what prompts say."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import started
from holdfast.testing.obliging import ObligingProvider

LIMIT_S = 100.0
Line = dict[str, Any]


def call(tool: str, /, **given: Any) -> str:
    """A step of a prompt: the model calls a tool."""
    return f"CALL {tool} {json.dumps(given)}"


class Host:
    """Speaks to one process, line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._rest = b""
        self._count = 0

    def send(self, *messages: Line) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self.process.stdin.flush()

    def read(self) -> Line:
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, f"it ended: {self._errors()}"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def until(self, **fields: Any) -> list[Line]:
        """The lines up to the first that has these fields."""
        found: list[Line] = []
        while not found or any(found[-1].get(name) != value for name, value in fields.items()):
            found.append(self.read())
        return found

    def control(self, subtype: str, **fields: Any) -> Any:
        """Ask for something and wait; the answer, or its error as a text. Other lines meanwhile are left out."""
        self._count += 1
        id_ = f"r{self._count}"
        self.send({"type": "control_request", "request_id": id_, "request": {"subtype": subtype, **fields}})
        while (line := self.read())["type"] != "control_response" or line["response"]["request_id"] != id_:
            pass
        said = line["response"]
        return said["error"] if said["subtype"] == "error" else said["response"]

    def say(self, *steps: str, **more: Any) -> list[Line]:
        """Say something and wait for its end."""
        self.prompt(*steps, **more)
        return self.until(type="result")

    def prompt(self, *steps: str, **more: Any) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": "\n".join(steps)}, **more})

    def reply(self, asked: Line, **response: Any) -> None:
        said = {"subtype": "success", "request_id": asked["request_id"], "response": response}
        self.send({"type": "control_response", "response": said})

    def finish(self) -> tuple[int, list[Line], str]:
        """Close its input; the exit code, the remaining lines, and what stands on standard error."""
        out, err = self.process.communicate(timeout=60)
        lines = (self._rest + out).splitlines()
        return self.process.returncode, [json.loads(line) for line in lines], err.decode()

    def _errors(self) -> str:
        return "" if self.process.stderr is None else self.process.stderr.read().decode()


class StartHost:
    """Starts processes and makes sure that none outlives its test."""

    def __init__(self, place: Path, stack: ExitStack, url: str) -> None:
        self.place = place
        self._stack = stack
        self._env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}

    def __call__(self, *words: str, **env: str) -> Host:
        argv = [sys.executable, "-m", "holdfast", "--output-format", "stream-json", "--verbose"]
        pipe = subprocess.PIPE
        process = started(
            [*argv, *words, "--input-format", "stream-json"],
            limit_s=LIMIT_S,
            cwd=self.place,
            env={**os.environ, **self._env, **env},
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )
        return Host(self._stack.enter_context(process))


@pytest.fixture(scope="session")
def model_url() -> Generator[str]:
    """The address of a model that does what prompts say; one for all tests of a worker."""
    loop = asyncio.new_event_loop()
    provider = ObligingProvider()
    loop.run_until_complete(provider.__aenter__())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield provider.url
    asyncio.run_coroutine_threadsafe(provider.__aexit__(None, None, None), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder that the agent works in."""
    found = tmp_path / "place"
    found.mkdir()
    return found


@pytest.fixture
def start(place: Path, model_url: str) -> Generator[StartHost]:
    with ExitStack() as stack:
        yield StartHost(place, stack, model_url)


def texts(lines: list[Line]) -> str:
    """What the model said."""
    blocks = [block for line in lines if line["type"] == "assistant" for block in line["message"]["content"]]
    return "\n".join(block.get("text", "") for block in blocks)


def results(lines: list[Line]) -> list[Line]:
    """The results of calls."""
    blocks = [block for line in lines if line["type"] == "user" for block in line["message"]["content"]]
    return [block for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]


def first(lines: list[Line]) -> Line:
    """The line that tells the session."""
    return next(line for line in lines if line.get("subtype") == "init")
