"""The base of every argument type. Loaded with the first tool that uses it: pydantic models cost time to make."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from holdfast.contract.arguments import CONDITIONAL_MARK, INTERNAL_MARK
from holdfast.contract.errors import UsageError
from holdfast.contract.facts import PromptFacts

__all__ = ["Args", "conditional", "internal"]


class Args(BaseModel):
    """Base of every argument type: frozen, unknown keys are an error, `"5"` and `"true"` are taken as meant."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


def internal(default: Any = None, *, description: str = "") -> Any:
    """A field that only the approval layer sets: never offered, an error when a model, client or hook sends it."""
    return Field(default=default, description=description, json_schema_extra={INTERNAL_MARK: True})


def conditional(default: Any, *, when: str, description: str = "") -> Any:
    """A field that is offered only while the prompt fact `when` holds, such as `background`."""
    if when not in PromptFacts._fields:
        raise UsageError(f"conditional(when={when!r}) names no prompt fact; known: {', '.join(PromptFacts._fields)}")
    return Field(default=default, description=description, json_schema_extra={CONDITIONAL_MARK: when})
