from dataclasses import dataclass

from pydantic import BaseModel

from holdfast import Agent, ToolContext, ToolFailed, tool
from holdfast.testing import ScriptedModel


@dataclass
class Bank:
    balances: dict[int, float]


class Advice(BaseModel):
    text: str
    block_card: bool


@tool(read_only=True)
async def balance(customer: int, ctx: ToolContext[Bank]) -> float:
    """The balance of a customer's account."""
    if customer not in ctx.deps.balances:
        raise ToolFailed(f"there is no customer {customer}")  # ModelRetry there
    return ctx.deps.balances[customer]


script = [
    [{"tool": "balance", "input": {"customer": 7}}],
    [{"tool": "StructuredOutput", "input": {"text": "You have 123.45.", "block_card": False}}],
]
agent = Agent(
    ScriptedModel(script),
    tools=[balance],
    builtin_tools=False,
    deps_type=Bank,
    output_type=Advice,
    append_system_prompt="You advise customers of a bank.",
)
with agent:
    result = agent.run_sync("What is my balance? I am 7.", deps=Bank({7: 123.45}))
print(result.output.text, result.output.block_card, result.usage["output_tokens"] > 0)
