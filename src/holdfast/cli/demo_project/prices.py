"""What things cost in a small shop."""

PRICES = {"rope": 12.50, "anchor": 89.00, "buoy": 24.00, "lantern": 31.75}


def price_of(item: str) -> float:
    """The price of one item."""
    return PRICES[item]
