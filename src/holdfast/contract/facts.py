"""Small facts about a session: what prompts may depend on, and who is asking."""

from typing import NamedTuple

__all__ = ["NO_FACTS", "PromptFacts", "SessionFacts"]


class PromptFacts(NamedTuple):
    """Everything a tool's text and schema may depend on. Hashable, so that rendered bytes are cached."""

    agents: tuple[str, ...] = ()
    """Names of the agent types that can be started."""
    background: bool = True
    """Background work is available."""
    sandbox: bool = False
    """Shell commands run in the sandbox."""
    interactive: bool = False
    """A person can be asked."""
    unasked: frozenset[str] = frozenset()
    """Tools that the provider may run on its own side, because rules let them run unasked."""


NO_FACTS = PromptFacts()


class SessionFacts(NamedTuple):
    """Who and where: fixed for one session or subagent."""

    session_id: str = "local"
    agent_id: str | None = None
    """Set in a subagent."""
    project_root: str = ""
    prompt: PromptFacts = NO_FACTS
    agent_type: str | None = None
    """Set in a subagent."""
    transcript_path: str = ""
    """The conversation as a file that hooks can read; empty without one."""
    agent_transcript_path: str = ""
    """Set in a subagent: its own conversation as such a file."""
