"""Run a parser of hostile formats in a process of its own, with little memory and little time.

It gets the open file as its standard input, so it needs no path and no right to open one.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.contract import ToolFailed
from holdfast.host.parsing import CPU_S, MAX_ANSWER_BYTES

__all__ = ["run_bounded"]

_WALL_S = 30.0


async def run_bounded(module: str, function: str, handle: int, request: Mapping[str, Any]) -> dict[str, Any]:
    """Call `module.function(fd, request)` in a limited process and return its answer.

    Raises:
        ToolFailed: The parser refused the file, crashed, or ran into a limit.
    """
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    os.lseek(handle, 0, os.SEEK_SET)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "holdfast.host.parse_child",
        module,
        function,
        json.dumps(request),
        stdin=handle,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
        env={"PYTHONPATH": package, "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_WALL_S):
            answer = await _read_answer(process)
            code = await process.wait()
    except TimeoutError:
        raise ToolFailed(f"the file took more than {_WALL_S:g} s to take apart; it may be broken or hostile") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return _checked(answer, code)


async def _read_answer(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    parts: list[bytes] = []
    size = 0
    while part := await process.stdout.read(1 << 18):
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise ToolFailed("the file unpacks to more than can be shown; ask for a smaller part of it")
        parts.append(part)
    return b"".join(parts)


def _checked(answer: bytes, code: int) -> dict[str, Any]:
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        raise ToolFailed(f"the file took more than {CPU_S} s of computing to take apart; it may be broken or hostile")
    if code != 0 or not answer:
        raise ToolFailed("the file made its parser crash; it may be broken or hostile")
    found: dict[str, Any] = msgspec.msgpack.decode(answer)
    if "error" in found:
        raise ToolFailed(str(found["error"]))
    return found
