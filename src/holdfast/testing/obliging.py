"""A provider whose model does what a prompt says, so that programs made for real models run without one.

A prompt says it step by step, one step a line; each step is one answer of the model:

    CALL Bash {"command": "ls"}         calls a tool; ` && CALL ...` adds another to the same answer
    SAY done                            says it
    THINK hm                            thinks, and says that it did
    SLOWLY 1 2 3                        says it in many small pieces with a pause before each

The first line `SYSTEM`, `FIRST MESSAGE` or `HISTORY` is answered with that part of the request. Any other prompt is
answered with its own words.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from holdfast.testing.fake_provider import FakeProvider, RecordedRequest, error_turn
from holdfast.testing.fake_wires import FakeTurn

__all__ = ["ObligingProvider", "calling", "saying"]

Block = dict[str, Any]
Step = list[Block]
"""The blocks of one answer."""
Understand = Callable[[str, dict[str, Any]], "list[Step] | None"]
"""The steps that a prompt means, given the tools by name; None for a prompt that it does not understand."""
_DIRECTIVE = re.compile(r"^(CALL|SAY|THINK|SLOWLY) ?(.*)$", re.MULTILINE)
_NOT_PEOPLE = ("<system-reminder>", "[")
_PAUSE_S = 0.1
_SHOWN_CHARS = 200


class ObligingProvider(FakeProvider):
    """Answers every request from what stands in it, and remembers nothing; a model named `nonexistent` is refused."""

    def __init__(self, understand: Understand | None = None) -> None:
        """`understand` is asked about prompts without steps."""
        super().__init__(then=self._next)
        self._understand = understand
        self._count = 0

    def _next(self, request: RecordedRequest) -> FakeTurn:
        asked: Block = request.json
        if "nonexistent" in asked["model"]:
            return error_turn(404, "not_found_error", f"model: {asked['model']}")
        prompt, done = _prompt(asked["messages"])
        shown = _shown(prompt, asked)
        steps = [[saying(shown)]] if shown else self._steps(prompt, asked)
        step = [dict(block) for block in steps[done]] if done < len(steps) else [saying("Done.")]
        is_slow = sum(block.pop("slow", False) for block in step) > 0
        for block in step:
            if block["type"] == "tool_use":
                self._count += 1
                block["id"] = f"toolu_{self._count:06}"
        if asked.get("thinking", {}).get("type") not in (None, "disabled"):
            step = [_thinking(f"I think about {prompt[:80]}"), *step]
        usage = {"input_tokens": 1000, "output_tokens": 100}
        return FakeTurn(blocks=step, model=asked["model"], drip_s=_PAUSE_S if is_slow else 0.0, usage=usage)

    def _steps(self, prompt: str, asked: Block) -> list[Step]:
        directives = _DIRECTIVE.findall(prompt)
        if directives:
            return [_step(*one) for one in directives]
        tools = {tool["name"]: tool for tool in asked.get("tools", [])}
        understood = None if self._understand is None else self._understand(prompt, tools)
        return [[saying(f"You said: {prompt[:_SHOWN_CHARS]}")]] if understood is None else understood


def saying(text: str) -> Block:
    """Words of the model."""
    return {"type": "text", "text": text}


def calling(tool: str, /, **given: Any) -> Block:
    """A call of the model; it gets its id when it is made."""
    return {"type": "tool_use", "id": "", "name": tool, "input": given}


def _thinking(text: str) -> Block:
    return {"type": "thinking", "thinking": text, "signature": "signed"}


def _step(word: str, rest: str) -> Step:
    if word == "CALL":
        parts = (one.strip().partition(" ") for one in rest.split(" && CALL "))
        return [calling(name, **json.loads(given or "{}")) for name, _, given in parts]
    if word == "THINK":
        return [_thinking(rest), saying("I have thought.")]
    return [saying(rest) | ({"slow": True} if word == "SLOWLY" else {})]


def _prompt(messages: list[Block]) -> tuple[str, int]:
    """The last thing that a person said, and how often it was answered since."""
    done = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            done += 1
            continue
        content = message["content"]
        texts = [content] if isinstance(content, str) else [one["text"] for one in content if one["type"] == "text"]
        said = [text for text in texts if not text.lstrip().startswith(_NOT_PEOPLE)]
        if said:
            return "\n".join(said), done
    return "", done


def _shown(prompt: str, asked: Block) -> str:
    """The part of the request that a prompt wants to see."""
    word = prompt.strip().partition("\n")[0]
    if word == "SYSTEM":
        system = asked.get("system", "")
        return (system if isinstance(system, str) else "\n\n".join(block["text"] for block in system)) or "NOTHING"
    if word == "FIRST MESSAGE":
        return json.dumps(asked["messages"][0], ensure_ascii=False)
    return json.dumps(asked["messages"], ensure_ascii=False) if word == "HISTORY" else ""
