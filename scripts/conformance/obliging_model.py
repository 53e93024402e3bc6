"""A model on this machine that does what a prompt says, so that programs for real models run without one.

A prompt may say it exactly, one step a line: `CALL Bash {"command": "ls"}`, `SAY done`, `THINK hm`, `SLOWLY 1 2 3`.
Otherwise a few sentences that the public tests and examples use are understood, and anything else is answered.

    python scripts/conformance/obliging_model.py     serves it, and prints its address
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

from holdfast.testing import FakeProvider, FakeTurn, RecordedRequest, error_turn

__all__ = ["Obliging"]

Block = dict[str, Any]
Step = list[Block]
"""The blocks of one answer."""
_DIRECTIVE = re.compile(r"^(CALL|SAY|THINK|SLOWLY) ?(.*)$", re.MULTILINE)
_QUOTED = re.compile(r"'([^']*)'")


class Obliging(FakeProvider):
    """Answers every request from what stands in it; it remembers nothing."""

    def __init__(self) -> None:
        super().__init__(then=_answer)


def _answer(request: RecordedRequest) -> FakeTurn:
    asked = request.json
    if "nonexistent" in asked["model"]:
        return error_turn(404, "not_found_error", f"model: {asked['model']}")
    prompt, done = _prompt(asked["messages"])
    if mirrored := _mirrored(prompt, asked):
        return FakeTurn(blocks=[_text(mirrored)], model=asked["model"])
    tools = {tool["name"]: tool for tool in asked.get("tools", [])}
    steps = _plan(prompt, tools)
    step = steps[done] if done < len(steps) else [_text("Done.")]
    if asked.get("thinking", {}).get("type") not in (None, "disabled"):
        step = [{"type": "thinking", "thinking": f"I think about it: {prompt[:80]}", "signature": "signed"}, *step]
    slow = any(block.pop("slow", False) for block in step)
    usage = {"input_tokens": 1000, "output_tokens": 100}
    return FakeTurn(blocks=step, model=asked["model"], drip_s=0.1 if slow else 0.0, usage=usage)


def _mirrored(prompt: str, asked: Block) -> str:
    """What was sent, for probes that want to see it."""
    word = prompt.strip().partition("\n")[0]
    system = asked.get("system", "")
    whole = system if isinstance(system, str) else "\n\n".join(block["text"] for block in system)
    if word == "WHO":
        return f"SYSTEM: {whole[:200]}"
    if word == "WHOLE SYSTEM":
        return whole or "NOTHING"
    if word == "FIRST MESSAGE":
        return json.dumps(asked["messages"][0], ensure_ascii=False)
    return json.dumps(asked["messages"], ensure_ascii=False) if word == "HISTORY" else ""


def _prompt(messages: list[Block]) -> tuple[str, int]:
    """The last thing that a person said, and how often it was answered since."""
    done = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            done += 1
            continue
        blocks = message["content"]
        texts = [blocks] if isinstance(blocks, str) else [one["text"] for one in blocks if one["type"] == "text"]
        said = [text for text in texts if not text.lstrip().startswith(("<system-reminder>", "["))]
        if said:
            return "\n".join(said), done
    return "", done


def _plan(prompt: str, tools: dict[str, Any]) -> list[Step]:
    directives = _DIRECTIVE.findall(prompt)
    if directives:
        return [_directed(*one) for one in directives]
    for pattern, make in _SENTENCES:
        if found := re.search(pattern, prompt, re.DOTALL):
            return make(found, tools)
    if "StructuredOutput" in tools:
        return [[_call("StructuredOutput", **_sample(tools["StructuredOutput"]["input_schema"], prompt))]]
    return [[_text(f"You said: {prompt[:200]}")]]


def _directed(word: str, rest: str) -> Step:
    if word == "CALL":
        return [_call(name, **json.loads(given or "{}")) for name, _, given in _calls(rest)]
    if word == "THINK":
        return [{"type": "thinking", "thinking": rest, "signature": "signed"}, _text("I have thought.")]
    return [_text(rest) | ({"slow": True} if word == "SLOWLY" else {})]


def _calls(rest: str) -> Iterable[tuple[str, str, str]]:
    return (one.strip().partition(" ") for one in rest.split(" && CALL "))


def _call(tool: str, /, **given: Any) -> Block:
    _call.count += 1
    return {"type": "tool_use", "id": f"toolu_{_call.count:06}", "name": tool, "input": given}


_call.count = 0


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _sample(schema: Any, prompt: str) -> Any:
    """Data that fits a schema, sensible where the prompt says what is wanted."""
    if not isinstance(schema, dict):
        return "x"
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        return {name: _named(name, inner, prompt) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [_sample(schema.get("items"), prompt)]
    return {"number": 2, "integer": 2, "boolean": True}.get(str(kind), "x")


def _named(name: str, schema: Any, prompt: str) -> Any:
    quoted = _QUOTED.findall(prompt)
    if name == "words" and quoted:
        return quoted[0].split()
    if name == "character_count" and quoted:
        return len(quoted[0])
    return _sample(schema, prompt)


def _shell(found: re.Match[str], tools: dict[str, Any]) -> list[Step]:
    return [[_call("Bash", command=found[1].strip().strip("`"))], [_text("It ran.")]] if "Bash" in tools else []


def _write(found: re.Match[str], tools: dict[str, Any]) -> list[Step]:
    del tools
    return [[_call("Write", file_path=found[1], content=found[2])], [_text("Written.")]]


def _agent(found: re.Match[str], tools: dict[str, Any]) -> list[Step]:
    name = "Agent" if "Agent" in tools else "Task"
    given = {"description": "say hi", "prompt": found[2], "subagent_type": found[1], "run_in_background": False}
    return [[_call(name, **given)], [_text("DONE")]]


def _remote(found: re.Match[str], tools: dict[str, Any]) -> list[Step]:
    """Every tool of a server that the prompt names, each with a sample of its input."""
    names = [name for name in tools if name.startswith("mcp__") and re.search(rf"\b{name.split('__')[-1]}\b", found[0])]
    if not names and "ToolSearch" in tools:
        return [[_call("ToolSearch", query=f"select:{','.join(re.findall(r'mcp__[a-z]+__[a-z]+', found[0]))}")]]
    made = [[_call(name, **_sample(tools[name]["input_schema"], found[0]))] for name in names]
    return [*made, [_text("All tools were called.")]]


def _say(found: re.Match[str], tools: dict[str, Any]) -> list[Step]:
    del tools
    return [[_text(found[1].strip())]]


_SENTENCES: tuple[tuple[str, Callable[[re.Match[str], dict[str, Any]], list[Step]]], ...] = (
    (r"Reply with(?: exactly)?: (.*)", _say),
    (r"Run(?: this bash command| the command)?: (.*)", _shell),
    (r"[Rr]un (?:the bash command|this command|command): (.*)", _shell),
    (r"Use the Write tool to create the file (\S+) containing exactly the text (\w+)", _write),
    (r"subagent_type '(\w+)', prompt '([^']*)'", _agent),
    (r"mcp__.*|.*\b(?:greet|echo) tool.*", _remote),
    (r"(Count from 1 to 100) slowly", lambda _, __: [[_text(" ".join(map(str, range(1, 101)))) | {"slow": True}]]),
)


async def _serve() -> None:
    async with Obliging() as provider:
        print(provider.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(_serve())
    except KeyboardInterrupt:
        sys.exit(0)
