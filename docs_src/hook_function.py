from holdfast import Agent
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.testing import ScriptedModel


async def no_push(call: HookCall) -> HookAnswer | None:
    return HookAnswer("deny", "pushing is for people") if "push" in call.tool_input["command"] else None


model = ScriptedModel([[{"tool": "Bash", "input": {"command": "git push"}}], "I may not push."])
with Agent(model, allowed_tools="Bash", hooks=[Hook("PreToolUse", no_push, "Bash")]) as agent:
    result = agent.run_sync("Push it.")
    print(result, [refused["tool_name"] for refused in result.denials])
