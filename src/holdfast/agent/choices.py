"""How a loop behaves, as its caller chooses."""

from typing import NamedTuple

from holdfast.agent.retry import RetryPolicy
from holdfast.models import Effort, Model

__all__ = ["LoopChoices"]


class LoopChoices(NamedTuple):
    """All optional."""

    max_turns: int | None = None
    """So many answers may ask for tools; then the run ends."""
    max_budget_usd: float | None = None
    """No request goes out once this much is spent, over all runs of the loop."""
    max_output_tokens: int | None = None
    max_total_tokens: int | None = None
    """No request of a run goes out once it has used this many tokens, in and out."""
    thinking: bool = False
    thinking_display: str | None = None
    effort: Effort | None = None
    tool_choice: str = "auto"
    """For the first request of a run; the later ones leave the choice to the model."""
    fallback_model: Model | None = None
    """Asked for the rest of a run when the first one is overloaded again and again."""
    auto_compact: bool = True
    compact_at: float = 0.8
    """Which share of the context window may be full before the history is shortened."""
    output_tool: str | None = None
    """A successful call of this tool ends the run, and its data is the run's structured output."""
    max_output_retries: int = 5
    retry: RetryPolicy = RetryPolicy()
