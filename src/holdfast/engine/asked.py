"""What a person was asked about, whether it is still that when the answer comes, and the final word."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from holdfast.contract import Opinion, Question, QuestionBrief, QuestionStanding
from holdfast.permissions import CallFacts, Decision, HookOpinion, PermissionContext, decide
from holdfast.permissions.facts import places_of, with_places
from holdfast.permissions.paths import PathFacts

if TYPE_CHECKING:
    from holdfast.engine.state import AgentState

__all__ = ["Approval", "Asked", "Heard", "again_seen", "fully_told", "with_circumstances", "without_input"]


Heard = tuple[HookOpinion | None, Opinion | None]
"""What the user's gates and the tool itself have said about a call."""


class Approval(NamedTuple):
    """The final word on one call."""

    allowed: bool
    reason: str = ""
    ends_turn: bool = False
    """A person refused without a word: the model should stop and listen."""
    is_deferred: bool = False
    """A hook leaves the call for a later process to decide."""


class Asked(NamedTuple):
    """A question that is open: why it was put, and where the paths of the call led then."""

    decision: Decision
    places: tuple[PathFacts, ...]

    def moved(self, facts: CallFacts, permissions: PermissionContext) -> str:
        """Why the answer does not count: a path leads elsewhere than it did when the question was put.

        Args:
            facts: The call as it is seen now (see `again_seen`).
            permissions: The rights in force.
        """
        now = places_of(facts, permissions)
        for before, after in zip(self.places, now, strict=False):
            if before.names != after.names:
                return (
                    f"{before.given!r} led to {before.target!r} when the user was asked and leads to {after.target!r} "
                    "now, so the answer is not about that"
                )
        return ""

    def is_new_guard(self, again: Decision) -> bool:
        """Whether something is protected now of which the question did not speak."""
        return again.guarded and (not self.decision.guarded or again.reason != self.decision.reason)


def again_seen(facts: CallFacts, permissions: PermissionContext) -> CallFacts:
    """The call with the same paths, looked at anew: what the tool itself said about it stays."""
    return with_places(facts._replace(sight=None), permissions)


def fully_told(decision: Decision, facts: CallFacts, permissions: PermissionContext) -> Decision:
    """The decision with the word of every layer."""
    from holdfast.permissions.policy.explain import with_every_layer  # noqa: PLC0415 - only for who watches

    return with_every_layer(decision, facts, permissions)


def with_circumstances(question: Question, facts: CallFacts, state: "AgentState", heard: Heard) -> Question:
    """The question with who asks it, where, and what a face may want to know besides."""
    session = state.session
    agent = "" if session.agent_id is None else session.agent_type or session.agent_id
    return question._replace(
        cwd=facts.cwd,
        agent=agent,
        agent_id=session.agent_id or "",
        brief=partial(_brief, facts, state.permissions),
        standing=partial(_standing, facts, state, heard),
    )


def _standing(facts: CallFacts, state: "AgentState", heard: Heard) -> QuestionStanding:
    """By the rights of this moment; a yes that follows from it is looked at again like a person's."""
    from holdfast.permissions.policy.suggest import suggest_rules_for  # noqa: PLC0415 - with the first question

    decision = decide(facts, state.permissions, hook=heard[0], opinion=heard[1])
    rules = suggest_rules_for(facts, state.permissions) if decision.behavior == "ask" else ()
    return QuestionStanding(decision.behavior, decision.reason, rules)


def _brief(facts: CallFacts, permissions: PermissionContext) -> QuestionBrief:
    from holdfast.permissions.policy.explain import brief_of  # noqa: PLC0415 - only for a face that shows it

    return brief_of(facts, permissions)


def without_input(opinion: Opinion | None) -> Opinion | None:
    """What a tool says, once the input that it wants is in place."""
    return opinion if opinion is None or opinion.updated_input is None else Opinion(opinion.behavior, opinion.reason)
