"""Prompts of MCP servers that a model uses: a call of Skill that asks the server, and is judged as a call to it."""

from typing import Protocol

from holdfast.contract import ToolContext, ToolFailed
from holdfast.engine.state import AgentState
from holdfast.lib.visible import visible

__all__ = ["ServerPrompts", "check_prompt"]


class ServerPrompts(Protocol):
    """The prompts of a session's servers."""

    def server_of(self, name: str) -> str | None:
        """The server that a full name speaks of, `mcp__server__prompt`; none where there is none."""
        ...

    async def text(self, name: str, arguments: str) -> str:
        """What the server says; raises `ToolFailed` when it cannot be had."""
        ...


def check_prompt(name: str, server: str, ctx: ToolContext) -> None:
    """Only the session's own agent asks servers, and none that a rule denies.

    Raises:
        ToolFailed: It may not.
    """
    if ctx.session.agent_id is not None:
        raise ToolFailed(
            f"only the main agent uses prompts of servers; go on without {visible(name, limit_chars=80)!r}",
            error_code=6,
        )
    state = ctx.rights
    if not isinstance(state, AgentState):
        return
    for bound in (state.permissions, *state.permissions.ancestors()):
        rule = bound.book.whole("deny", (name,), server=server)
        if rule is not None:
            raise ToolFailed(f"the rule {rule.text} denies that server; go on without its prompt", error_code=6)
