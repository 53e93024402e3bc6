"""The classifier seam: in `auto` mode it says whether a call is risky enough to ask. Ours is deterministic."""

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from holdfast.permissions.modes import row_of_read, row_of_write

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import CallFacts, Sight
    from holdfast.permissions.verdicts import ShellVerdict

__all__ = ["Classifier", "DeterministicClassifier", "Risk", "Seen"]


class Risk(NamedTuple):
    """A classifier's word on one call."""

    level: Literal["low", "high"]
    reason: str


class Seen(NamedTuple):
    """What is known about a call besides its input."""

    sight: "Sight"
    shell: "ShellVerdict | None" = None


class Classifier(Protocol):
    """Judges a call from its input alone; it never sees tool results.

    A model-backed classifier is asked by the engine beforehand and handed in as one that repeats the answer, so that
    the decision stays a pure function.
    """

    def classify(self, call: "CallFacts", context: "PermissionContext", seen: Seen) -> Risk:
        """How risky the call is."""
        ...


class DeterministicClassifier:
    """Low risk only where the effects are known and harmless; whatever is not known is high."""

    def classify(self, call: "CallFacts", context: "PermissionContext", seen: Seen) -> Risk:
        """How risky the call is."""
        if seen.shell is not None:
            return seen.shell.risk
        kind = call.subject.kind
        if kind == "mcp" or call.tool.startswith("mcp__"):
            return Risk("high", "what a remote tool does is not known")
        if kind == "domain" and call.effects.known:
            return Risk("low", "it fetches one public page")
        if call.tool == "WebSearch":
            return Risk("low", "it sends a search query")
        if not call.effects.known or call.effects.process:
            return Risk("high", "what it does is not known")
        return self._by_paths(call, context, seen.sight)

    def _by_paths(self, call: "CallFacts", context: "PermissionContext", sight: "Sight") -> Risk:
        if call.effects.network:
            return Risk("high", "it sends data over the network")
        if any(row_of_write(path, context) != "edit inside" for path in sight.writes):
            return Risk("high", "it writes outside the working directories")
        if any(row_of_read(path, context) != "free" for path in sight.reads):
            return Risk("high", "it reads outside the working directories")
        return Risk("low", "all it touches lies inside the working directories")
