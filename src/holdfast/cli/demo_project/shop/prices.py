"""What things cost and weigh."""

PRICES = {"rope": 12.50, "anchor": 89.00, "buoy": 24.00, "lantern": 31.75}
WEIGHTS_KG = {"rope": 1.5, "anchor": 18.0, "buoy": 2.5, "lantern": 0.8}


def price_of(item: str) -> float:
    """The price of one item."""
    return PRICES[item]


def weight_of(item: str) -> float:
    """The weight of one item in kilograms."""
    return WEIGHTS_KG[item]
