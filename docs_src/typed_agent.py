import asyncio
from dataclasses import dataclass

from pydantic import BaseModel

from holdfast import Agent, ToolContext, ToolFailed, tool
from holdfast.testing import ScriptedModel


@dataclass
class Shop:
    prices: dict[str, float]


class Offer(BaseModel):
    item: str
    price: float


@tool(read_only=True)
async def price(item: str, ctx: ToolContext[Shop]) -> float:
    """Look up what an item costs."""
    if item not in ctx.deps.prices:
        raise ToolFailed(
            f"there is no {item!r}; try one of {sorted(ctx.deps.prices)}"
        )  # the model reads it and tries again
    return ctx.deps.prices[item]


async def main() -> None:
    script = [
        [{"tool": "price", "input": {"item": "mlik"}}],
        [{"tool": "price", "input": {"item": "milk"}}],
        [{"tool": "StructuredOutput", "input": {"item": "milk", "price": 1.29}}],
    ]
    agent = Agent(ScriptedModel(script), [price], output_type=Offer, deps_type=Shop, builtin_tools=False)
    async with agent:
        result = await agent.run("What does milk cost?", deps=Shop({"milk": 1.29}), max_turns=5)
        print(result.output.price + 1)  # a float, also for a type checker
        print(len(result.messages), "messages, to go on from with Agent(history=…)")


asyncio.run(main())
