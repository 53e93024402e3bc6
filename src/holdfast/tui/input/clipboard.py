"""A picture from the clipboard, by the programs that desktops have for it."""

import asyncio
import os
import sys

from holdfast.host.programs import current_folder, find_program

__all__ = ["clipboard_picture"]

_LIMIT_BYTES = 32 << 20
_LIMIT_S = 5.0
_WAYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
)
_MAC = ("pngpaste", "-")


async def clipboard_picture() -> bytes | None:
    """The picture as PNG; none when there is none, or nothing here can tell."""
    ways = [words for name, words in _WAYS if os.environ.get(name)]
    if sys.platform == "darwin":
        ways.append(_MAC)
    for name, *words in ways:
        program = find_program(name, outside=current_folder())
        if program is not None and (found := await _output_of([program, *words])):
            return found
    return None


async def _output_of(argv: list[str]) -> bytes | None:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:
        return None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_LIMIT_S):
            data = await process.stdout.read(_LIMIT_BYTES + 1)
            code = await process.wait() if len(data) <= _LIMIT_BYTES else 1
    except TimeoutError:
        code, data = 1, b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return data if code == 0 and data.startswith(b"\x89PNG") else None
