from holdfast import Agent, tool
from holdfast.testing import ScriptedModel


@tool(read_only=True)
async def price(item: str) -> float:
    """Look up what an item costs."""
    return {"milk": 1.29, "eggs": 3.49}[item]


# With a key: Agent("anthropic:sonnet", …). This one plays a script, so that it runs anywhere.
model = ScriptedModel([[{"tool": "price", "input": {"item": "milk"}}], "Milk costs 1.29."])
with Agent(model, tools=[price], allowed_tools=["price"]) as agent:
    print(agent.run_sync("What does milk cost?"))
