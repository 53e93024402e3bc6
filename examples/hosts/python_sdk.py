# pyright: basic, reportMissingImports=false
import asyncio
import os

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

OPTIONS = ClaudeAgentOptions(cli_path=os.environ.get("AGENT", "holdfast"), allowed_tools=["Bash(ls *)"])


async def main() -> None:
    async for message in query(prompt="Which files are here?", options=OPTIONS):
        if isinstance(message, ResultMessage):
            print(message.result)


asyncio.run(main())
