"""Who is measured cold: our own program, and codex and opencode from npm.

Each says how it is started and what a model sends it. Peers get a home of their own, know no other model than the one
on this machine, and a proxy that nobody listens on stands where they would call anybody else.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
RULES = 50
NOBODY = "http://127.0.0.1:9"
CODEX = """model = "fake"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
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
    answers: Callable[[int, str | None], Iterator[bytes]]
    """An answer as it streams: a shell command or a word; the last piece but the end completes its block."""


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
    return Program("holdfast", [HOLDFAST, *words], environment, _messages("Bash"))


def with_tls(program: Program, url: str, bundle: Path) -> Program:
    """The same program, with the same model behind TLS."""
    environment = {**program.environment, "ANTHROPIC_BASE_URL": url, "SSL_CERT_FILE": str(bundle)}
    return program._replace(name=f"{program.name} with TLS", environment=environment)


def peers(place: Path, url: str) -> list[Program]:
    """The peers that can be installed here."""
    return [found for made in (codex, _opencode) if (found := made(place, url)) is not None]


def codex(place: Path, url: str) -> Program | None:
    binary = _installed("@openai/codex", "codex", "node_modules/@openai/codex-*/vendor/*/bin/codex")
    if binary is None:
        return None
    environment = _peer_home(place / "codex-home")
    (place / "codex-home" / ".codex").mkdir()
    (place / "codex-home" / ".codex" / "config.toml").write_text(CODEX.format(url=url))
    words = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"]
    return Program("codex", [str(binary), *words], {**environment, "FAKE_KEY": "x"}, _responses)


def _opencode(place: Path, url: str) -> Program | None:
    binary = _installed("opencode-ai", "opencode", "node_modules/opencode-linux-*/bin/opencode")
    if binary is None:
        return None
    options = {"baseURL": f"{url}/v1", "apiKey": "x"}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
        "provider": {"anthropic": {"options": options, "models": {"fake": {"name": "fake"}}}},
        "model": "anthropic/fake",
        "small_model": "anthropic/fake",
    }
    environment = {
        **_peer_home(place / "opencode-home"),
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }
    words = ["run", "--pure", "--title", "measured", "--model", "anthropic/fake", "go"]
    return Program("opencode", [str(binary), *words], environment, _messages("bash", description="a command"))


def _installed(package: str, name: str, pattern: str) -> Path | None:
    """The binary of an npm package, in a folder of its own; None, with a word, where it cannot be had."""
    folder = HERE / ".peers" / name
    found = next(iter(sorted(folder.glob(pattern))), None)
    if found is None and shutil.which("npm"):
        print(f"     installing {package} ...", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), package], check=False, timeout=600)
        found = next(iter(sorted(folder.glob(pattern))), None)
    if found is None:
        print(f"     {package} cannot be installed here, so it is not measured", file=sys.stderr)
    return found


def _peer_home(home: Path) -> dict[str, str]:
    home.mkdir(parents=True)
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOBODY)
    return {"PATH": os.environ["PATH"], "HOME": str(home), **proxies, "NO_PROXY": "127.0.0.1,localhost"}


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


def _messages(tool: str, **always: str) -> Callable[[int, str | None], Iterator[bytes]]:
    """The Messages API, to a program whose shell tool has this name."""

    def pieces(number: int, command: str | None) -> Iterator[bytes]:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": "ok"}
        if command is not None:
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": command, **always})}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message: dict[str, Any] = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "x"}
        message |= {"content": [], "usage": usage}
        yield _event("message_start", {"message": message})
        yield _event("content_block_start", {"index": 0, "content_block": block})
        yield _event("content_block_delta", {"index": 0, "delta": delta})
        yield _event("content_block_stop", {"index": 0})
        reason = "end_turn" if command is None else "tool_use"
        yield _event("message_delta", {"delta": {"stop_reason": reason}, "usage": usage}) + _event("message_stop", {})

    return pieces


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
