"""What a run gives to the program that started it."""

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from holdfast.contract import HoldfastError
from holdfast.events import Event, RunEnded, TextStreamed
from holdfast.lib.closing import ClosedAtExit

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Out = TypeVar("Out", default=str)
else:
    from typing import TypeVar

    Out = TypeVar("Out")

__all__ = ["Out", "Run", "RunFailed", "RunResult", "told_refusals"]

_log = logging.getLogger(__name__)


class RunFailed(HoldfastError):
    """A run did not come to a good end; `result` tells all that is known."""

    def __init__(self, result: "RunResult[Any]") -> None:
        super().__init__(result.error or f"the run ended with {result.outcome!r}")
        self.result = result


def told_refusals(denials: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What would let refused calls run, for a program that asks nobody; said in the log, too."""
    names = sorted({str(denied.get("tool_name")) for denied in denials})
    if not names:
        return ()
    number = "1 call was" if len(denials) == 1 else f"{len(denials)} calls were"
    said = (
        f"{number} refused ({', '.join(names)}): a rule or a hook denies it, or nobody could be asked. To allow it, "
        f"give allowed_tools={names!r} or rules such as 'Bash(npm test *)', an approver=, or another permission_mode="
    )
    _log.warning("%s", said)
    return (said,)


class RunResult(NamedTuple, Generic[Out]):
    """The answer to one prompt, and how it came about."""

    text: str
    """The last message's text."""
    outcome: str
    """`success`, or what stopped the run."""
    session_id: str
    """What `Agent(resume=…)` goes on with."""
    turns: int
    """How often the model answered."""
    duration_ms: float
    """How long it took, in milliseconds."""
    usage: Mapping[str, int]
    """Tokens: `input_tokens`, `output_tokens`, and those of caches."""
    cost_usd: float | None = None
    """What it cost; None where no price is known."""
    output: Out = None  # pyright: ignore[reportAssignmentType] - a run that failed has none
    """The answer: its text, or with `output_type` data of that type. None where the run failed before it was given."""
    error: str = ""
    """What went wrong, in words; empty when nothing did."""
    stop_reason: str = ""
    """Why the model stopped, in the provider's word."""
    denials: tuple[Mapping[str, Any], ...] = ()
    """Calls that were refused: tool_name, tool_use_id, tool_input."""
    warnings: tuple[str, ...] = ()
    """What is ignored and why: broken rules, settings, what an untrusted folder brings (see `Agent(trust=…)`)."""

    messages: tuple[Mapping[str, Any], ...] = ()
    """The whole conversation after this run, as data: `Agent(history=…)` goes on from it."""

    @property
    def is_error(self) -> bool:
        """Something else than the end of the work stopped the run."""
        return self.outcome not in ("success", "stopped_by_hook", "tool_deferred")

    def raise_for_error(self) -> "RunResult[Out]":
        """Return this result, or raise `RunFailed` when the run did not come to a good end."""
        if self.is_error:
            raise RunFailed(self)
        return self

    def __str__(self) -> str:
        """Return the text of the answer."""
        return self.text


class Run(ClosedAtExit, Generic[Out]):
    """One run: await it for the result, or iterate over its events first. It starts with the first of these."""

    def __init__(self, events: AsyncGenerator[Event], to_result: Callable[[RunEnded], RunResult[Out]]) -> None:
        self._events = events
        self._to_result = to_result
        self.result: RunResult[Out] | None = None
        """Known once the run has ended."""

    async def __aiter__(self) -> AsyncGenerator[Event]:
        """Every event, as it happens; the last one is `RunEnded`."""
        async for event in self._events:
            if isinstance(event, RunEnded):
                self.result = self._to_result(event)
            yield event

    async def stream_text(self) -> AsyncGenerator[str]:
        """What the model writes to the user, piece by piece; after the last one `result` is known."""
        async for event in self:
            if isinstance(event, TextStreamed):
                yield event.text

    def __await__(self) -> Generator[Any, None, RunResult[Out]]:
        """Run to the end."""
        return self._finish().__await__()

    async def close(self) -> None:
        """Stop here: what runs is interrupted."""
        await self._events.aclose()

    async def _finish(self) -> RunResult[Out]:
        if self.result is None:
            async for event in self._events:
                if isinstance(event, RunEnded):
                    self.result = self._to_result(event)
        if self.result is None:
            raise HoldfastError("the run was closed before it ended, so it has no result")
        return self.result
