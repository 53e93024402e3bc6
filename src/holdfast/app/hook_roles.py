"""What hooks may use of a session beside processes: its models, its servers, and an agent that only looks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from holdfast.app.build import OpenSession
from holdfast.contract import ToolContext, ToolFailed
from holdfast.hooks import HookFailed

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.app.agent_parts import AgentParts
    from holdfast.hooks.mcp_tool import ToolSaid

__all__ = ["ask_agent", "ask_model", "call_server"]

_ANSWER_TOKENS: Final = 1_000
_AGENT_TURNS: Final = 50
_AGENT_TOOLS: Final = ("Read", "Glob", "Grep")


async def ask_model(loop: "Loop", opened: OpenSession, text: str, name: str | None) -> str:
    """Put the question of a hook to a model by its name, or to the session's own."""
    from holdfast.app.side_question import answer_of, asked_once  # noqa: PLC0415 - few hooks ask

    if name is not None:
        ask = asked_once(name, opened.rights.settings, max_output_tokens=_ANSWER_TOKENS, account=opened.account)
        return await ask(text)
    from holdfast.models import ModelRequest  # noqa: PLC0415 - loaded by now

    messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    request = ModelRequest(messages=messages, max_output_tokens=_ANSWER_TOKENS, is_streaming=False)
    blocks, _ = await answer_of(loop.model, request, opened.account)
    return "".join(str(block.get("text", "")) for block in blocks)


async def ask_agent(loop: "Loop", parts: "AgentParts", text: str, name: str | None) -> str:
    """Let an agent look into the question of a hook; it reads files and searches, and no hook hears it."""
    from holdfast.app.starter import Starter  # noqa: PLC0415 - loaded with agents
    from holdfast.app.subagents import Subagents  # noqa: PLC0415 - the same
    from holdfast.contract.roles import AgentTask  # noqa: PLC0415 - the same
    from holdfast.engine import Executor  # noqa: PLC0415 - the same

    own = parts.opened.executor
    facts = own.state.session
    waited_for = facts._replace(prompt=facts.prompt._replace(background=False))
    # Without hooks, or the agent's own calls would start it again and again.
    above = Executor(own.pool, permissions=own.state.permissions, cwd=own.state.cwd, session=waited_for, resources=())
    task = AgentTask(
        text,
        "the question of a hook",
        "Explore",
        "hook",
        model=name,
        max_turns=_AGENT_TURNS,
        mode="dontAsk",
        allowed_tools=_AGENT_TOOLS,
        is_ours=True,  # a folder's file of this name would answer for the user's gate
    )
    try:
        report = await Subagents(parts, Starter(above, loop)).run(task, _nobody_watches)
    except ToolFailed as error:
        raise HookFailed(f"the agent could not look into it: {error}") from error
    finally:
        await above.close()
    if report.error:
        raise HookFailed(f"the agent did not come to an end: {report.error}")
    return report.text


async def call_server(opened: OpenSession, server: str, tool: str, given: Mapping[str, Any]) -> "ToolSaid":
    """Call a tool of a server for a hook. It is the user's wish, so no rule is asked."""
    from holdfast.contract import Text  # noqa: PLC0415 - few hooks call servers
    from holdfast.hooks.mcp_tool import ToolSaid  # noqa: PLC0415 - the same

    hub = opened.servers
    found = None if hub is None else hub.find(server)
    if found is None:
        raise HookFailed(f"there is no MCP server {server!r} in this session")
    state = opened.executor.state
    try:
        result = await found.call_tool(tool, given, ToolContext(state.cwd, "hook", state.session))
    except ToolFailed as error:
        raise HookFailed(str(error)) from error
    content = result.text
    blocks = content if isinstance(content, list | tuple) else ()
    said = content if isinstance(content, str) else "\n".join(b.text for b in blocks if isinstance(b, Text))
    return ToolSaid(said, result.is_error)


def _nobody_watches(data: Any) -> None:
    """Where the progress of such an agent goes."""
    del data
