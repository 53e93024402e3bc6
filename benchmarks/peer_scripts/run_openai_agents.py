"""Microseconds per further call in a turn of 100, with a fake model; run in an environment of its own."""
import asyncio, statistics, time, json
from agents import Agent, Runner, function_tool, Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
set_tracing_disabled(True)
N=1
class Fake(Model):
    async def get_response(self, *a, **k):
        inp = a[1] if len(a)>1 else k.get("input")
        if isinstance(inp, list) and any((i.get("type") if isinstance(i, dict) else getattr(i,"type",None))=="function_call_output" for i in inp):
            out=[ResponseOutputMessage(id="m",type="message",role="assistant",status="completed",content=[ResponseOutputText(text="done",type="output_text",annotations=[])])]
        else:
            out=[ResponseFunctionToolCall(type="function_call",call_id=f"t{i}",name="trivial",arguments=json.dumps({"a":i})) for i in range(N)]
        return ModelResponse(output=out, usage=Usage(), response_id=None)
    def stream_response(self,*a,**k): raise NotImplementedError
@function_tool
async def trivial(a:int)->int:
    "Give back the number."
    return a
agent=Agent(name="a",model=Fake(),tools=[trivial])
async def main():
    global N
    out={}
    for n in (1,100):
        N=n; ts=[]
        for _ in range(15):
            t=time.perf_counter(); await Runner.run(agent,"go"); ts.append(time.perf_counter()-t)
        out[n]=statistics.median(ts)
    print(json.dumps((out[100]-out[1])/99*1e6))
asyncio.run(main())
