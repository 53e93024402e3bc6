# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
"""What every probe of the Python SDK shares: a fresh folder, the agent's program, and the messages of a run."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import claude_agent_sdk as sdk

__all__ = [
    "PIXEL", "SCHEMA", "Lab", "blocks", "call", "init_of", "lines", "main", "probe", "result_of", "results", "say",
    "texts", "the",
]  # fmt: skip

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture."""
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
_LIMIT_S = 60
_PROBES: list[Callable[["Lab"], Awaitable[None]]] = []
Messages = list[Any]


class Lab:
    """One probe's folder."""

    def __init__(self, cwd: str) -> None:
        self.cwd = Path(cwd)
        self.errors: list[str] = []
        """What the agent wrote to standard error."""

    def options(self, **given: Any) -> sdk.ClaudeAgentOptions:
        settled = {"cli_path": os.environ["AGENT"], "cwd": str(self.cwd), "stderr": self.errors.append, **given}
        return sdk.ClaudeAgentOptions(**settled)

    def trust(self) -> None:
        """The user has looked at what the folder brings, and trusts it."""
        argv = [os.environ["AGENT"], "trust", "--yes"]
        subprocess.run(argv, cwd=self.cwd, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)

    async def ask(self, prompt: Any, **given: Any) -> Messages:
        """The messages that answer a prompt, by `query`."""
        return [message async for message in sdk.query(prompt=prompt, options=self.options(**given))]

    def client(self, **given: Any) -> sdk.ClaudeSDKClient:
        return sdk.ClaudeSDKClient(self.options(**given))


async def say(client: sdk.ClaudeSDKClient, prompt: Any) -> Messages:
    """The messages that answer a prompt of a session."""
    await client.query(prompt)
    return [message async for message in client.receive_response()]


def call(tool: str, **given: Any) -> str:
    """A prompt line that makes the model call a tool."""
    return f"CALL {tool} {json.dumps(given)}"


async def lines(*said: Any) -> AsyncIterator[dict[str, Any]]:
    """Prompts as a stream."""
    for one in said:
        content = one if isinstance(one, (str, list)) else one.pop("content")
        more = {} if isinstance(one, (str, list)) else one
        yield {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None, **more}


def the(messages: Messages, kind: type, **fields: Any) -> Any:
    """The only message of a kind that has these fields, or the last of several."""
    found = [
        message
        for message in messages
        if isinstance(message, kind) and all(getattr(message, name) == value for name, value in fields.items())
    ]
    assert found, f"no {kind.__name__} with {fields} in {[type(message).__name__ for message in messages]}"
    return found[-1]


def init_of(messages: Messages) -> dict[str, Any]:
    return the(messages, sdk.SystemMessage, subtype="init").data


def result_of(messages: Messages) -> sdk.ResultMessage:
    return the(messages, sdk.ResultMessage)


def blocks(messages: Messages, kind: type, *, of: type = sdk.AssistantMessage) -> list[Any]:
    found = (message for message in messages if isinstance(message, of) and isinstance(message.content, list))
    return [block for message in found for block in message.content if isinstance(block, kind)]


def texts(messages: Messages) -> str:
    return "\n".join(block.text for block in blocks(messages, sdk.TextBlock))


def results(messages: Messages) -> list[sdk.ToolResultBlock]:
    return blocks(messages, sdk.ToolResultBlock, of=sdk.UserMessage)


def probe(function: Callable[[Lab], Awaitable[None]]) -> Callable[[Lab], Awaitable[None]]:
    _PROBES.append(function)
    return function


async def _run(function: Callable[[Lab], Awaitable[None]]) -> dict[str, Any]:
    name = function.__name__
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        lab = Lab(os.path.realpath(place))
        try:
            async with asyncio.timeout(_LIMIT_S):
                await function(lab)
        except Exception as error:
            where = "".join(traceback.format_exception(error)[-2:]).strip()
            return {"case": name, "ok": False, "detail": f"{where}\nstderr: {lab.errors[-5:]}"}
    return {"case": name, "ok": True}


def main(wanted: list[str]) -> None:
    """Run the probes, or those whose names hold one of the words; one JSON line for each."""
    for function in _PROBES:
        if not wanted or any(word in function.__name__ for word in wanted):
            with suppress(BrokenPipeError):
                print(json.dumps(asyncio.run(_run(function))), flush=True)
    sys.stdout.flush()
