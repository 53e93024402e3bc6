"""Hear a classifier outside the decision, bounded in time. Whatever goes wrong, the answer is to ask a person."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from holdfast.permissions import CallFacts, Decision
from holdfast.permissions.classifier import Classifier, ClassifierAnswer, ClassifierRequest, Classify, SecondOpinion

__all__ = ["DEFAULT_CLASSIFY_TIMEOUT_S", "Decide", "consult"]

_log = logging.getLogger(__name__)
DEFAULT_CLASSIFY_TIMEOUT_S: Final = 10.0
_CLEAN_UP_S: Final = 1.0
Decide = Callable[[Classifier | None], Decision]
"""The decision on one call under the rights of this moment, given a classifier."""
_CLEARED: Final = SecondOpinion(ClassifierAnswer("allow", ""))
_HELD: Final = SecondOpinion(ClassifierAnswer("ask", ""))


async def consult(classify: Classify, facts: CallFacts, decide: Decide, *, timeout_s: float) -> Decision:
    """The decision with the classifier's word in it; it is not disturbed where its word would change nothing."""
    decision = decide(None)
    if decision.behavior == "deny" or decide(_CLEARED).behavior == decide(_HELD).behavior:
        return decision
    if facts.classifier_input is None:
        return decide(SecondOpinion.unanswered(f"{facts.tool} does not say what it may see"))
    reasons = tuple(step.reason for step in decision.trace)
    request = ClassifierRequest(facts.tool, facts.classifier_input, facts.cwd, decision.behavior, reasons)
    heard = await _heard(classify, request, timeout_s)
    # The rights may have become stricter while the classifier thought: everything is judged anew.
    return decide(heard)


async def _heard(classify: Classify, request: ClassifierRequest, timeout_s: float) -> SecondOpinion:
    """An own task, so that a classifier that swallows its cancellation can be left behind."""
    task: asyncio.Task[Any] = asyncio.ensure_future(_asked(classify, request))
    task.add_done_callback(_note_end)
    try:
        await asyncio.wait({task}, timeout=timeout_s)
        in_time = task.done()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_CLEAN_UP_S)
    if not in_time:
        return SecondOpinion.unanswered(f"it took longer than {timeout_s:g} s")
    if task.cancelled():
        return SecondOpinion.unanswered("it was stopped")
    error = task.exception()
    if error is not None:
        return SecondOpinion.unanswered(f"{type(error).__name__}: {error}")
    answer: Any = task.result()
    if not isinstance(answer, ClassifierAnswer) or {type(word) for word in answer} != {str}:
        return SecondOpinion.unanswered("its answer is not one")
    return SecondOpinion(answer)


async def _asked(classify: Classify, request: ClassifierRequest) -> ClassifierAnswer:
    return await classify(request)


def _note_end(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("the classifier failed: %r", error)
