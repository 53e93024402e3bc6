"""What a customer pays for an order."""

from shop.prices import price_of
from shop.shipping import shipping_for

DISCOUNT_FROM = 100.0
DISCOUNT = 0.10


def subtotal(items: list[str]) -> float:
    """The sum of all prices, large orders with their discount."""
    amount = sum(price_of(item) for item in items)
    if amount >= DISCOUNT_FROM:
        amount -= amount * DISCOUNT
    return amount


def total(items: list[str]) -> float:
    """What the customer pays, shipping included."""
    amount = subtotal(items)
    if amount >= DISCOUNT_FROM:
        amount -= amount * DISCOUNT
    return round(amount + shipping_for(items), 2)
