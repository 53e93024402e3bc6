from mcp.server import MCPServer

from holdfast import Agent
from holdfast.testing import ScriptedModel

calculator = MCPServer("calculator")


@calculator.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


agent = Agent(
    ScriptedModel([{"tool": "mcp__calc__add", "input": {"a": 2, "b": 3}}, "It is 5."]),
    mcp_servers={"calc": calculator},  # or {"command": "npx", "args": [...]}, as in .mcp.json
    allowed_tools=["mcp__calc"],
    persist=False,
)
with agent:
    print(agent.run_sync("What is 2 + 3?").text)
