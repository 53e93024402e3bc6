"""Microseconds of a turn without tools, with a fake model; run in an environment of its own."""
import asyncio, statistics, time, json
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
agent=Agent(FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("ok")])))
async def main():
    ts=[]
    for _ in range(100):
        t=time.perf_counter(); await agent.run("hi"); ts.append(time.perf_counter()-t)
    print(json.dumps(statistics.quantiles(sorted(ts), n=5)[0]*1e6))
asyncio.run(main())
