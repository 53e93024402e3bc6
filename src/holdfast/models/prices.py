"""What a usage costs at a price, in US dollars."""

import msgspec

from holdfast.models.interface import Usage

__all__ = ["Price", "usage_cost_usd"]


class Price(msgspec.Struct, frozen=True):
    """Dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_from: int = 0
    """Above this many tokens of input, everything costs `long_factor` times as much; 0: never."""
    long_factor: float = 1.0
    long_output_factor: float = 0.0
    """The same for output, where it is another one; 0: it is not."""


def usage_cost_usd(price: Price | None, usage: Usage) -> float | None:
    """What a usage costs at this price."""
    if price is None:
        return None
    read = (
        usage.input_tokens * price.input
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
    )
    written = usage.output_tokens * price.output
    sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if price.long_from and sent > price.long_from:
        read *= price.long_factor
        written *= price.long_output_factor or price.long_factor
    return (read + written) / 1_000_000
