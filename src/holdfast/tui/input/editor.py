"""The person's own editor, for long prompts and plans."""

import asyncio
import os
import shlex
import tempfile

from holdfast.host.programs import current_folder, find_program

__all__ = ["edit_file", "edit_text", "editor_command"]

_USUAL = ("nano", "vim", "vi")


def editor_command() -> list[str] | None:
    """What the person edits with: VISUAL, EDITOR, or what is usually there; never a program of this folder."""
    words: list[str] = []
    for name in ("VISUAL", "EDITOR"):
        given = os.environ.get(name, "").strip()
        if given and not words:
            try:
                words = shlex.split(given)
            except ValueError:
                return None
    for name in words[:1] or _USUAL:
        path = name if os.path.isabs(name) else find_program(name, outside=current_folder())
        if path is not None:
            return [path, *words[1:]]
    return None


async def edit_text(text: str, *, suffix: str = ".md") -> str | None:
    """Let the person change a text in the terminal; none when no editor could be started, or it failed."""
    command = editor_command()
    if command is None:
        return None
    path = await asyncio.to_thread(_write, text, suffix)
    try:
        process = await asyncio.create_subprocess_exec(*command, path)
        return await asyncio.to_thread(_read, path) if await process.wait() == 0 else None
    except OSError:
        return None
    finally:
        os.unlink(path)


async def edit_file(path: str) -> bool:
    """Let the person change a file; it is made when it is not there and they save one."""
    command = editor_command()
    if command is None:
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        process = await asyncio.create_subprocess_exec(*command, path)
    except OSError:
        return False
    return await process.wait() == 0


def _write(text: str, suffix: str) -> str:
    handle, path = tempfile.mkstemp(prefix="holdfast-", suffix=suffix)  # for the user's eyes alone
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    return path


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
