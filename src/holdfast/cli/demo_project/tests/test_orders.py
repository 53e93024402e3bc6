from orders import total


def test_small_orders_have_no_discount() -> None:
    assert total(["rope"]) == 12.50


def test_large_orders_have_one_discount() -> None:
    assert total(["anchor", "buoy"]) == 101.70
