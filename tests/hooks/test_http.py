"""Web addresses as hooks."""

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest

from holdfast.hooks.answers import HookAnswer, HookFailed
from holdfast.hooks.http import HttpRunner
from holdfast.hooks.inputs import PreToolUse

DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}


class _Handler(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, Any]] = {}
    seen: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        type(self).seen.append((dict(self.headers), json.loads(body)))
        status, said = type(self).answers.get(self.path, (200, ""))
        data = said if isinstance(said, bytes) else said.encode()
        self.send_response(status)
        if status == 302:
            self.send_header("location", "/deny")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, list[Any]]]:
    _Handler.seen = []
    _Handler.answers = {
        "/deny": (200, json.dumps(DENY)),
        "/broken": (200, "{nope"),
        "/error": (500, json.dumps(DENY)),
        "/moved": (302, ""),
        "/large": (200, b"{" * 3_000_000),
    }
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as made:
        thread = Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_address[1]}", _Handler.seen
        made.shutdown()
        thread.join(10)


def ask(url: str, *, own: bool = True, **handler: Any) -> HookAnswer:
    event = PreToolUse(tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t")
    runner = HttpRunner(may_be_private=own, is_of_folder=handler.pop("folder", False))
    return asyncio.run(runner.run({"url": url, **handler}, event, 20.0))


def test_a_good_answer_with_json_decides_and_the_event_is_the_body(server: tuple[str, list[Any]]):
    url, seen = server
    assert ask(f"{url}/deny").behavior == "deny"
    [(headers, body)] = seen
    assert body["tool_input"] == {"command": "ls"}
    assert {name.lower(): value for name, value in headers.items()}["content-type"] == "application/json"
    assert ask(f"{url}/empty") == HookAnswer()


@pytest.mark.parametrize(("path", "is_soft"), [("error", True), ("moved", True), ("broken", False), ("large", False)])
def test_any_other_answer_decides_nothing(server: tuple[str, list[Any]], path: str, is_soft: bool):
    with pytest.raises(HookFailed) as failed:
        ask(f"{server[0]}/{path}")
    assert failed.value.is_soft is is_soft


def test_headers_see_only_the_variables_that_the_hook_names(server: tuple[str, list[Any]], monkeypatch: Any):
    monkeypatch.setenv("MY_TOKEN", "t0k")
    monkeypatch.setenv("OTHER", "secret")
    ask(
        f"{server[0]}/x",
        headers={"Authorization": "Bearer $MY_TOKEN", "X-Other": "${OTHER}."},
        allowedEnvVars=("MY_TOKEN",),
    )
    headers = {name.lower(): value for name, value in server[1][0][0].items()}
    assert (headers["authorization"], headers["x-other"]) == ("Bearer t0k", ".")


def test_a_folders_hook_sends_no_key_of_a_model_provider(server: tuple[str, list[Any]], monkeypatch: Any):
    monkeypatch.setenv("OPENAI_API_KEY", "k3y")
    given: dict[str, Any] = {"headers": {"X": "$OPENAI_API_KEY"}, "allowedEnvVars": ["OPENAI_API_KEY"]}
    with pytest.raises(HookFailed, match="key of a model provider"):
        ask(f"{server[0]}/x", folder=True, **given)
    assert server[1] == []
    ask(f"{server[0]}/x", **given)
    assert {name.lower(): value for name, value in server[1][0][0].items()}["x"] == "k3y"


def test_a_folders_hook_does_not_reach_this_machine_and_nobody_a_metadata_service(server: tuple[str, list[Any]]):
    with pytest.raises(HookFailed, match="not a public address"):
        ask(f"{server[0]}/deny", own=False)
    for url in ("http://169.254.169.254/x", "http://[fd00:ec2::254]/x", "http://[::ffff:169.254.169.254]/"):
        with pytest.raises(HookFailed, match="metadata"):
            ask(url)
    assert server[1] == []


def test_nobody_there_is_a_failure():
    with pytest.raises(HookFailed, match="could not be asked"):
        ask("http://127.0.0.1:9/")
    with pytest.raises(HookFailed):
        ask("nonsense")
