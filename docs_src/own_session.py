import asyncio
import tempfile

from holdfast import Executor, tool
from holdfast.events import CallFinished
from holdfast.session import user_store


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main() -> None:
    with tempfile.TemporaryDirectory() as project:
        store = user_store()
        with store.create(project) as session:
            async with Executor([add], on_event=session.journal, spill_directory=session.tool_results) as executor:
                executor.add({"type": "tool_use", "id": "1", "name": "add", "input": {"a": 1, "b": 2}})
                async for event in executor.results():
                    if isinstance(event, CallFinished):
                        print(event.outcome)
        session, transcript = store.resume(session.id)
        with session:
            print([call.name for call in transcript.calls])


asyncio.run(main())
