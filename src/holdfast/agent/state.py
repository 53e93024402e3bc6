"""What the parts of one loop share: the conversation, the model, what was spent, and who is told."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from holdfast.agent.choices import LoopChoices
from holdfast.agent.history import Block, History
from holdfast.agent.thoughts import Thoughts
from holdfast.engine import Executor
from holdfast.events import Event, SideQuestionAnswered
from holdfast.lib.uuids import new_uuid
from holdfast.models import Model, ModelRequest, SystemBlock, Usage
from holdfast.models.tokens import estimate_prefix_tokens

if TYPE_CHECKING:
    from holdfast.agent.parts import LoopParts

__all__ = ["LoopState", "SystemSource", "usage_fields"]

SystemSource: TypeAlias = Sequence[SystemBlock] | Callable[[], Awaitable[Sequence[SystemBlock]]]


class LoopState:
    """One conversation with one model."""

    def __init__(self, executor: Executor, model: Model, parts: "LoopParts", emit: Callable[[Event], None]) -> None:
        self.executor = executor
        self.model = model
        self.journal = parts.journal
        self.history = History(parts.history)
        self.choices = parts.choices
        self.facts = parts.facts
        self.emit = emit
        self.fallback: Model | None = None
        """Asked instead for the rest of a run, because the model is overloaded."""
        self.chosen: Model | None = None
        """Asked instead for the rest of a run, because a skill says so."""
        self.parent: LoopState | None = None if parts.parent is None else parts.parent.state
        """The conversation that pays for this one."""
        self.usage = Usage()
        self.cost_usd: float | None = None
        self.spilled: dict[str, str] = {}
        """Where the full text of a call's long result is."""
        self.was_reached = False
        """The provider has begun an answer."""
        self.broken_streams = 0
        """How many streams in a row broke."""
        self.deferred: list[Block] = list(parts.deferred)
        """The answer whose call a hook left for later; it is made before anything else."""
        self.thoughts = parts.thoughts or Thoughts()
        self._system_source = parts.system
        self._system: tuple[SystemBlock, ...] = ()
        self._is_system_made = False
        self._counted: tuple[int, int] | None = None
        """The provider's last count of everything, and our estimate of the messages at that time."""

    @property
    def asked(self) -> Model:
        """The model that requests go to now."""
        return self.fallback or self.chosen or self.model

    @property
    def choices(self) -> LoopChoices:
        """Limits and settings; hooks are told how hard the model is to try."""
        return self._choices

    @choices.setter
    def choices(self, choices: LoopChoices) -> None:
        self._choices = choices
        self.executor.state.effort = choices.effort

    @property
    def is_streaming(self) -> bool:
        """Answers are streamed; after broken streams in a row they are asked for as a whole."""
        return self.broken_streams < self.choices.retry.broken_streams

    async def system(self) -> tuple[SystemBlock, ...]:
        """The system prompt; made once, and again after the history was shortened, so that it can be cached."""
        if not self._is_system_made:
            source = self._system_source
            self._system = tuple(await source() if callable(source) else source)
            self._is_system_made = True
        return self._system

    @property
    def system_so_far(self) -> tuple[SystemBlock, ...]:
        """The system prompt, where it was made already or never changes."""
        source = self._system_source
        return self._system if self._is_system_made or callable(source) else tuple(source)

    async def request(self, *, tool_choice: str = "auto") -> ModelRequest:
        """Ask for the next answer."""
        choices = self.choices
        return ModelRequest(
            messages=self.thoughts.only_of(self.asked.name, self.history.messages),
            system=self._system if self._is_system_made else await self.system(),
            tools=self.tools(),
            tool_choice=tool_choice,
            max_output_tokens=choices.max_output_tokens,
            thinking=choices.thinking,
            thinking_display=choices.thinking_display,
            effort=choices.effort,
            is_streaming=self.is_streaming,
        )

    def tools(self) -> bytes:
        """The tool list for the model that is asked now."""
        pool = self.executor.pool
        unasked = frozenset(tool.name for tool in pool.run_by_provider() if self._runs_unasked(tool.name))
        return pool.to_bytes(self.asked.wire, self.facts._replace(unasked=unasked) if unasked else self.facts)

    def _runs_unasked(self, name: str) -> bool:
        """Whether rules and mode let the tool run now: what the provider does on its own side cannot be asked about."""
        from holdfast.permissions import decide  # noqa: PLC0415 - few sessions have such a tool
        from holdfast.permissions.tool_facts import facts_from_input  # noqa: PLC0415 - the same

        state = self.executor.state
        return decide(facts_from_input(name, {}, state.cwd), state.permissions).behavior == "allow"

    def spend(self, usage: Usage, model: Model) -> float | None:
        """Count what a request to this model used; its price where that is known."""
        self.usage += usage
        cost_usd = model.cost_usd(usage)
        if cost_usd is not None:
            self._pay(cost_usd)
        return cost_usd

    def pay(self, model: Model, usage: Usage) -> None:
        """Count an answer that is not of the conversation, and tell."""
        cost_usd = self.spend(usage, model)
        self.emit(SideQuestionAnswered(model.name, usage_fields(usage), cost_usd))

    def _pay(self, cost_usd: float) -> None:
        self.cost_usd = (self.cost_usd or 0.0) + cost_usd
        if self.parent is not None:
            self.parent._pay(cost_usd)  # noqa: SLF001 - of the same kind

    @property
    def left_to_spend(self) -> float | None:
        """What is left until a limit is reached, here or where it is paid; none without a limit."""
        limit_usd = self.choices.max_budget_usd
        own = None if limit_usd is None else max(0.0, limit_usd - (self.cost_usd or 0.0))
        theirs = None if self.parent is None else self.parent.left_to_spend
        return min((left for left in (own, theirs) if left is not None), default=None)

    @property
    def overspent(self) -> tuple[float, float] | None:
        """What was spent and the limit, here or where it is paid, once the limit is reached."""
        limit_usd, spent_usd = self.choices.max_budget_usd, self.cost_usd or 0.0
        if limit_usd is not None and spent_usd >= limit_usd:
            return spent_usd, limit_usd
        return None if self.parent is None else self.parent.overspent

    def counted(self, usage: Usage) -> None:
        """The provider told how long the conversation is, with the answer that is in the history now."""
        self._counted = (usage.context_tokens, self.history.tokens) if usage.context_tokens else None

    def context_tokens(self) -> int:
        """How much of the window the next request would fill, by the last count and our estimate of what came since."""
        if self._counted is not None:
            counted, at = self._counted
            return max(0, counted + self.history.tokens - at)
        return self.history.tokens + estimate_prefix_tokens(self._system, self.tools())

    def shortened(self) -> None:
        """The history was replaced: old counts say nothing about it, and files that were shown may be shown again."""
        self._counted = None
        self._is_system_made = False
        self.executor.state.forget_shown()

    def record(self, role: str, blocks: list[Block], **meta: object) -> str:
        """Write a message to the journal; its name there."""
        uuid = new_uuid()
        if self.journal is not None:
            self.journal.record_message("user" if role == "user" else "assistant", blocks, meta={"uuid": uuid, **meta})
        return uuid


def usage_fields(usage: Usage) -> dict[str, int]:
    """The counts as events and the journal hold them."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }
