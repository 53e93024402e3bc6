"""`# note`: something to remember, added to a file of instructions that the person chooses."""

import asyncio
import os
from typing import NamedTuple

from holdfast.contract import UsageError
from holdfast.lib.atomic import write_atomic
from holdfast.settings import SettingsRoots

__all__ = ["NotePlace", "add_note", "note_places"]

_NAMES = ("CLAUDE.md", "AGENTS.md")
_MOST_BYTES = 1 << 20


class NotePlace(NamedTuple):
    """A file that notes can go to."""

    label: str
    path: str


def note_places(root: str) -> list[NotePlace]:
    """The files, the project's first; one that exists is taken before one that would be made."""
    roots = SettingsRoots.from_environment()
    project = _existing([os.path.join(root, name) for name in _NAMES], os.path.join(root, "AGENTS.md"))
    mine = os.path.join(root, "CLAUDE.local.md")
    user = _existing(
        [os.path.join(roots.user_existing, "CLAUDE.md"), os.path.join(roots.user_native, "AGENTS.md")],
        os.path.join(roots.user_native, "AGENTS.md"),
    )
    return [
        NotePlace("This project, for everybody", project),
        NotePlace("This project, for me", mine),
        NotePlace("All my projects", user),
    ]


async def add_note(path: str, note: str) -> None:
    """Put the note on a line of its own at the end of the file, which is made when it is not there.

    Raises:
        UsageError: The file is no plain text file, or cannot be written.
    """
    try:
        await asyncio.to_thread(_add, path, note)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the note was not kept: {path!r} cannot be written: {reason}") from error


def _add(path: str, note: str) -> None:
    text = ""
    path = os.path.realpath(path)
    if os.path.exists(path):
        if not os.path.isfile(path) or os.path.getsize(path) > _MOST_BYTES:
            raise UsageError(f"the note was not kept: {path!r} is not a text file of a usual size")
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    end = "" if not text or text.endswith("\n") else "\n"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
    write_atomic(path, [f"{text}{end}- {note.strip()}\n".encode()], mode=mode)


def _existing(paths: list[str], otherwise: str) -> str:
    return next((path for path in paths if os.path.isfile(path)), otherwise)
