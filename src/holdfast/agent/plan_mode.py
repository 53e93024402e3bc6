"""What the model is told about plan mode: that it is on, what that means, and when it is over. Each once."""

from collections.abc import Callable, Iterable
from typing import Any

from holdfast.agent.history import Message
from holdfast.engine import Executor
from holdfast.lib.visible import visible

__all__ = ["PlanMode"]

_ON = "Plan mode is on:"
_OFF = "Plan mode is over:"
_TOLD = "<system-reminder>\n{}"


class PlanMode:
    """Compares the mode with what the conversation says about it."""

    def __init__(
        self, executor: Executor, history: Callable[[], Iterable[Message]], instructions: str | None = None
    ) -> None:
        """Follow the executor's mode; `instructions` say how to work in it, instead of our own words."""
        self._executor = executor
        self._instructions = instructions
        self._history = history
        self._is_told = False
        self.look_back()

    def look_back(self) -> None:
        """See what the model knows: an earlier process may have told it, and a summary may have lost it."""
        self._is_told = _last_word(self._history()) == _ON

    def news(self) -> str | None:
        """What the model should know and does not; it counts as told now."""
        is_on = self._executor.state.permissions.effective_mode == "plan"
        if is_on == self._is_told:
            return None
        self._is_told = is_on
        return self._begun() if is_on else f"{_OFF} changes are possible again, as far as the permissions go."

    def _begun(self) -> str:
        files = self._executor.state.permissions.roots.plan_file
        can_end = self._executor.pool.find("ExitPlanMode") is not None
        but = f" but the plan file {visible(files[0])!r}" if files else ""
        where = ", write it into that file" if files else ""
        if self._executor.state.session.agent_id is not None:
            return f"{_ON} nothing may be changed, and calls that would change something are refused."
        end = ", then call ExitPlanMode" if can_end else ", and end with the plan as your answer"
        rule = f"{_ON} nothing may be changed{but}, and calls that would change something are refused."
        if self._instructions is not None:
            last = "Call ExitPlanMode when you are done." if can_end else "End with the plan as your answer."
            return f"{rule}\n\n{self._instructions.strip()}\n\n{last}"
        return f"{rule} Look around as far as you need, make a plan of the work{where}{end}."


def _last_word(messages: Iterable[Message]) -> str | None:
    starts = {_TOLD.format(word): word for word in (_ON, _OFF)}
    for message in reversed(list(messages)):
        if message["role"] != "user":
            continue
        for text in reversed(list(_texts(message["content"]))):
            for start, word in starts.items():
                if text.startswith(start):
                    return word
    return None


def _texts(content: Any) -> Iterable[str]:
    if isinstance(content, str):
        return (content,)
    return (block["text"] for block in content if block.get("type") == "text")
