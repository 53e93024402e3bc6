"""Merge sources: the higher scalar wins, lists are joined, objects are merged by key; every value keeps its origin."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from holdfast.lib.positions import Array, Json, JsonScalar, Node, Object, Scalar
from holdfast.lib.visible import visible
from holdfast.settings.schema import DOTTED
from holdfast.settings.sources import SourceKind

FrozenJson: TypeAlias = "JsonScalar | tuple[FrozenJson, ...] | Mapping[str, FrozenJson]"
Path: TypeAlias = tuple[str, ...]

# Lists that say "this, in this order" instead of adding up.
REPLACED_LISTS: frozenset[Path] = frozenset({("fallbackModel",), ("availableModels",)})


class Origin(msgspec.Struct, frozen=True):
    """Where a value was written."""

    source: SourceKind
    path: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        """Return `file:line`, or the source's name when there is no file."""
        if self.path is None:
            return self.source.replace("_", " ")
        return f"{visible(self.path)}:{self.line}" if self.line else visible(self.path)


class Layer(msgspec.Struct, frozen=True):
    """The part of one source that counts."""

    kind: SourceKind
    path: str | None
    root: Object

    def origin(self, node: Node) -> Origin:
        """Return the origin of a node of this layer."""
        return Origin(self.kind, self.path, node.line or None)


class Merged(msgspec.Struct, frozen=True):
    """The merged values, deeply immutable, with all origins."""

    values: Mapping[str, FrozenJson]
    origins: Mapping[Path, tuple[Origin, ...]]
    """For a scalar the winner; for a list all that added to it, the highest source last."""

    def get(self, key: str) -> FrozenJson:
        """Return the value of a dotted key, or None."""
        value: FrozenJson = self.values
        for part in key_path(key):
            if not isinstance(value, Mapping) or part not in value:
                return None
            value = value[part]
        return value


def key_path(key: str) -> Path:
    """Split a dotted key; the settings whose own name has a dot stay whole."""
    return (key,) if key in DOTTED else tuple(key.split("."))


def merge(layers: Iterable[Layer]) -> Merged:
    """Merge layers given from the lowest rank to the highest."""
    values: dict[str, Json] = {}
    origins: dict[Path, tuple[Origin, ...]] = {}
    for layer in layers:
        _merge_object(values, layer.root, (), layer=layer, origins=origins)
    return Merged(MappingProxyType({key: freeze(value) for key, value in values.items()}), MappingProxyType(origins))


def _merge_object(
    target: dict[str, Json], node: Object, path: Path, *, layer: Layer, origins: dict[Path, tuple[Origin, ...]]
) -> None:
    for key, inner in node.members.items():
        here = (*path, key)
        old = target.get(key)
        origin = layer.origin(inner)
        if isinstance(inner, Object):
            if not isinstance(old, dict):
                old = target[key] = {}
                _forget(origins, here)
            origins[here] = (*origins.get(here, ()), origin)
            _merge_object(old, inner, here, layer=layer, origins=origins)
        elif isinstance(inner, Array) and isinstance(old, list) and here not in REPLACED_LISTS:
            target[key] = _joined(old, inner)
            origins[here] = (*origins[here], origin)
        else:
            if isinstance(old, dict):
                _forget(origins, here)
            target[key] = inner.plain()
            origins[here] = (origin,)


def _forget(origins: dict[Path, tuple[Origin, ...]], path: Path) -> None:
    for known in [known for known in origins if known[: len(path)] == path]:
        del origins[known]


def _joined(old: list[Json], new: Array) -> list[Json]:
    seen = {_identity(value) for value in old}
    result = list(old)
    for item in new.items:
        value = item.plain()
        identity = _identity(value)
        if identity not in seen:
            seen.add(identity)
            result.append(value)
    return result


def _identity(value: Json) -> object:
    return (type(value), value) if not isinstance(value, dict | list) else canonical(value)


def canonical(value: object) -> bytes:
    """Return one spelling per JSON value, for comparison and hashing."""
    return msgspec.json.encode(value, order="deterministic")


def freeze(value: Json) -> FrozenJson:
    """Return the same JSON value, deeply immutable."""
    if isinstance(value, dict):
        return MappingProxyType({key: freeze(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return tuple(freeze(inner) for inner in value)
    return value


def texts(node: Node | None) -> list[Scalar]:
    """Return the text entries of a list node; entries that are not text were reported by the check and do not count."""
    if not isinstance(node, Array):
        return []
    return [item for item in node.items if isinstance(item, Scalar) and isinstance(item.value, str)]
