"""The agents of a session as a tree: who started whom, what each does now, what it has used."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.events import AgentTold, AssistantReplied, CallFinished, CallQueued, RunEnded, TextStreamed
from holdfast.lib.visible import visible

__all__ = ["AgentNode", "AgentTree"]

_MOST = 200
_KEPT_STEPS = 500
_WISH_CHARS = 80


class AgentNode:
    """One agent."""

    def __init__(self, told: AgentTold, parent: "AgentNode | None") -> None:
        self.id = told.agent_id
        self.type = visible(told.agent_type)
        self.wish = ""
        """What it was started for, in a few words, safe to show."""
        self.call = told.parent_tool_use_id
        self.parent = parent
        self.children: list[AgentNode] = []
        self.began_s = time.monotonic()
        self.ended_s: float | None = None
        self.outcome = ""
        self.calls = 0
        self.tokens = 0
        self.steps: list[str] = []
        """What it did, safe to show, the oldest first."""
        self.said = ""

    @property
    def elapsed_s(self) -> float:
        """How long it works, or worked."""
        return (self.ended_s or time.monotonic()) - self.began_s


class AgentTree:
    """Hears what agents tell and keeps the last ones."""

    def __init__(self, use_of: Callable[[str, Any], str]) -> None:
        self._use_of = use_of
        self._by_id: dict[str, AgentNode] = {}
        self._owner_of_call: dict[str, AgentNode] = {}
        self._wishes: dict[str, str] = {}
        """By call: what an agent that it may start is for."""

    def expect(self, tool_use_id: str, raw: Mapping[str, Any]) -> None:
        """A call was made that may start an agent."""
        wish = raw.get("description")
        if isinstance(wish, str) and "prompt" in raw:
            self._wishes[tool_use_id] = visible(wish, limit_chars=_WISH_CHARS)
            while len(self._wishes) > _MOST:
                del self._wishes[next(iter(self._wishes))]

    @property
    def roots(self) -> list[AgentNode]:
        """Those that the conversation itself has started."""
        return [node for node in self._by_id.values() if node.parent is None]

    def rows(self) -> list[tuple[int, AgentNode]]:
        """All of them with their depth, each below the one that started it."""
        found: list[tuple[int, AgentNode]] = []

        def add(node: AgentNode, depth: int) -> None:
            found.append((depth, node))
            for child in node.children:
                add(child, depth + 1)

        for root in self.roots:
            add(root, 0)
        return found

    def take(self, told: AgentTold) -> None:
        """Something happened in an agent."""
        event: Any = told.event
        if isinstance(event, AgentTold):  # an agent that this one has started
            self.take(event)
            return
        node = self._by_id.get(told.agent_id)
        if node is None:
            node = self._add(told)
        if isinstance(event, CallQueued):
            node.calls += 1
            self._owner_of_call[event.tool_use_id] = node
            self.expect(event.tool_use_id, event.input)
            node.steps = [*node.steps[-_KEPT_STEPS:], self._use_of(event.name, event.input)]
        elif isinstance(event, CallFinished) and event.is_error:
            node.steps.append(f"  {visible(event.name)} failed")
        elif isinstance(event, TextStreamed):
            node.said = (node.said + event.text)[-2_000:]
        elif isinstance(event, AssistantReplied):
            node.tokens += sum(event.usage.get(name, 0) for name in ("input_tokens", "output_tokens"))
        elif isinstance(event, RunEnded):
            node.ended_s, node.outcome = time.monotonic(), event.outcome

    def _add(self, told: AgentTold) -> AgentNode:
        parent = self._owner_of_call.get(told.parent_tool_use_id)
        node = self._by_id[told.agent_id] = AgentNode(told, parent)
        node.wish = self._wishes.pop(told.parent_tool_use_id, "")
        if parent is not None:
            parent.children.append(node)
        while len(self._by_id) > _MOST:
            del self._by_id[next(iter(self._by_id))]
        return node
