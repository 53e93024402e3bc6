"""What a usage costs at a price, in US dollars."""

from typing import NamedTuple

from holdfast.models.interface import Usage

__all__ = ["Price", "usage_cost_usd"]


class Price(NamedTuple):
    """Dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_from: int = 0
    """Above so many tokens of input, everything costs `long_factor` times as much; 0: never."""
    long_factor: float = 1.0


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
