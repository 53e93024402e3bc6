"""What is known of models by name: list prices and context windows, from `catalog.json`, each with its date."""

import os
from functools import cache

import msgspec

from holdfast.models.options import ModelOptions
from holdfast.models.prices import Price

__all__ = ["KnownModel", "as_of", "known_models", "price_for", "price_of", "window_of"]

_SUFFIX_STARTS = frozenset("-@:")
_VARIANTS = ("-pro", "-audio", "-realtime", "-search", "-deep-research", "-mini", "-nano", "-fast", "-lite", "-image")
"""A longer name of this kind is another product: better no price than a wrong one."""


class KnownModel(msgspec.Struct, frozen=True):
    """One model whose price is known, by the beginning of its name; the longest that fits counts."""

    name: str
    input: float
    """Dollars for a million tokens, as the provider's list has them."""
    output: float
    cache_read: float
    cache_write: float
    long_from: int = 0
    long_factor: float = 1.0
    long_output_factor: float = 0.0
    as_of: str = ""
    """When this was looked up; empty: with the others."""
    source: str = ""
    """Where it was looked up, if not on the provider's own page."""

    @property
    def price(self) -> Price:
        """What its tokens cost."""
        return Price(
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
            long_from=self.long_from,
            long_factor=self.long_factor,
            long_output_factor=self.long_output_factor,
        )


class _Catalog(msgspec.Struct, frozen=True):
    as_of: str
    models: tuple[KnownModel, ...]
    windows: dict[str, int]
    """By the beginning of a name. Those of Claude follow from its version, see `claude.py`."""


@cache
def _catalog() -> _Catalog:
    with open(os.path.join(os.path.dirname(__file__), "catalog.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=_Catalog)


def as_of() -> str:
    """When the list was looked up."""
    return _catalog().as_of


def known_models() -> tuple[KnownModel, ...]:
    """Every model whose price is known."""
    return _catalog().models


@cache
def price_of(model: str) -> Price | None:
    """The list price of a model by its name, with or without a date or `provider/` before it; None where unknown."""
    name = model.rpartition("/")[2].lower()
    for known in sorted(_catalog().models, key=lambda known: len(known.name), reverse=True):
        rest = name[len(known.name) :]
        if name.startswith(known.name) and (not rest or rest[0] in _SUFFIX_STARTS):
            return None if rest.startswith(_VARIANTS) or _is_newer(rest) else known.price
    return None


def price_for(model: str, options: ModelOptions, *, is_listed: bool = True) -> Price | None:
    """The price that counts: the settings' own, else the list's where it is the provider's own server."""
    own = options.price
    if own is not None:
        read = own.input if own.cache_read is None else own.cache_read
        return Price(own.input, own.output, read, own.input if own.cache_write is None else own.cache_write)
    return price_of(model) if is_listed else None


def window_of(model: str) -> int | None:
    """The context window by the beginning of the name, the longest that fits; None where unknown."""
    name = model.rpartition("/")[2].lower()
    windows = _catalog().windows
    return windows.get(max((known for known in windows if name.startswith(known)), key=len, default=""))


def _is_newer(rest: str) -> bool:
    """`-9` behind `claude-sonnet-5` is a later version, `-20260101` only a date."""
    version = rest[1:].partition("-")[0]
    return version.isdigit() and len(version) < 4
