"""Values that a program gives to an agent or a run: a mistake is named at once, not found in the middle of a run."""

from collections.abc import Mapping
from typing import Any, get_args

from holdfast.contract import UsageError
from holdfast.contract.names import MODES, as_mode
from holdfast.lib.spelling import did_you_mean

__all__ = ["check_deps", "check_prompt", "check_values"]

_LEAST = {"max_turns": 1, "max_output_tokens": 1, "max_total_tokens": 1, "max_budget_usd": 0}


def check_values(given: Mapping[str, Any]) -> None:
    """Look at limits, mode, effort, models, functions and hooks; what is None or missing was not chosen.

    Raises:
        UsageError: One of them is not what it should be; the text says which.
    """
    for name, least in _LEAST.items():
        _check_limit(name, given.get(name), least)
    mode, effort = given.get("permission_mode"), given.get("effort")
    if mode is not None and as_mode(mode) is None:
        meant = did_you_mean(str(mode), MODES)
        raise UsageError(f"there is no permission mode {mode!r}; use one of {', '.join(MODES)}.{meant}")
    if effort is not None:
        _check_effort(effort)
    for name in ("model", "fallback_model"):
        model = given.get(name)
        if model is not None and not isinstance(model, str) and not callable(getattr(model, "stream", None)):
            raise UsageError(f"{name} must be a string such as 'anthropic:sonnet', or a model object, not {model!r}")
    _check_functions(given)
    for number, message in enumerate(given.get("history", ())):
        _check_message(f"history[{number}]", message)


def check_prompt(prompt: object) -> None:
    """See that this can be asked at all.

    Raises:
        UsageError: It is neither a text nor a list of blocks.
    """
    if not isinstance(prompt, str | list):
        raise UsageError(f"the prompt must be a string or a list of content blocks, not {prompt!r}")


def check_deps(deps: object, deps_type: object) -> None:
    """See that the tools find what they were promised.

    Raises:
        UsageError: The agent has a `deps_type`, and the run was given no `deps`.
    """
    if deps is None and deps_type not in (None, type(None)):
        name = getattr(deps_type, "__name__", repr(deps_type))
        raise UsageError(f"this agent has deps_type={name}: give the run its deps, as in agent.run(prompt, deps=…)")


def _check_functions(given: Mapping[str, Any]) -> None:
    for name in ("approver", "on_form", "on_event"):
        function = given.get(name)
        if function is not None and not callable(function) and not hasattr(function, "ask"):
            raise UsageError(f"{name} must be a function, not {function!r}")
    for hook in given.get("hooks", ()):
        if not hasattr(hook, "condition"):
            raise UsageError(f"hooks must hold Hook objects such as Hook('PreToolUse', check, 'Bash'), not {hook!r}")


def _check_message(place: str, message: object) -> None:
    if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
        raise UsageError(
            f"{place} must be a message with `role` and `content`, as in RunResult.messages, not {message!r}"
        )


def _check_limit(name: str, value: object, least: float) -> None:
    if value is None:
        return
    kinds = (int, float) if name == "max_budget_usd" else (int,)
    if not isinstance(value, kinds) or isinstance(value, bool) or not value >= least:
        kind = "number" if name == "max_budget_usd" else "whole number"
        raise UsageError(f"{name} must be a {kind} of at least {least}, not {value!r}")


def _check_effort(effort: object) -> None:
    from holdfast.models import Effort  # noqa: PLC0415 - few agents choose it

    known = get_args(Effort)
    if effort not in known:
        raise UsageError(f"there is no effort {effort!r}; use one of {', '.join(known)}")
