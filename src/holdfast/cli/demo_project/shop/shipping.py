"""What it costs to send an order."""

from shop.prices import weight_of

LIGHT_KG = 20.0
LIGHT, HEAVY = 9.90, 24.90


def shipping_for(items: list[str]) -> float:
    """Light orders are cheaper to send."""
    return LIGHT if sum(weight_of(item) for item in items) <= LIGHT_KG else HEAVY
