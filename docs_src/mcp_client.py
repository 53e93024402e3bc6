import asyncio
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "notes.txt").write_text("Hello.\n")
        server = StdioServerParameters(command="holdfast", args=["mcp", "serve", "--tools", "Read", "--cwd", folder])
        async with Client(server) as client:
            print(await client.call_tool("Read", {"file_path": "notes.txt"}))


asyncio.run(main())
