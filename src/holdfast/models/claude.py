"""What each Claude model takes, by family and version. Checked against the provider's pages on 2026-11-15."""

import re
from typing import Any

import msgspec

from holdfast.models.interface import Effort

__all__ = ["ClaudeTraits", "is_first_party", "thinking_and_effort", "traits_of", "window_with"]

_NAME = re.compile(
    r"claude-(?:(opus|sonnet|haiku|fable|mythos)-(\d)(?:-(\d))?(?!\d)|(\d)(?:-(\d))?-(opus|sonnet|haiku))"
)
_OWN_ADDRESS = re.compile(r"https://api\.anthropic\.com(?:[:/]|\Z)")
_DEFAULT_OUTPUT = 32_000
_WIDE = "context-1m-"
"""The beta feature of a wide window, for models that have a small one by default."""
_WIDE_WINDOW = 1_000_000
_BUDGETS: dict[Effort | None, int] = {None: 16_000, "low": 4_000, "medium": 10_000, "high": 16_000}
_LARGEST_BUDGET = 31_999
_LEAST_BUDGET = 1_024


class ClaudeTraits(msgspec.Struct, frozen=True):
    """What a request to the model may say."""

    context_window: int = 200_000
    max_output: int = 8_192
    is_adaptive: bool = False
    """Thinks as much as it sees fit; `effort` steers it. Else thinking has a budget of tokens."""
    thinks_aloud_on_request: bool = False
    """Thinking comes without its text unless `display` asks for it."""
    efforts: tuple[Effort, ...] = ()
    takes_forced_calls: bool = True
    takes_strict_tools: bool = False
    takes_references: bool = False
    """A result may load tools by their names (`tool_reference`)."""

    @property
    def default_output(self) -> int:
        """Enough for a long file, and within what every gateway lets through."""
        return min(self.max_output, _DEFAULT_OUTPUT)


def traits_of(model: str) -> ClaudeTraits:
    """What is known of the model; careful guesses for a name we do not know."""
    found = _NAME.search(model.lower().replace(".", "-"))
    if found is None:
        return ClaudeTraits(max_output=64_000) if "claude" in model.lower() else ClaudeTraits()
    family = found[1] or found[6]
    version = (int(found[2] or found[4]), int(found[3] or found[5] or 0))
    if version < (4, 0):
        return ClaudeTraits(max_output=64_000 if version == (3, 7) else 8_192 if version == (3, 5) else 4_096)
    if version < (4, 6):
        efforts: tuple[Effort, ...] = ("low", "medium", "high") if (family, version) == ("opus", (4, 5)) else ()
        return ClaudeTraits(
            max_output=32_000 if family == "opus" and version < (4, 5) else 64_000,
            efforts=efforts,
            takes_strict_tools=version >= ((4, 1) if family == "opus" else (4, 5)),
            takes_references=version >= (4, 5) and family != "haiku",
        )
    is_newest = version >= ((5, 1) if family in {"fable", "mythos"} else (5, 5))
    return ClaudeTraits(
        context_window=1_000_000 if version >= (4, 7) else 200_000,
        max_output=128_000,
        is_adaptive=True,
        thinks_aloud_on_request=version >= (4, 7),
        efforts=("low", "medium", "high", "max") if version == (4, 6) else ("low", "medium", "high", "xhigh", "max"),
        takes_forced_calls=not is_newest or family == "haiku",
        takes_strict_tools=True,
        takes_references=family != "haiku",
    )


def window_with(model: str, traits: ClaudeTraits, betas: str) -> int:
    """The context window where requests ask for these beta features."""
    wants_more = any(one.strip().startswith(_WIDE) for one in betas.split(","))
    found = _NAME.search(model.lower().replace(".", "-")) if wants_more else None
    is_wide = found is not None and (found[1] or found[6]) == "sonnet" and (found[2] or found[4]) == "4"
    return max(_WIDE_WINDOW, traits.context_window) if is_wide else traits.context_window


def is_first_party(base_url: str) -> bool:
    """Whether the address is the maker's own, which knows the newest words."""
    return bool(_OWN_ADDRESS.match(base_url))


def thinking_and_effort(
    traits: ClaudeTraits, *, thinking: bool, effort: Effort | None, max_tokens: int, display: str | None = None
) -> dict[str, Any]:
    """The part of a request body that says how much to think."""
    said: dict[str, Any] = {}
    if effort is not None and traits.efforts:
        said["output_config"] = {"effort": effort if effort in traits.efforts else _nearest(effort, traits.efforts)}
    if not thinking:
        return said
    if traits.is_adaptive:
        shown = {"display": display or "summarized"} if traits.thinks_aloud_on_request else {}
        said["thinking"] = {"type": "adaptive", **shown}
    else:
        budget = min(_BUDGETS.get(effort, _LARGEST_BUDGET), max_tokens * 3 // 4)
        if budget >= _LEAST_BUDGET:
            said["thinking"] = {"type": "enabled", "budget_tokens": budget}
    return said


def _nearest(effort: Effort, known: tuple[Effort, ...]) -> Effort:
    """The strongest that is known: only the strong ones are ever missing."""
    return "max" if effort == "xhigh" and "max" in known else known[-1]
