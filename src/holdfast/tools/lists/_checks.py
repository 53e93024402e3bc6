"""When a list that is done should be looked at once more: something was finished, and nothing of it was a check."""

import re

__all__ = ["NUDGE", "is_check", "needs_check"]

_ENOUGH = 3
_CHECK = re.compile(r"\b(verif|test|check|review|validat|lint|confirm|proof|prove)", re.IGNORECASE)
NUDGE = (
    "Nothing on the list checks the result. Before you say that it is done, verify it: run the tests, or look at it."
)


def is_check(*texts: str) -> bool:
    """Whether a task is about making sure."""
    return any(_CHECK.search(text) for text in texts)


def needs_check(count: int) -> bool:
    """Whether so many finished tasks without a check are worth a word."""
    return count >= _ENOUGH
