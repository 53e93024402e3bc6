import asyncio

from holdfast import Executor, tool


@tool(read_only=True, concurrency_safe=True)
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def main() -> None:
    async with Executor(tools=[add], permission_mode="bypassPermissions") as executor:
        for i in range(3):
            executor.add({"type": "tool_use", "id": f"t{i}", "name": "add", "input": {"a": i}})
        async for event in executor.results():
            print(event)


asyncio.run(main())
