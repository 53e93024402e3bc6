"""Find the path rules that cover a path among thousands, by what every matching path must contain.

A pattern is filed under its literal leading directory, under a component it asks for, or under how such a component
starts or ends. One pass over the path collects the few candidates; only those are matched.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from holdfast.lib.gitignore import Pattern, Shape, as_bytes_text, fold_case
from holdfast.permissions.path_rules import climb, pattern_of, relative_to

__all__ = ["Filed", "PathIndex"]

_T = TypeVar("_T")


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


class _View(NamedTuple):
    """One path, prepared for all candidates."""

    text: str
    names: Sequence[str]
    cwds: Sequence[str]
    grant_cwds: Sequence[str]
    is_dir: bool | None


class PathIndex(Generic[_T]):
    """Patterns with values; `find` gives the values of all patterns that cover a path."""

    __slots__ = ("_absolute", "_always", "_component", "_filed", "_folded", "_heads", "_relative", "_tails")

    def __init__(self, filed: Iterable[Filed[_T]]) -> None:
        self._filed = tuple(filed)
        self._folded: PathIndex[_T] | None = None
        self._absolute: _Drawer[_T] = {}
        self._relative: _Drawer[_T] = {}
        self._component: _Drawer[_T] = {}
        self._heads: dict[int, _Drawer[_T]] = {}
        self._tails: dict[int, _Drawer[_T]] = {}
        self._always: list[_Entry[_T]] = []
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
        drawer, key = min(places, key=lambda place: len(place[0].get(place[1], ())))
        drawer.setdefault(key, []).append(entry)

    def _places(self, shape: Shape, root: str | None, up: int) -> list[tuple[_Drawer[_T], str]]:
        """Every place where a pattern would be found; each holds for all paths that it matches."""
        places: list[tuple[_Drawer[_T], str]] = []
        if shape.directory and root is not None:
            places.append((self._absolute, ("" if root == "/" else root) + "/" + "/".join(shape.directory)))
        elif shape.directory and not up:
            places.append((self._relative, "/".join(shape.directory)))
        places += [(self._component, name) for name in shape.components]
        for text in shape.tails:
            size = _key_size(text)
            places.append((self._tails.setdefault(size, {}), text[-size:]))
        for text in shape.heads:
            size = _key_size(text)
            places.append((self._heads.setdefault(size, {}), text[:size]))
        return places

    def __bool__(self) -> bool:
        return bool(self._filed)

    def find(self, path: str, *, cwds: Sequence[str], grant_cwds: Sequence[str], is_dir: bool | None) -> list[_T]:
        """The values of every pattern that covers the absolute `path`.

        Args:
            path: Absolute and normalised.
            cwds: Where relative patterns are anchored.
            grant_cwds: The same for patterns that grant.
            is_dir: None when it is not known; then only patterns that do not grant take it for a directory.
        """
        if not self._filed:
            return []
        text = as_bytes_text(path)
        view = _View(text, text.split("/")[1:], cwds, grant_cwds, is_dir)
        return [entry.value for entry in self._candidates(view) if _covers(entry, view)]

    def find_folded(self, path: str, *, cwds: Sequence[str], is_dir: bool | None) -> list[_T]:
        """As `find` for a disk on which case does not count; patterns that grant are left out."""
        if self._folded is None:
            self._folded = PathIndex(
                Filed(_fold_pattern(item.pattern), item.root and fold_case(item.root), item.value, item.up)
                for item in self._filed
                if not item.grants
            )
        folded_cwds = [fold_case(cwd) for cwd in cwds]
        return self._folded.find(fold_case(path), cwds=folded_cwds, grant_cwds=(), is_dir=is_dir)

    def _candidates(self, view: _View) -> Iterator[_Entry[_T]]:
        names = view.names
        component = self._component
        if component:
            for name in names:
                if name in component:
                    yield from component[name]
        for size, drawer in self._tails.items():
            if drawer:
                yield from _drawn(drawer, [name[-size:] for name in names])
        for size, drawer in self._heads.items():
            if drawer:
                yield from _drawn(drawer, [name[:size] for name in names])
        if self._absolute:
            yield from _prefixed(self._absolute, view.text, 1)
        if self._relative:
            yield from self._relatives(view)
        yield from self._always

    def _relatives(self, view: _View) -> Iterator[_Entry[_T]]:
        for cwd in {*view.cwds, *view.grant_cwds}:
            below = relative_to(as_bytes_text(cwd), view.text)
            if below:
                yield from _prefixed(self._relative, below, 0)


def _key_size(text: str) -> int:
    """Few different sizes, so that a path is cut into few keys."""
    return next(size for size in (16, 8, 4, 2, 1) if len(text) >= size)


def _drawn(drawer: _Drawer[_T], keys: Sequence[str]) -> Iterator[_Entry[_T]]:
    for key in keys:
        if key in drawer:
            yield from drawer[key]


def _prefixed(filed: _Drawer[_T], text: str, start: int) -> Iterator[_Entry[_T]]:
    """The entries filed under the path or a directory above it."""
    end = text.find("/", start)
    while end >= 0:
        prefix = text[:end]
        if prefix in filed:
            yield from filed[prefix]
        end = text.find("/", end + 1)
    if text in filed:
        yield from filed[text]


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
