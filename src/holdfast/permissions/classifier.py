"""The classifier seam: in `auto` mode it says whether a call is risky enough to ask. Ours is deterministic.

A model may be heard besides. It answers before the decision is taken and its answer is handed in (`SecondOpinion`), so
that the decision stays a pure function, and every rule, guard and ceiling stays out of the model's reach.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from holdfast.lib.visible import visible
from holdfast.permissions.facts import Risk
from holdfast.permissions.modes import row_of_read, row_of_write

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import CallFacts, ShellVerdict, Sight

_MAX_REASON_CHARS = 300
_MAX_NAME_CHARS = 80


class Seen(NamedTuple):
    """What is known about a call besides its input."""

    sight: "Sight"
    shell: "ShellVerdict | None" = None


class Classifier(Protocol):
    """Judges a call from its input alone; it never sees tool results."""

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
            return Risk("high", "what a remote tool does is not known", unknown=True)
        if kind == "domain" and call.effects.known:
            return Risk("low", "it fetches one public page")
        if call.tool == "WebSearch":
            return Risk("low", "it sends a search query")
        if not call.effects.known or call.effects.process:
            return Risk("high", "what it does is not known", unknown=True)
        return self._by_paths(call, context, seen.sight)

    def _by_paths(self, call: "CallFacts", context: "PermissionContext", sight: "Sight") -> Risk:
        if call.effects.network:
            return Risk("high", "it sends data over the network")
        if any(row_of_write(path, context) != "edit inside" for path in sight.writes):
            return Risk("high", "it writes outside the working directories")
        if any(row_of_read(path, context) != "free" for path in sight.reads):
            return Risk("high", "it reads outside the working directories")
        return Risk("low", "all it touches lies inside the working directories")


class ClassifierRequest(NamedTuple):
    """All that a classifier outside the decision learns of a call. No tool result and no file content is among it."""

    tool: str
    shown: str
    """What the tool's `classifier_input` lets it see."""
    cwd: str
    verdict: Literal["allow", "ask"]
    """What holds if the classifier agrees with our own analysis."""
    reasons: tuple[str, ...] = ()
    """How that came about."""


class ClassifierAnswer(NamedTuple):
    """The word of a classifier outside the decision."""

    verdict: Literal["allow", "ask"]
    reason: str
    model: str = ""
    """Who said so, for the trace."""


Classify: TypeAlias = Callable[[ClassifierRequest], Awaitable[ClassifierAnswer]]
"""A classifier outside the decision, as the engine takes it."""


class SecondOpinion:
    """Our own classifier together with the answer of another one.

    The other may always hold back. It may clear a call only where our own word is that nothing is known; a danger that
    was seen stays one. An answer in words nobody knows holds back.
    """

    __slots__ = ("_own", "_said")

    def __init__(self, answer: ClassifierAnswer, own: Classifier | None = None) -> None:
        verdict, reason, model = answer
        who = f"model {visible(model, limit_chars=_MAX_NAME_CHARS)}" if model else "the classifier"
        level: Literal["low", "high"] = "low" if verdict == "allow" else "high"
        shown = visible(reason, limit_chars=_MAX_REASON_CHARS)
        self._said = Risk(level, f"{who} said {level} risk because {shown}")
        self._own = own or DeterministicClassifier()

    @classmethod
    def unanswered(cls, why: str) -> "SecondOpinion":
        """The other classifier was to be heard and gave no answer that counts."""
        made = cls(ClassifierAnswer("ask", ""))
        made._said = Risk("high", f"the classifier gave no answer: {visible(why, limit_chars=_MAX_REASON_CHARS)}")
        return made

    def classify(self, call: "CallFacts", context: "PermissionContext", seen: Seen) -> Risk:
        """How risky the call is."""
        risk = self._own.classify(call, context, seen)
        return risk if risk.level == "high" and not risk.unknown else self._said
