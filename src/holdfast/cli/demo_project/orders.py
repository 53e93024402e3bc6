"""Orders of a small shop. Something in here is wrong: the discount is taken twice."""

from prices import price_of

DISCOUNT_FROM = 100.0
DISCOUNT = 0.10


def subtotal(items: list[str]) -> float:
    """The sum of all prices."""
    return sum(price_of(item) for item in items)


def total(items: list[str]) -> float:
    """What the customer pays."""
    amount = subtotal(items)
    if amount >= DISCOUNT_FROM:
        amount -= amount * DISCOUNT
    return round(amount - amount * DISCOUNT, 2)
