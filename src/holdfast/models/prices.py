"""What tokens cost, in US dollars for a million of them. List prices as the providers published them on `AS_OF`."""

from typing import NamedTuple

from holdfast.models.interface import Usage

__all__ = ["AS_OF", "Price", "known_models", "price_of", "usage_cost_usd"]

AS_OF = "2026-11-15"


class Price(NamedTuple):
    """Dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_from: int = 0
    """Above so many tokens of input, everything costs `long_factor` times as much; 0: never."""
    long_factor: float = 1.0


def _claude(input_usd: float, output_usd: float, cache_read: float | None = None) -> Price:
    """Writing to the cache for five minutes costs a quarter more than input, reading a tenth unless said."""
    return Price(input_usd, output_usd, input_usd / 10 if cache_read is None else cache_read, input_usd * 1.25)


def _gpt(input_usd: float, output_usd: float, cache_read: float, cache_write: float | None = None) -> Price:
    return Price(input_usd, output_usd, cache_read, input_usd if cache_write is None else cache_write)


# By the beginning of a name; the longest that fits counts. A name is missing where its price is not known to us.
_PRICES: dict[str, Price] = {
    "claude-fable-5-1": _claude(10, 50),
    "claude-opus-5-5": _claude(4, 20, 0.20),
    "claude-opus-5": _claude(5, 25),
    "claude-opus-4-8": _claude(5, 25),
    "claude-opus-4-7": _claude(5, 25),
    "claude-opus-4-6": _claude(5, 25),
    "claude-opus-4-5": _claude(5, 25),
    "claude-opus-4-1": _claude(15, 75),
    "claude-opus-4": _claude(15, 75),
    "claude-sonnet-5-5": _claude(2, 10),
    "claude-sonnet-5": _claude(2, 10),
    "claude-sonnet-4-6": _claude(3, 15),
    "claude-sonnet-4-5": _claude(3, 15),
    "claude-sonnet-4": _claude(3, 15),
    "claude-3-7-sonnet": _claude(3, 15),
    "claude-3-5-sonnet": _claude(3, 15),
    "claude-haiku-5-5": Price(0.10, 0.50, 0.01, 0.125, long_from=100_000, long_factor=5.0),
    "claude-haiku-4-5": _claude(1, 5),
    "claude-3-5-haiku": _claude(0.80, 4),
    "claude-3-haiku": Price(0.25, 1.25, 0.03, 0.30),
    "gpt-6-sol": _gpt(2, 10, 0.20, 2.50),
    "gpt-6-luna": _gpt(0.10, 0.50, 0.01, 0.125),
    "gpt-5.6-sol": _gpt(5, 30, 0.50),
    "gpt-5.6-terra": _gpt(2.50, 15, 0.25),
    "gpt-5.6-luna": _gpt(1, 6, 0.10),
    "gpt-5.5": _gpt(5, 30, 0.50),
    "gpt-5.4": _gpt(2.50, 15, 0.25),
    "gpt-5.4-mini": _gpt(0.75, 4.50, 0.075),
    "gpt-5.4-nano": _gpt(0.20, 1.25, 0.02),
    "gpt-5.1": _gpt(1.25, 10, 0.125),
    "gpt-5": _gpt(1.25, 10, 0.125),
    "gpt-5-mini": _gpt(0.25, 2, 0.025),
    "gpt-5-nano": _gpt(0.05, 0.40, 0.005),
    "gpt-4.1": _gpt(2, 8, 0.50),
    "gpt-4.1-mini": _gpt(0.40, 1.60, 0.10),
    "gpt-4.1-nano": _gpt(0.10, 0.40, 0.025),
    "gpt-4o": _gpt(2.50, 10, 1.25),
    "gpt-4o-mini": _gpt(0.15, 0.60, 0.075),
    "o3": _gpt(2, 8, 0.50),
    "o4-mini": _gpt(1.10, 4.40, 0.275),
}
_SUFFIX_STARTS = frozenset("-@:")
_VARIANTS = ("-pro", "-audio", "-realtime", "-search", "-deep-research", "-mini", "-nano", "-fast")
"""A longer name of this kind is another product: better no price than a wrong one."""


def known_models() -> tuple[str, ...]:
    """Every model whose price is known, by name."""
    return tuple(_PRICES)


def price_of(model: str) -> Price | None:
    """The price of a model by its name, with or without a date or `provider/` before it; None where unknown."""
    name = model.rpartition("/")[2].lower()
    for known in sorted(_PRICES, key=len, reverse=True):
        rest = name[len(known) :]
        if name.startswith(known) and (not rest or rest[0] in _SUFFIX_STARTS):
            return None if rest.startswith(_VARIANTS) or _is_newer(rest) else _PRICES[known]
    return None


def _is_newer(rest: str) -> bool:
    """`-9` behind `claude-sonnet-5` is a later version, `-20260101` only a date."""
    version = rest[1:].partition("-")[0]
    return version.isdigit() and len(version) < 4


def usage_cost_usd(price: Price | None, usage: Usage) -> float | None:
    """What a usage costs at this price."""
    if price is None:
        return None
    total = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
    ) / 1_000_000
    sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return total * price.long_factor if price.long_from and sent > price.long_from else total
