"""The optional arguments of an agent, for type checkers: `Agent(…)` and `Agent.copy(…)` take the same ones."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from holdfast.app.askers import Approver, FormFiller
from holdfast.contract import Asker, Tool
from holdfast.events import Event
from holdfast.hooks import Hook
from holdfast.models import Effort, Model

__all__ = ["AgentChanges", "AgentChoices"]


class AgentChoices(TypedDict, total=False):
    """What may be chosen besides model, tools and types; `Agent` says what each one means."""

    builtin_tools: bool | str | Sequence[str]
    cwd: str | os.PathLike[str] | None
    permission_mode: str | None
    allowed_tools: str | Sequence[str]
    disallowed_tools: str | Sequence[str]
    add_dirs: str | Sequence[str]
    settings: str | Sequence[str]
    setting_sources: str | None
    mcp_config: str | Sequence[str]
    strict_mcp_config: bool
    mcp_servers: Mapping[str, Any] | None
    approver: Approver | Asker | None
    on_form: FormFiller | None
    system_prompt: str | None
    append_system_prompt: str | None
    max_turns: int | None
    max_budget_usd: float | None
    max_output_tokens: int | None
    thinking: bool
    effort: Effort | None
    fallback_model: str | Model | None
    max_total_tokens: int | None
    history: Iterable[Mapping[str, Any]]
    resume: str | None
    fork: bool
    session_id: str | None
    persist: bool
    hooks: Iterable[Hook]
    on_event: Callable[[Event], None] | None
    trust: bool | None
    agents: str | Mapping[str, Mapping[str, Any]] | None


class AgentChanges(AgentChoices, total=False):
    """What a copy may have otherwise."""

    model: str | Model | None
    tools: Iterable[Tool | Callable[..., Any]]
