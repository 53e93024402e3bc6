"""Keep other people's text apart from ours: it can neither end its own fence nor speak in our name."""

import re
from typing import Final

from holdfast.agent.prompt.reading import InstructionFile
from holdfast.lib.visible import visible

__all__ = ["defused", "fenced"]

# Tags that only this program may write. A look-alike in other people's text gets a backslash and is one no longer.
_OURS: Final = re.compile(r"<(?=\s{0,8}/?\s{0,8}(?:system-reminder|instructions)\b)", re.IGNORECASE)
_OWNERS: Final = {
    "managed": "the organisation",
    "user": "the user, for all projects",
    "project": "the project",
    "local": "the user, for this project",
}


def defused(text: str) -> str:
    """Return other people's text in which nothing reads as a tag of ours."""
    return _OURS.sub(r"<\\", text)


def fenced(file: InstructionFile) -> str:
    """Show one instruction file with its source."""
    by = "" if file.imported_by is None else f" imported-by={_quoted(file.imported_by)}"
    head = f'<instructions file={_quoted(file.path)} from="{_OWNERS[file.kind]}"{by}>'
    return f"{head}\n{defused(file.text)}\n</instructions>"


def _quoted(path: str) -> str:
    shown = visible(path)
    for char, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        shown = shown.replace(char, entity)
    return f'"{shown}"'
