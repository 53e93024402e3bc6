"""The few real inversions: what the engine needs from the rooms above it."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol

__all__ = ["Answer", "Asker", "Question", "Resource"]


class Question(NamedTuple):
    """One permission question to a person."""

    id: str
    tool_use_id: str
    tool: str
    input: Mapping[str, Any]
    reason: str
    suggestions: tuple[str, ...] = ()
    """Rules that "always allow" would save, shown before they are saved."""
    trace: tuple[Any, ...] = ()
    preview: str = ""
    """What the call would change, as a diff, where the tool can tell."""


class RuleUpdate(NamedTuple):
    """Rules that an answer adds, and where they are kept."""

    behavior: Literal["allow", "ask", "deny"]
    rules: tuple[str, ...]
    destination: str = "session"
    replaces: bool = False
    """They stand in place of the allow rules that were kept there; rules that deny or ask are only ever added."""


class Answer(NamedTuple):
    """What the person said. The default is no."""

    behavior: Literal["allow", "deny"] = "deny"
    updated_input: Mapping[str, Any] | None = None
    message: str = ""
    """Feedback to the model; a refusal without it ends the turn."""
    rules: tuple[str, ...] = ()
    """Rules to add for "always", of the answer's own behavior."""
    destination: str = "session"
    """Where those rules are kept."""
    updates: tuple[RuleUpdate, ...] = ()
    """More rules, each with its own behavior and place."""

    @property
    def added(self) -> tuple[RuleUpdate, ...]:
        """All rules that count: a no allows nothing, now or later, and no answer takes a deny or a question away."""
        own = (RuleUpdate(self.behavior, self.rules, self.destination),) if self.rules else ()
        return tuple(
            update if update.behavior == "allow" else update._replace(replaces=False)
            for update in (*own, *self.updates)
            if self.behavior == "allow" or update.behavior != "allow"
        )


class Asker(Protocol):
    """A face that can put a question to a person."""

    async def ask(self, question: Question) -> Answer:
        """Show the question and wait for the answer."""
        ...


class Resource(Protocol):
    """Something a tool holds as long as its executor lives, such as background processes."""

    async def leave_loop(self) -> None:
        """End what belongs to the running event loop; another loop may use the resource again."""
        ...

    async def close(self) -> None:
        """End everything for good."""
        ...
