"""Microseconds per further call in a turn of 100, with a fake model; run in an environment of its own."""
import asyncio, statistics, time, json
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, ToolCallPart, TextPart
from pydantic_ai.models.function import FunctionModel
N=1
def model(messages, info):
    if any(p.part_kind=="tool-return" for m in messages for p in m.parts): return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("trivial", {"a": i}, tool_call_id=f"t{i}") for i in range(N)])
agent=Agent(FunctionModel(model))
@agent.tool_plain
async def trivial(a:int)->int:
    "Give back the number."
    return a
async def main():
    global N
    out={}
    for n in (1,100):
        N=n; ts=[]
        for _ in range(15):
            t=time.perf_counter(); await agent.run("go"); ts.append(time.perf_counter()-t)
        out[n]=statistics.median(ts)
    print(json.dumps((out[100]-out[1])/99*1e6))
asyncio.run(main())
