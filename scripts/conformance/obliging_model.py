"""The model of the probes: it does what a prompt says, and understands sentences of public tests and examples.

python scripts/conformance/obliging_model.py     serves it, and prints its address
"""

import asyncio
import re
import sys
from collections.abc import Callable
from typing import Any

from holdfast.testing.obliging import ObligingProvider, calling, saying

__all__ = ["understand"]

Steps = list[list[dict[str, Any]]]
_QUOTED = re.compile(r"'([^']*)'")


def understand(prompt: str, tools: dict[str, Any]) -> Steps | None:
    """The steps that a sentence means."""
    for pattern, make in _SENTENCES:
        if found := re.search(pattern, prompt, re.DOTALL):
            return make(found, tools)
    if "StructuredOutput" in tools:
        return [[calling("StructuredOutput", **_sample(tools["StructuredOutput"]["input_schema"], prompt))]]
    return None


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


def _shell(found: re.Match[str], tools: dict[str, Any]) -> Steps:
    del tools
    return [[calling("Bash", command=found[1].strip().strip("`"))], [saying("It ran.")]]


def _write(found: re.Match[str], tools: dict[str, Any]) -> Steps:
    del tools
    return [[calling("Write", file_path=found[1], content=found[2])], [saying("Written.")]]


def _agent(found: re.Match[str], tools: dict[str, Any]) -> Steps:
    del tools
    given = {"description": "say hi", "prompt": found[2], "subagent_type": found[1], "run_in_background": False}
    return [[calling("Agent", **given)], [saying("DONE")]]


def _remote(found: re.Match[str], tools: dict[str, Any]) -> Steps:
    """Every tool of a server that the prompt names, each with a sample of its input."""
    asked = {name: tool for name, tool in tools.items() if name.startswith("mcp__")}
    names = [name for name in asked if re.search(rf"\b{name.split('__')[-1]}\b", found[0])]
    made = [[calling(name, **_sample(asked[name]["input_schema"], found[0]))] for name in names]
    if not made and "ToolSearch" in tools:  # their arguments are told on demand; here they are texts, all of them
        wanted = sorted(set(re.findall(r"mcp__\w+?__\w+", found[0])))
        made = [[calling("ToolSearch", query=f"select:{','.join(wanted)}")]]
        made += [[calling(name, **{"name" if name.endswith("greet") else "text": "x"})] for name in wanted]
    return [*made, [saying("All tools were called.")]]


def _said(found: re.Match[str], tools: dict[str, Any]) -> Steps:
    del tools
    return [[saying(found[1].strip())]]


def _counted(found: re.Match[str], tools: dict[str, Any]) -> Steps:
    del found, tools
    return [[saying(" ".join(map(str, range(1, 101)))) | {"slow": True}]]


_SENTENCES: tuple[tuple[str, Callable[[re.Match[str], dict[str, Any]], Steps]], ...] = (
    (r"Reply with(?: exactly)?: (.*)", _said),
    (r"Run(?: this bash command| the command)?: (.*)", _shell),
    (r"[Rr]un (?:the bash command|this command|command): (.*)", _shell),
    (r"Use the Write tool to create the file (\S+) containing exactly the text (\w+)", _write),
    (r"subagent_type '(\w+)', prompt '([^']*)'", _agent),
    (r".*(?:mcp__|\b(?:greet|echo) tool).*", _remote),
    (r"Count from 1 to 100 slowly", _counted),
)


async def _serve() -> None:
    async with ObligingProvider(understand) as provider:
        print(provider.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(_serve())
    except KeyboardInterrupt:
        sys.exit(0)
