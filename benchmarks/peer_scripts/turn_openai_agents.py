"""Microseconds of a turn without tools, with a fake model; run in an environment of its own."""
import asyncio, statistics, time, json
from agents import Agent, Runner, Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
set_tracing_disabled(True)
class Fake(Model):
    async def get_response(self, *a, **k):
        out=[ResponseOutputMessage(id="m",type="message",role="assistant",status="completed",content=[ResponseOutputText(text="ok",type="output_text",annotations=[])])]
        return ModelResponse(output=out, usage=Usage(), response_id=None)
    def stream_response(self,*a,**k): raise NotImplementedError
agent=Agent(name="a",model=Fake())
async def main():
    ts=[]
    for _ in range(100):
        t=time.perf_counter(); await Runner.run(agent,"hi"); ts.append(time.perf_counter()-t)
    print(json.dumps(statistics.quantiles(sorted(ts), n=5)[0]*1e6))
asyncio.run(main())
