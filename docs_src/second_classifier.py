import asyncio

from holdfast import Executor, tool
from holdfast.events import CallFinished
from holdfast.permissions import model_classifier


@tool
async def publish(page: str) -> str:
    """Publish a page."""
    return f"{page} is public"


async def complete(prompt: str) -> str:  # with a key: any model client
    return '{"verdict": "ask", "reason": "it cannot be taken back"}'


async def main() -> None:
    classify = model_classifier(complete, model="small")
    async with Executor([publish], permission_mode="auto", classify=classify, classify_timeout_s=10) as executor:
        executor.add({"type": "tool_use", "id": "1", "name": "publish", "input": {"page": "prices"}})
        async for event in executor.results():
            if isinstance(event, CallFinished):
                print(event.outcome)


asyncio.run(main())
