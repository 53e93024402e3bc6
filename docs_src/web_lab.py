import asyncio

from holdfast.testing import WebLab, run_tool_async
from holdfast.tools.web.web_fetch import WebFetch


async def main() -> None:
    async with WebLab({"docs.example.com/guide": "<h1>Guide</h1><p>Read <a href='/next'>on</a>.</p>"}) as lab:
        done = await run_tool_async(
            WebFetch(client=lab.client),
            {"url": "http://docs.example.com/guide", "prompt": "What is it about?"},
            permission_mode="bypassPermissions",
        )
        print(done.text)


asyncio.run(main())
