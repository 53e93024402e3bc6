"""Tools that are gone, and what does their work today, for rules that still name them.

A deny or ask rule goes on to hold, for the tool of today. An allow rule does not: it would grant what nobody agreed to.
"""

from typing import Final

from holdfast.contract.names import RETIRED

__all__ = ["RETIRED", "todays_rule"]

_NOTEBOOKS: Final = "//**/*.ipynb"


def todays_rule(tool: str, content: str | None) -> tuple[str, str | None]:
    """Tool and content of the rule that means today what a rule for a retired tool meant."""
    if content is None or content == "*":
        return (RETIRED[tool], _NOTEBOOKS if tool == "NotebookRead" else None)
    return ("Edit" if tool == "MultiEdit" else "Read", content)
