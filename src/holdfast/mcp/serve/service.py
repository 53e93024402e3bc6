"""What a server offers, whoever asks and by whatever transport."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.mcp.handshake import MODERN

if TYPE_CHECKING:
    from holdfast.mcp.serve.peer import Exchange

__all__ = ["Changes", "Client", "Handler", "Service"]

Handler = Callable[["Exchange", dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers one kind of request: gets the exchange and its parameters, and returns the result."""


class Client(NamedTuple):
    """Who asks, and what it can do."""

    version: str
    capabilities: Mapping[str, Any] = {}
    info: Mapping[str, Any] = {}

    @property
    def is_modern(self) -> bool:
        """Each of its requests stands for itself."""
        return self.version == MODERN

    @property
    def can_elicit(self) -> bool:
        """It can put a form before a person."""
        found = self.capabilities.get("elicitation")
        return isinstance(found, dict) and (not found or "form" in found)


class Changes:
    """Tells whoever listens that something on offer has changed."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[str, dict[str, Any]], None]] = {}

    def listen(self, listener: Callable[[str, dict[str, Any]], None]) -> Callable[[], None]:
        """Hear of changes from now on; returns what ends that."""
        key = object()
        self._listeners[key] = listener
        return lambda: self._listeners.pop(key, None) and None

    def tell(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Something has changed, by the name of its notification."""
        for listener in list(self._listeners.values()):
            listener(method, dict(params or {}))


def _no_schema(name: str) -> Mapping[str, Any] | None:
    del name
    return None


class Service(NamedTuple):
    """One server: who it is, and what it answers."""

    info: Mapping[str, Any]
    handlers: Mapping[str, Handler]
    capabilities: Mapping[str, Any]
    changes: Changes
    instructions: str = ""
    schema_of: Callable[[str], Mapping[str, Any] | None] = _no_schema
    """The schema of a tool by its name, where arguments may have to be repeated in headers."""
