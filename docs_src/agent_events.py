import asyncio

from pydantic import BaseModel

from holdfast import Agent
from holdfast.events import CallFinished
from holdfast.testing import ScriptedModel


class Summary(BaseModel):
    title: str
    words: int


async def main() -> None:
    script = [
        [{"tool": "Glob", "input": {"pattern": "*.md"}}],
        [{"tool": "StructuredOutput", "input": {"title": "Readme", "words": 12}}],
    ]
    async with Agent(ScriptedModel(script), output_type=Summary, builtin_tools=["Glob", "Read"]) as agent:
        run = agent.run("Summarise the readme.")
        async for event in run:  # or only: result = await agent.run(…)
            if isinstance(event, CallFinished):
                print(event.name, event.outcome)
        result = await run
        print(repr(result.output))


asyncio.run(main())
