"""Who is measured cold: our own program, and codex from npm. Each says how it is started and what a model sends it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
RULES = 50
CODEX = """model = "fake"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
"""


class Program(NamedTuple):
    """A program under measurement: what starts it, and how a model's answers look to it."""

    name: str
    argv: list[str]
    environment: dict[str, str]

    def pieces(self, number: int, command: str | None) -> Iterator[bytes]:
        """An answer as it streams: a shell command or a word; the last piece but the end completes its block."""
        return _responses(number, command) if self.name == "codex" else _messages(number, command)


def ours(place: Path, url: str) -> Program:
    """`holdfast -p` in a trusted repository with instructions and rules, its journal and guard on."""
    home, work = place / "home", place / "work"
    _fill(home, work)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "XDG_", "PYTHON"))},
        "HOME": str(home),
        "ANTHROPIC_API_KEY": "x",
        "ANTHROPIC_BASE_URL": url,
        "NO_PROXY": "127.0.0.1,localhost",
    }
    subprocess.run([HOLDFAST, "trust", "--yes"], cwd=work, env=environment, check=True, capture_output=True)
    words = ["-p", "go", "--model", "anthropic:claude-sonnet-5", "--permission-mode", "bypassPermissions"]
    return Program("holdfast", [HOLDFAST, *words], environment)


def codex(place: Path, url: str) -> Program | None:
    """The binary of codex, installed from npm into a folder of its own; None where there is no npm."""
    folder = HERE / ".peers" / "codex"
    binary = next(iter(folder.glob("node_modules/@openai/codex-*/vendor/*/bin/codex")), None)
    if binary is None and shutil.which("npm"):
        print("     installing @openai/codex ...", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), "@openai/codex"], check=True)
        binary = next(iter(folder.glob("node_modules/@openai/codex-*/vendor/*/bin/codex")), None)
    if binary is None:
        return None
    home = place / "codex-home"
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text(CODEX.format(url=url))
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "FAKE_KEY": "x", "NO_PROXY": "127.0.0.1"}
    words = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"]
    return Program("codex", [str(binary), *words], environment)


def _fill(home: Path, work: Path) -> None:
    (home / ".claude").mkdir(parents=True)
    (work / ".claude").mkdir(parents=True)
    allow = [f"Bash(command{number} *)" for number in range(RULES - 2)]
    mine = {"permissions": {"allow": allow, "deny": ["Read(./.env)", "Bash(rm -rf *)"]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(mine))
    (work / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"allow": ["Bash(make test)"]}}))
    (work / "CLAUDE.md").write_text("# This project\n\nRun `make test` before you commit.\n" * 20)
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)


def _event(kind: str, data: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), json.dumps({"type": kind, **data}).encode())


def _messages(number: int, command: str | None) -> Iterator[bytes]:
    """The Messages API."""
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": "ok"}
    if command is not None:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": command})}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "x"}
    message |= {"content": [], "usage": usage}
    yield _event("message_start", {"message": message})
    yield _event("content_block_start", {"index": 0, "content_block": block})
    yield _event("content_block_delta", {"index": 0, "delta": delta})
    yield _event("content_block_stop", {"index": 0})
    reason = "end_turn" if command is None else "tool_use"
    yield _event("message_delta", {"delta": {"stop_reason": reason}, "usage": usage}) + _event("message_stop", {})


def _responses(number: int, command: str | None) -> Iterator[bytes]:
    """The Responses API."""
    item: dict[str, Any] = {"type": "message", "role": "assistant", "id": f"m{number}"}
    item["content"] = [{"type": "output_text", "text": "ok"}]
    if command is not None:
        arguments = json.dumps({"cmd": command})
        item = {"type": "function_call", "call_id": f"c{number}", "name": "exec_command", "arguments": arguments}
    yield _event("response.created", {"response": {"id": f"r{number}"}})
    yield _event("response.output_item.done", {"output_index": 0, "item": item})
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}
    done = {"response": {"id": f"r{number}", "usage": {**usage, "total_tokens": 2}}}
    yield _event("response.completed", done)
