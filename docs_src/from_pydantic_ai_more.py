import asyncio

from pydantic import BaseModel

from holdfast import Agent, RunFailed
from holdfast.testing import ScriptedModel


class Query(BaseModel):
    sql: str


class Refusal(BaseModel):
    reason: str


writer = Agent("anthropic:sonnet", output_type=[Query, Refusal], builtin_tools=False)
poet = Agent("anthropic:sonnet", builtin_tools=False, append_system_prompt="You write short poems.")


async def main() -> None:
    # Another model for one run: no key of the agent's own model is needed.
    answer = ScriptedModel([[{"tool": "StructuredOutput", "input": {"result": {"sql": "SELECT 1"}}}]])
    async with writer:
        match (await writer.run("All users", model=answer)).output:
            case Query(sql=sql):
                print(sql)
            case Refusal(reason=reason):
                print("refused:", reason)

    # The text while it is written, and the conversation as data for another agent.
    async with poet.copy(model=ScriptedModel(["Roses are red."])) as first:
        run = first.run("A poem, please.")
        async for text in run.stream_text():
            print(text, end="", flush=True)
        messages = (await run).messages
    async with poet.copy(model=ScriptedModel(["Violets are blue."]), history=messages) as second:
        print(" " + (await second.run("Go on.", max_turns=3, max_total_tokens=20_000)).output)

    # Several at once, and a failure as an exception.
    async with poet.copy(model=ScriptedModel(["One."])) as one, poet.copy(model=ScriptedModel([])) as two:
        results = await asyncio.gather(one.run("Now"), two.run("Now"))
    try:
        print([result.raise_for_error().output for result in results])
    except RunFailed as error:
        print("failed:", error.result.outcome)


asyncio.run(main())
