import asyncio
from typing import Literal

from pydantic import Field

from holdfast import Executor, Tool, ToolContext, ToolResult
from holdfast.contract import Args, Effects, ToolFailed


class CountArgs(Args):
    file_path: str = Field(description="The file to count in.")
    what: Literal["lines", "words"] = Field(default="lines", description="What to count.")


class Count(Tool[CountArgs, int]):
    name, args_type = "Count", CountArgs
    search_hint = "how many lines or words a file has"
    max_result_chars = 1_000
    read_only = concurrency_safe = True

    def prompt(self, facts: object = None) -> str:
        return "Count the lines or words of a text file."

    def effects(self, args: CountArgs, ctx: ToolContext) -> Effects:
        return Effects(reads=[ctx.resolve(args.file_path)])

    async def call(self, args: CountArgs, ctx: ToolContext) -> ToolResult[int]:
        path = ctx.resolve(args.file_path)
        try:
            text = await asyncio.to_thread(path.read_text, "utf-8")
        except OSError as error:
            raise ToolFailed(f"cannot read {str(path)!r}: {error.strerror}") from error
        count = len(text.splitlines()) if args.what == "lines" else len(text.split())
        return ToolResult(count, f"{count} {args.what}")


print(Executor(tools=[Count()]).call("Count", {"file_path": __file__, "what": "words"}).content)
