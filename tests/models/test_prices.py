import pytest

from holdfast.models import Usage
from holdfast.models.catalog import price_of
from holdfast.models.prices import usage_cost_usd

MILLION = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-opus-5-5", 4 + 20 + 0.2 + 5),
        ("claude-sonnet-5-5", 2 + 10 + 0.2 + 2.5),
        ("claude-sonnet-4-5-20250929", 3 + 15 + 0.3 + 3.75),
        ("claude-sonnet-4-20250514", 3 + 15 + 0.3 + 3.75),
        ("anthropic/claude-haiku-4-5", 1 + 5 + 0.1 + 1.25),
        ("claude-haiku-5-5", (0.1 + 0.5 + 0.01 + 0.125) * 5),
        ("gemini-2.5-pro", (1.25 + 0.125 + 1.25) * 2 + 10 * 1.5),
        ("gemini-2.5-flash", 0.3 + 2.5 + 0.03 + 0.3),
        ("gpt-5.5", (5 + 0.5 + 5) * 2 + 30 * 1.5),
        ("gpt-4o-2024-11-20", 2.5 + 10 + 1.25 + 2.5),
        ("gpt-4o-mini", 0.15 + 0.6 + 0.075 + 0.15),
    ],
)
def test_the_price_of_a_model_by_the_beginning_of_its_name(model: str, dollars: float) -> None:
    assert usage_cost_usd(price_of(model), MILLION) == pytest.approx(dollars)


@pytest.mark.parametrize(
    "model", ["claude-opus-7", "claude-sonnet-5-9", "gpt-5-pro", "gpt-4o-audio-preview", "o3-mini", "llama"]
)
def test_a_model_we_do_not_know_has_no_price(model: str) -> None:
    assert price_of(model) is None
    assert usage_cost_usd(None, MILLION) is None


def test_a_short_prompt_has_the_short_price() -> None:
    assert usage_cost_usd(price_of("claude-haiku-5-5"), Usage(100_000)) == pytest.approx(0.01)
    assert usage_cost_usd(price_of("gemini-2.5-pro"), Usage(200_000, 1_000_000)) == pytest.approx(0.25 + 10)
