"""Lines of ignore files by which a search opens hidden files after all: `!.env` in a `.gitignore`."""

import os
from collections.abc import Iterator
from typing import Final

from holdfast.lib.name_glob import fnmatchcase

__all__ = ["is_asked_for"]

_IGNORE_FILES: Final = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_MAX_BYTES: Final = 1_000_000
_UNCLEAR: Final = frozenset("[\\")


def is_asked_for(path: str, home: str) -> bool:
    """Whether a line of the ignore files around a hidden file, or of the user's own, brings it back.

    Args:
        path: the file, absolute.
        home: the user's home.
    """
    hidden = [name for name in path.split("/") if name.startswith(".")]
    return any(_may_match(line, name) for line in _lines(path, home) for name in hidden)


def _may_match(line: str, name: str) -> bool:
    if not _UNCLEAR.isdisjoint(line):
        return True
    return fnmatchcase(name, line.rstrip().rstrip("/").rpartition("/")[2])


def _lines(path: str, home: str) -> Iterator[str]:
    """What stands behind `!`; a file too large to be read counts as asking for everything."""
    files = [f"{home}/.config/git/ignore", f"{home}/.gitignore_global"]
    here = os.path.dirname(path)
    while True:
        files += [os.path.join(here, name) for name in _IGNORE_FILES]
        if here == os.path.dirname(here):
            break
        here = os.path.dirname(here)
    for name in filter(os.path.isfile, files):  # a pipe would never end
        try:
            with open(name, "rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except OSError:
            continue
        if len(data) > _MAX_BYTES:
            yield "*"
        lines = os.fsdecode(data).removeprefix("\ufeff").splitlines()
        yield from (line[1:] for line in lines if line.startswith("!"))
