"""What finished calls change in the session, such as its directory: in the order of the calls, whoever ended first."""

import logging
from collections.abc import Callable
from typing import Any

from holdfast.contract import ContextModifier, ConversationHanded
from holdfast.engine.call import Call
from holdfast.engine.state import AgentState
from holdfast.events import ContextChanged, Event

__all__ = ["apply_changes"]

_log = logging.getLogger(__name__)


def apply_changes(batch: list[Call], state: AgentState, emit: Callable[[Event], None]) -> None:
    """Make the changes of these calls, and tell each."""
    if len(batch) > 1:
        batch.sort(key=lambda call: call.number)
    for done in batch:
        assert done.tool is not None
        try:
            for modifier in done.modifiers:
                state.apply(modifier, done.tool.name)
                emit(ContextChanged(done.id, type(modifier).__name__, _told(modifier)))
        except Exception:  # noqa: BLE001 - the tool's data: the work is done, so the reply is sent in any case
            _log.exception("a change that %s (call %s) asked for could not be made", done.tool.name, done.id)


def _told(modifier: ContextModifier) -> dict[str, Any]:
    """A change as others hear of it; a whole conversation stays with whoever keeps it."""
    return {"agent_id": modifier.agent_id} if isinstance(modifier, ConversationHanded) else modifier._asdict()
