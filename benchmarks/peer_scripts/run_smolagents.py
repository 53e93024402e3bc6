"""Microseconds per further call in a turn of 100, with a fake model; run in an environment of its own."""
import statistics, time, json
from smolagents import ToolCallingAgent, Model, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
N=1
class Fake(Model):
    def __init__(self): super().__init__(model_id="fake"); self.turn=0
    def generate(self, messages, **k):
        self.turn+=1
        if self.turn%2==0:
            calls=[ChatMessageToolCall(id="f",type="function",function=ChatMessageToolCallFunction(name="final_answer",arguments={"answer":"done"}))]
        else:
            calls=[ChatMessageToolCall(id=f"t{i}",type="function",function=ChatMessageToolCallFunction(name="trivial",arguments={"a":i})) for i in range(N)]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)
@tool
def trivial(a:int)->int:
    """Give back the number.

    Args:
        a: the number
    """
    return a
agent=ToolCallingAgent(tools=[trivial],model=Fake(),verbosity_level=0)
out={}
for n in (1,100):
    N=n; ts=[]
    for _ in range(15):
        t=time.perf_counter(); agent.run("go"); ts.append(time.perf_counter()-t)
    out[n]=statistics.median(ts)
print(json.dumps((out[100]-out[1])/99*1e6))
