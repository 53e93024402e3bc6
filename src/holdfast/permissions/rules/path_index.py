"""Find the path rules that cover a path among thousands, by what every matching path must contain.

A pattern is filed under its literal leading directory, under a component it asks for, or under how such a component
starts or ends. One pass over the path collects the few candidates; only those are matched.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from holdfast.lib.gitignore import Pattern, Shape, as_bytes_text, fold_case
from holdfast.permissions.rules.path_patterns import climb, pattern_of, relative_to

_T = TypeVar("_T")
_V = TypeVar("_V")
_MAX_ANSWERS: Final = 2_048
_MAX_PATH_CHARS: Final = 4_096
_CROWDED: Final = 4
"""A place with this many patterns is left for an emptier one."""


class Filed(NamedTuple, Generic[_T]):
    """One pattern to be indexed."""

    pattern: str
    """Gitignore pattern below the root; empty: the root and all it holds."""
    root: str | None
    """The directory that anchors it; none: the working directory of the call."""
    value: _T
    up: int = 0
    """How many directories above the working directory it is anchored."""
    grants: bool = False
    """An allow rule: needs certainty where the others need only the possibility."""


class _Entry(NamedTuple, Generic[_T]):
    pattern: Pattern | None
    root: str | None
    value: _T
    up: int
    grants: bool


_Drawer: TypeAlias = dict[str, list[_Entry[_T]]]


class _Node(Generic[_T]):
    """A directory in the tree of literal leading directories."""

    __slots__ = ("below", "entries")

    def __init__(self) -> None:
        self.below: dict[str, _Node[_T]] = {}
        self.entries: list[_Entry[_T]] = []

    def at(self, names: Iterable[str]) -> "_Node[_T]":
        """The node of a directory, made where it is missing."""
        node = self
        for name in names:
            node = node.below.setdefault(name, _Node())
        return node

    def along(self, names: Sequence[str]) -> "_Way[_T]":
        """The entries of every directory on the way down, and where the way ends in the tree."""
        found: list[_Entry[_T]] = []
        node: _Node[_T] | None = self
        for name in names:
            node = node.below.get(name)
            if node is None:
                break
            found += node.entries
        return _Way(found, None if node is None else node.below)


class _Way(NamedTuple, Generic[_T]):
    """What is filed along a directory, and what is filed below it."""

    entries: list[_Entry[_T]]
    below: dict[str, _Node[_T]] | None


class _Place(NamedTuple, Generic[_T]):
    """What the index knows about all paths in one directory."""

    names: list[str]
    ways: tuple[_Way[_T], ...]
    named: list[_Entry[_T]]
    """Filed under one of the directory's components."""


class _View(NamedTuple):
    """One path, prepared for all candidates."""

    text: str
    """The path as byte text."""
    names: Sequence[str]
    cwds: Sequence[str]
    grant_cwds: Sequence[str]
    is_dir: bool | None


class PathIndex(Generic[_T]):
    """Patterns with values; `find` gives the values of all patterns that cover a path."""

    __slots__ = (
        "_absolute", "_always", "_answers", "_component", "_filed", "_folded", "_heads", "_known_places", "_relative",
        "_tails",
    )  # fmt: skip

    def __init__(self, filed: Iterable[Filed[_T]]) -> None:
        self._filed = tuple(filed)
        self._folded: PathIndex[_T] | None = None
        self._answers: dict[tuple[object, ...], tuple[_T, ...]] = {}
        self._absolute: _Node[_T] = _Node()
        self._relative: _Node[_T] = _Node()
        self._component: _Drawer[_T] = {}
        self._heads: dict[int, _Drawer[_T]] = {}
        self._tails: dict[int, _Drawer[_T]] = {}
        self._always: list[_Entry[_T]] = []
        self._known_places: dict[tuple[object, ...], _Place[_T]] = {}
        for item in self._filed:
            self._file(item)

    def _file(self, item: Filed[_T]) -> None:
        root = None if item.root is None else as_bytes_text(item.root)
        pattern = pattern_of(item.pattern) if item.pattern else None
        entry = _Entry(pattern, root, item.value, item.up, item.grants)
        places = self._places(pattern.shape(), root, item.up) if pattern is not None else []
        if not places:
            self._always.append(entry)
            return
        # The emptiest place: there the pattern is tried for the fewest paths.
        min(places, key=len).append(entry)

    def _places(self, shape: Shape, root: str | None, up: int) -> list[list[_Entry[_T]]]:
        """Every place where a pattern may be filed; each is looked at for all paths that the pattern matches."""
        places: list[list[_Entry[_T]]] = []
        if shape.directory and root is not None:
            places.append(self._absolute.at([*(root.split("/")[1:] if root != "/" else ()), *shape.directory]).entries)
        elif shape.directory and not up:
            places.append(self._relative.at(shape.directory).entries)
        if not _crowded(places):
            return places
        places += [self._component.setdefault(name, []) for name in shape.components]
        if _crowded(places):
            for text in shape.tails:
                size = _key_size(text)
                places.append(self._tails.setdefault(size, {}).setdefault(text[-size:], []))
        if _crowded(places):
            for text in shape.heads:
                size = _key_size(text)
                places.append(self._heads.setdefault(size, {}).setdefault(text[:size], []))
        return places

    def __bool__(self) -> bool:
        return bool(self._filed)

    def find(
        self, path: str, *, cwds: tuple[str, ...], grant_cwds: tuple[str, ...], is_dir: bool | None
    ) -> tuple[_T, ...]:
        """The values of every pattern that covers the absolute `path`.

        Args:
            path: Absolute and normalised.
            cwds: Where relative patterns are anchored.
            grant_cwds: The same for patterns that grant.
            is_dir: None when it is not known; then only patterns that do not grant take it for a directory.
        """
        if not self._filed:
            return ()
        directory, _, name = path.rpartition("/")
        place = self._known_places.get((directory, cwds, grant_cwds))
        if place is None:
            place = self._place(directory, cwds, grant_cwds)
        name = name if name.isascii() else as_bytes_text(name)
        found = self._candidates(place, name)
        if not found:
            return ()
        key = (path, cwds, grant_cwds, is_dir)
        known = self._answers.get(key)
        if known is None:
            view = _View(as_bytes_text(path), [*place.names, name], cwds, grant_cwds, is_dir)
            known = tuple([entry.value for entry in found if _covers(entry, view)])
            _remember(self._answers, key, known, size=len(path))
        return known

    def find_folded(self, path: str, *, cwds: tuple[str, ...], is_dir: bool | None) -> tuple[_T, ...]:
        """As `find` for a disk on which case does not count; patterns that grant are left out."""
        if self._folded is None:
            self._folded = PathIndex(
                Filed(_fold_pattern(item.pattern), item.root and fold_case(item.root), item.value, item.up)
                for item in self._filed
                if not item.grants
            )
        folded_cwds = tuple([fold_case(cwd) for cwd in cwds])
        return self._folded.find(fold_case(path), cwds=folded_cwds, grant_cwds=(), is_dir=is_dir)

    def _place(self, directory: str, cwds: tuple[str, ...], grant_cwds: tuple[str, ...]) -> _Place[_T]:
        """What every path in a directory shares, worked out once."""
        names = as_bytes_text(directory).split("/")[1:]
        ways = [_Way(self._always, None), self._absolute.along(names)]
        if self._relative.below:
            ways += [
                self._relative.along(names[0 if cwd == "/" else cwd.count("/") :])
                for cwd in dict.fromkeys((*cwds, *grant_cwds))
                if relative_to(cwd, directory) is not None
            ]
        ways = [way for way in ways if way.entries or way.below]
        # Each entry once, however often its name stands in the path: a path may repeat one half a million times.
        once = {id(entry): entry for name in dict.fromkeys(names) for entry in self._entries_of(name)}
        named = list(once.values())
        place = _Place(names, tuple(ways), named)
        _remember(self._known_places, (directory, cwds, grant_cwds), place, size=len(directory))
        return place

    def _candidates(self, place: _Place[_T], name: str) -> Sequence[_Entry[_T]]:
        """Every entry that may cover the path with this name in this place, in the order of the directories."""
        filed = self._entries_of(name)
        found: list[_Entry[_T]] = []
        for entries, below in place.ways:
            if entries:
                found += entries
            if below is not None and name in below:
                found += below[name].entries
        if not (found or place.named):
            return filed
        return [*found, *place.named, *filed]

    def _entries_of(self, name: str) -> Sequence[_Entry[_T]]:
        """What is filed under a component, by all of it, how it ends or how it starts."""
        entries: Sequence[_Entry[_T]] = self._component.get(name, ())
        for size, drawer in self._tails.items():
            more = drawer.get(name[-size:])
            if more:
                entries = [*entries, *more]
        for size, drawer in self._heads.items():
            more = drawer.get(name[:size])
            if more:
                entries = [*entries, *more]
        return entries


def _remember(known: dict[tuple[object, ...], _V], key: tuple[object, ...], value: _V, *, size: int) -> None:
    """Keep an answer; few, and none about a path that no disk can have, so that memory stays bounded."""
    if size > _MAX_PATH_CHARS:
        return
    if len(known) >= _MAX_ANSWERS:
        known.clear()
    known[key] = value


def _crowded(places: Sequence[Sequence[object]]) -> bool:
    """Whether another place is worth its look-ups."""
    return all(len(place) >= _CROWDED for place in places)


def _key_size(text: str) -> int:
    """Few different sizes, so that a path is cut into few keys."""
    return next(size for size in (16, 8, 4, 2, 1) if len(text) >= size)


def _covers(entry: _Entry[_T], view: _View) -> bool:
    if entry.root is not None:
        return _covers_below(entry, entry.root, view)
    cwds = view.grant_cwds if entry.grants else view.cwds
    return any(_covers_below(entry, as_bytes_text(climb(cwd, entry.up)), view) for cwd in cwds)


def _covers_below(entry: _Entry[_T], root: str, view: _View) -> bool:
    below = relative_to(root, view.text)
    if below is None:
        return False
    if entry.pattern is None:
        return True
    if not below:
        return False
    is_dir = view.is_dir is True if entry.grants else view.is_dir is not False
    depth = 0 if root == "/" else root.count("/")
    return entry.pattern.matches_names(view.names[depth:], is_dir=is_dir)


def _fold_pattern(pattern: str) -> str:
    return fold_case(pattern).replace("[:upper:]", "[:alpha:]")
