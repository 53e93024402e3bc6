"""The files behind patterns, within bounds for all patterns of one command together."""

import os
from typing import TYPE_CHECKING, Final

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.shell.words.patterns import WILD

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LISTED: Final = 10_000
"""So many entries of directories are compared with the patterns of one command."""
MAX_MATCHED: Final = 1_000
"""So many files behind the patterns of one command are held against rules."""


class Globber:
    """Compares the patterns of one command with what is on the disk, within bounds for all of them together."""

    __slots__ = ("_found", "_left", "exhausted")

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}
        self._left = MAX_LISTED
        self.exhausted = False
        """There was too much to look through: what was found is not all."""

    def files(self, pattern: str, directory: str) -> list[str]:
        """The files behind a pattern, links and directories too.

        Args:
            pattern: in the syntax of `fnmatch`, relative or absolute.
            directory: where a relative pattern starts.
        """
        key = (pattern, directory)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._walk(pattern, directory)
            self.exhausted = self.exhausted or sum(map(len, self._found.values())) > MAX_MATCHED
        return found[:MAX_MATCHED]

    def _walk(self, pattern: str, directory: str) -> list[str]:
        places = ["" if pattern.startswith("/") else directory.rstrip("/")]
        sure = True
        for segment in pattern.split("/"):
            if not segment:
                continue
            if not WILD.isdisjoint(segment):
                places, sure = [f"{place}/{name}" for place in places for name in self._names(place, segment)], False
            else:
                places = [f"{place}/{segment}" for place in places]
                places = places if sure else [place for place in places if os.path.lexists(place)]
        return places

    def _names(self, place: str, segment: str) -> "Iterator[str]":
        hidden = segment.startswith(".")
        if hidden:  # older shells match these too
            yield from (name for name in (".", "..") if fnmatchcase(name, segment))
        try:
            with os.scandir(place or "/") as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        self.exhausted = True
                        return
                    if (hidden or entry.name[0] != ".") and fnmatchcase(entry.name, segment):
                        yield entry.name
        except OSError:
            return
