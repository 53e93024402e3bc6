"""Microseconds per further call in a turn of 100, with a fake model; run in an environment of its own."""
import asyncio, statistics, time, json
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode
from langgraph.graph import StateGraph, MessagesState, START, END
@tool
async def trivial(a:int)->int:
    "Give back the number."
    return a
g=StateGraph(MessagesState); g.add_node("tools", ToolNode([trivial])); g.add_edge(START,"tools"); g.add_edge("tools",END); app=g.compile()
async def main():
    out={}
    for n in (1,100):
        ts=[]
        for _ in range(15):
            msg=AIMessage(content="", tool_calls=[{"name":"trivial","args":{"a":i},"id":f"t{i}","type":"tool_call"} for i in range(n)])
            t=time.perf_counter(); r=await app.ainvoke({"messages":[msg]}); ts.append(time.perf_counter()-t)
            assert len(r["messages"])==n+1
        out[n]=statistics.median(ts)
    print(json.dumps((out[100]-out[1])/99*1e6))
asyncio.run(main())
