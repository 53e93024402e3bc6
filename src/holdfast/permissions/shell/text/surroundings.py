"""What surrounds a command: the directories it may run in, the arguments and variables it may see."""

import posixpath
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.permissions.shell.programs.builtins import FILLS, GOES
from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.parsers.find import printed_by, teller_of, tells_below
from holdfast.permissions.shell.text.word_reader import UNSURE, Reader
from holdfast.permissions.shell.words.parts import SHELL_CWD, Cwds, Part
from holdfast.permissions.shell.words.values import (
    FROM_STDIN,
    MOVED,
    POSITIONS,
    SOMETHING,
    STDIN,
)
from holdfast.permissions.shell.words.word import Word

START: Final[Cwds] = (SHELL_CWD,)
Here = frozenset[str]
"""Directories, as the text names them, of which the disk says that git finds the same repository there as at the start.

Where it is given, even empty, programs count as readers that only the surroundings of a session make harmless.
"""
CHANGING: Final = GOES | FILLS | {"set"}
"""Commands that change the shell itself."""
_MAX_DIRECTORIES: Final = 8
_DEEP: Final = "/a/b/c/d"  # an unknown start is taken to be this deep: climbing further may reach the root
_ROOTS: Final = frozenset({"/", "/proc", "/dev", "/sys"})
_OWN_PLACES: Final = frozenset({"$HOME", "${HOME}", "$PWD", "${PWD}", "$(pwd)", "$(git rev-parse --show-toplevel)"})
SOMEWHERE: Final = "in which directory it reads is known only at run time"
_SPECIAL_PLACES: Final = ("/proc/", "/dev/", "/sys/")


class Surroundings(Reader):
    """Follows directories and values through the text."""

    def __init__(self, view: str, start_cwd: str | None) -> None:
        super().__init__(view)
        self.parts: list[Part] = []
        self.cd_targets: list[str] = []
        self.stdin_texts: list[str] = []
        self.defined: set[str] = set()
        self.start_cwd = start_cwd
        self.cwds: Cwds = START
        self.ok: Cwds = START
        self.fail: Cwds = START
        self.piped = False
        self.physical = False
        self.lost = False
        self.here: Here | None = None
        self.parent = -1

    def forget(self, known: int) -> None:
        """Forget all but the first variables that are known: others may not be set for what follows."""
        while len(self.variables) > known:
            self.variables.popitem()

    def settle(self) -> None:
        """Note that a statement ended without moving to another directory."""
        self.ok = self.fail = self.cwds

    def merge(self, one: Cwds, two: Cwds) -> Cwds:
        """Join two sets of possible directories."""
        if one is two or one == two:
            return one
        if one is None or two is None:
            return None
        both = tuple(dict.fromkeys(one + two))
        return both if len(both) <= _MAX_DIRECTORIES else None

    def change(self, base: str, argv: "tuple[Word, ...]", texts: "Sequence[str]") -> None:
        """Follow a command that changes the shell itself: its directory, its variables, its arguments."""
        if base in GOES:
            self.change_directory(base, argv, texts)
        elif base in FILLS:
            for word in argv[1:]:
                self.variables[word.text] = UNSURE
                self.note_value(word.text, FROM_STDIN)
            teller = teller_of(self.parts, len(self.parts) - 1)
            if teller is not None and tells_below(teller):
                self.note_value(STDIN, SOMETHING)
            for target in printed_by(teller) if teller is not None else ():
                self.note_value(STDIN, SOMETHING if target.narrowed else target.form)
        else:
            self.give_arguments(texts[1:])

    def give_arguments(self, forms: "Sequence[str]") -> None:
        """Note what `$1`, `$@` and their kin may stand for."""
        for form in forms:
            if not form.startswith("-"):
                for name in POSITIONS:
                    self.note_value(name, form)

    def told(self) -> "dict[str, list[str]]":
        """Every value that the text gives to a variable, with what it writes to its own input."""
        for text in self.stdin_texts:
            for word in text.split():
                self.note_value(STDIN, word)
        return self.values

    def special_place(self, facts: "CommandFacts") -> str | None:
        """Why reading in the root or among devices and processes is refused, or None."""
        for place in self._special_places():
            wide = facts.reads_unknown or (facts.kind == "search" and not facts.reads)
            for path in facts.reads:
                wide = wide or posixpath.normpath(posixpath.join(place, path)) in _ROOTS
            if wide and facts.kind != "list":
                return f"it reads whatever is in {place}, where devices and processes are"
        return None

    def among_devices(self) -> bool:
        """Whether names without a directory may be those of devices and processes."""
        return next(self._special_places(), None) is not None

    def _special_places(self) -> "Iterator[str]":
        for directory in self.cwds or ():
            place = posixpath.normpath(posixpath.join(self.start_cwd or _DEEP, directory))
            if place.startswith(_SPECIAL_PLACES) or place in _ROOTS:
                yield place

    def at_start(self) -> bool:
        """Whether every possible directory is the one the text started in."""
        start = self.start_cwd
        return self.cwds is not None and all(cwd in (SHELL_CWD, start) for cwd in self.cwds)

    def in_repository(self) -> bool:
        """Whether git surely finds the repository that it finds at the start."""
        here = self.here
        return here is not None and self.cwds is not None and here.issuperset(self.cwds)

    def known_place(self, target: "Word | None", form: str) -> bool:
        """Whether a directory that only a value names is below, as far as the text tells, or one of the user's."""
        if target is None or (target.static and target.text == "-"):
            return all(map(_is_below, self.cd_targets))
        if target.static or (target.glob and target.text[:1] != "/" and "$" not in form and "`" not in form):
            return True
        name = form.strip('"').partition("/")[0] if ".." not in form else ""
        if name in _OWN_PLACES:
            return True
        variable = name.lstrip("$").strip("{}") if name.startswith("$") else ""
        known = self.variables.get(variable)
        return known is not None and known.ordinary and all(map(_is_below, self.values.get(variable, ())))

    def somewhere(self, facts: "CommandFacts") -> str | None:
        """Why reading in a directory that only a value names is refused, or None."""
        wide = facts.reads_unknown or facts.kind == "search"
        return SOMEWHERE if wide and self.lost and self.cwds is None else None

    def moved(self, places: "Sequence[str | None]") -> Cwds:
        """The directories that a wrapper goes to before it starts a command; it asks the kernel, not the shell."""
        found: dict[str, None] = {}
        for place in places:
            if place is None or place[:1] == "~" or (self.cwds is None and place[:1] != "/"):
                return None
            for directory in self.cwds or (SHELL_CWD,):
                # What `..` means behind a link only the disk knows, so that it stays.
                climbs = ".." in place.split("/")
                reached = (
                    posixpath.join(directory, place) if climbs else _join(directory, place) if place else directory
                )
                found[reached] = None
        return tuple(found) if len(found) <= _MAX_DIRECTORIES else None

    def change_directory(self, base: str, argv: "tuple[Word, ...]", texts: "Sequence[str]") -> None:
        """Follow cd and pushd; what the text does not tell makes the directory unknown."""
        operands = [word for word in argv[1:] if not (word.static and word.text in ("-L", "-P", "--"))]
        target = operands[0] if len(operands) == 1 else None
        self.physical = self.physical or any(word.static and word.text == "-P" for word in argv[1:])
        new: Cwds = None
        if target is not None and target.static and target.text not in ("-", ""):
            self.cd_targets.append(target.text)
            plain = base == "cd" or not target.text.startswith(("+", "-"))
            # With -P the shell is where a link leads, and what is above that the text does not tell.
            lost = self.physical and ".." in target.text.split("/")
            lost = lost or ("CDPATH" in self.values and not target.text.startswith(("/", "./", "../")))
            if plain and not lost and self.cwds is not None:
                new = tuple(dict.fromkeys(_join(directory, target.text) for directory in self.cwds))
        elif base == "cd" and not operands:
            self.cd_targets.append("~")
        else:
            self.lost = self.lost or not self.known_place(target, texts[-1])
            self.cd_targets.append("")
            for form, word in zip(texts[1:], argv[1:], strict=True):
                if not word.static:
                    self.note_value(MOVED, form)
        self.ok = new
        # A cd that cannot print where it went (`cd - >&-`, CDPATH) fails and is there all the same.
        self.fail = self.merge(new, self.cwds)
        if self.parent >= 0:
            self.ok = self.fail


def _is_below(target: str) -> bool:
    return target[:1] not in ("/", "~", "$", "`", '"', "") and ".." not in target


def _join(directory: str, target: str) -> str:
    path = posixpath.normpath(posixpath.join(directory, target))
    # The way there and back may end elsewhere: with CDPATH in the environment, `cd sub` need not go to `./sub`.
    return SHELL_CWD if path == "." and directory == SHELL_CWD and ".." not in target else path
