import unittest

from shop.orders import total


class Total(unittest.TestCase):
    def test_small_orders_have_no_discount(self) -> None:
        self.assertEqual(total(["rope"]), 22.40)

    def test_large_orders_have_one_discount(self) -> None:
        self.assertEqual(total(["anchor", "buoy", "rope"]), 137.85)

    def test_shipping_has_no_discount(self) -> None:
        self.assertEqual(total(["lantern", "lantern"]), 73.40)


if __name__ == "__main__":
    unittest.main()
