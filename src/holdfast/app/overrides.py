"""What one run does otherwise than its agent: another model, mode, rules, limits. It ends with the run."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.app.models import open_given
from holdfast.contract import UsageError
from holdfast.lib.spelling import did_you_mean
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleSource
from holdfast.permissions.tool_facts import ALIASES
from holdfast.permissions.updates import change_mode

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.models import Effort, Model

__all__ = ["RunChoices", "check_choices", "chosen_for_run"]

_LIMITS = ("max_turns", "max_budget_usd", "max_output_tokens", "max_total_tokens", "thinking", "effort")


class RunChoices(TypedDict, total=False):
    """What may be chosen for one run."""

    model: "str | Model"
    permission_mode: str
    allowed_tools: str | Sequence[str]
    """Rules that allow, besides those of the agent."""
    disallowed_tools: str | Sequence[str]
    """Rules that deny."""
    max_turns: int
    max_budget_usd: float
    max_output_tokens: int
    max_total_tokens: int
    thinking: bool
    effort: "Effort"


def check_choices(choices: RunChoices) -> None:
    """Say at once that a name is not known.

    Raises:
        UsageError: There is no such choice.
    """
    for name in choices:
        if name not in RunChoices.__annotations__:
            meant = did_you_mean(name, tuple(RunChoices.__annotations__))
            known = ", ".join(RunChoices.__annotations__)
            raise UsageError(f"{name!r} cannot be chosen for one run.{meant} A run takes {known}")


@contextmanager
def chosen_for_run(agent: "RunningAgent", deps: Any, choices: RunChoices) -> Generator[None]:
    """Let a run have its own choices; what people answered meanwhile stays.

    Raises:
        UsageError: A rule, mode or model makes no sense.
    """
    state = agent.opened.executor.state
    rules = [*_rules("allow", choices.get("allowed_tools", ())), *_rules("deny", choices.get("disallowed_tools", ()))]
    before, first_model = state.permissions.mode, agent.loop.model
    deps, state.deps = state.deps, deps if deps is not None else state.deps
    if rules:
        state.permissions = state.permissions.with_rules(*rules)
    mode = choices.get("permission_mode")
    if mode is not None:  # the program is the user: it may choose every mode that the settings leave open
        state.permissions = change_mode(state.permissions, mode, may_bypass=True)
    _choose_model(agent, choices)
    try:
        yield
    finally:
        state.deps, agent.loop.model = deps, first_model
        if mode is not None and state.permissions.mode == mode:
            state.permissions = state.permissions.with_mode(before)
        if rules:
            kept = [rule for rule in state.permissions.rules if not any(rule is ours for ours in rules)]
            state.permissions = state.permissions.replacing_rules(kept)


def _choose_model(agent: "RunningAgent", choices: RunChoices) -> None:
    model = choices.get("model")
    limits: dict[str, Any] = {name: value for name, value in choices.items() if name in _LIMITS}
    if isinstance(model, str):
        agent.loop.choose_for_run(open_given(model, agent.rights), **limits)
        return
    agent.loop.choose_for_run(None, **limits)
    if model is not None:  # the program's own, which it closes itself
        agent.loop.model = model


def _rules(behavior: Behavior, texts: str | Sequence[str]) -> list[Rule]:
    given = (texts,) if isinstance(texts, str) else texts
    return [Rule.parse(behavior, text, RuleSource("command_line"), aliases=ALIASES) for text in given]
