"""The skills and commands of one session: those there from the start, and those that come up with files."""

import os
from collections.abc import Callable, Iterator
from typing import Final

from holdfast.definitions.files import Scan
from holdfast.definitions.listing import LISTING_CHARS, listing_of
from holdfast.definitions.places import Place, Where, is_below, nested_places, places
from holdfast.definitions.skills import Skill, read_skill
from holdfast.lib.gitignore import Pattern
from holdfast.lib.spelling import did_you_mean
from holdfast.lib.visible import visible

__all__ = ["Library", "open_library"]

_NEAREST: Final = 8


class Library:
    """Finds skills by name. A name stands for that of the highest rank; a skill wins over a command."""

    def __init__(self, where: Where, may_read: Callable[[str], bool] | None = None) -> None:
        self._where = where
        self._may_read = may_read
        self._by_name: dict[str, Skill] = {}
        self._short: dict[str, list[Skill]] = {}
        self.hidden: list[Skill] = []
        """Those that another of the same name outranks."""
        self.problems: list[tuple[str, str]] = []
        """Files that do not count, and why."""
        self._waiting: list[Skill] = []
        """Those that wait for a file that their globs fit."""
        self._looked: set[str] = set()
        self._loads = 0

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._by_name.values())

    @property
    def edition(self) -> tuple[int, ...]:
        """Another one where other skills are listed."""
        return self._loads, len(self._by_name), len(self._waiting)

    def find(self, name: str) -> Skill | None:
        """The skill of this name; a command in a subdirectory is also found by its last part, where that is clear."""
        found = self._by_name.get(name)
        if found is None:
            by_last = self._short.get(name.removeprefix("project:").removeprefix("user:"), [])
            found = by_last[0] if len(by_last) == 1 else None
        return found

    def nearest(self, name: str) -> str:
        """What may have been meant by a name that is none."""
        words = [word for word in name.lower().replace(":", "-").replace("_", "-").split("-") if len(word) > 2]
        ranked = sorted(
            ((sum(word in skill.name.lower() for word in words), skill.name) for skill in self if skill.for_model),
            key=lambda one: (-one[0], one[1]),
        )
        close = [visible(found, limit_chars=80) for hits, found in ranked if hits][:_NEAREST]
        if close:
            return f" Nearest: {', '.join(close)}."
        return did_you_mean(name, sorted(self._by_name))

    # -- what a model is told

    def listed(self) -> list[Skill]:
        """Those that a model may use by itself, and that do not wait for a file."""
        waiting = {id(skill) for skill in self._waiting}
        return [skill for skill in self if id(skill) not in waiting and skill.for_model]

    def listing(self, limit_chars: int = LISTING_CHARS) -> str:
        """One line for each, within a limit."""
        return listing_of([(skill.name, skill) for skill in self.listed()], limit_chars)

    # -- loading

    def load(self) -> None:
        """Read every place that counts from the start."""
        self._loads += 1
        scan = Scan(self._may_read)
        for place in places("skills", self._where):
            for head in scan.skills(place):
                self._take(read_skill(head, place, is_command=False))
        for place in places("commands", self._where):
            self._commands(scan, place)
        self.problems += scan.problems

    def load_again(self) -> list[Skill]:
        """Read every place anew; returns those that a model may use by itself and did not know by name."""
        known = set(self._by_name)
        self._by_name, self._short, self.hidden, self.problems = {}, {}, [], []
        self._waiting, self._looked = [], set()
        self.load()
        return [skill for skill in self.listed() if skill.name not in known]

    def for_file(self, path: str) -> list[Skill]:
        """What comes up with this file: skills of its directories, and those whose globs fit it. Each once."""
        real = os.path.realpath(os.path.join(self._where.cwd, path))
        return [*self._nested(os.path.dirname(real)), *self._fitting(real)]

    def _nested(self, directory: str) -> list[Skill]:
        found: list[Skill] = []
        if directory in self._looked:
            return found
        self._looked.add(directory)
        scan = Scan(self._may_read)
        for kind in ("skills", "commands"):
            for place in nested_places(kind, self._where, directory):
                if place.directory in self._looked:
                    continue
                self._looked.add(place.directory)
                before = set(self._by_name)
                if kind == "skills":
                    for head in scan.skills(place):
                        self._take(read_skill(head, place, is_command=False), nested=True)
                else:
                    self._commands(scan, place, nested=True)
                found += [skill for name, skill in self._by_name.items() if name not in before]
        self.problems += scan.problems
        return [skill for skill in found if skill.for_model and skill not in self._waiting]

    def _fitting(self, real: str) -> list[Skill]:
        root = self._where.root
        if not self._waiting or not is_below(real, root):
            return []
        inner = os.path.relpath(real, root)
        found = [skill for skill in self._waiting if any(_fits(glob, inner) for glob in skill.paths)]
        self._waiting = [skill for skill in self._waiting if skill not in found]
        return [skill for skill in found if skill.for_model]

    def _commands(self, scan: Scan, place: Place, *, nested: bool = False) -> None:
        for head in scan.markdown(place):
            if head.name.lower() != "readme":
                self._take(read_skill(head, place, is_command=True), nested=nested)

    def _take(self, skill: Skill, *, nested: bool = False) -> None:
        if skill.name in self._by_name:
            if not nested or self._by_name[skill.name].path == skill.path:
                self.hidden.append(skill)
                return
            above = os.path.relpath(os.path.dirname(os.path.dirname(skill.directory)), self._where.root)
            skill.name = f"{above.replace('/.claude', '').replace('/.holdfast', '')}:{skill.name}"
            if skill.name in self._by_name:
                self.hidden.append(skill)
                return
        self._by_name[skill.name] = skill
        if ":" in skill.name:
            self._short.setdefault(skill.name.rpartition(":")[2], []).append(skill)
        if skill.waits_for_files and skill.paths:
            self._waiting.append(skill)


def _fits(glob: str, inner: str) -> bool:
    return Pattern("/" + glob.removeprefix("./").lstrip("/")).matches(inner)


def open_library(where: Where, may_read: Callable[[str], bool] | None = None) -> Library:
    """The library of a place, loaded."""
    library = Library(where, may_read)
    library.load()
    return library
