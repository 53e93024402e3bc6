"""`holdfast mcp serve` as a process: its pipes, its address, and what is left when it is killed."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.testing import started

SERVE = [sys.executable, "-m", "holdfast", "mcp", "serve"]
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def line(id_: int | None, method: str, params: dict[str, Any] | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return json.dumps(message if id_ is None else {**message, "id": id_}).encode() + b"\n"


def test_a_script_that_ends_its_input_gets_all_answers_and_nothing_else(tmp_path: Path) -> None:
    call = {"name": "Bash", "arguments": {"command": "python3 -c 'import time; time.sleep(3)'; echo hi"}}
    text = line(1, "initialize", GREETING) + b"\n{broken\n" + line(2, "tools/call", call)
    argv = [*SERVE, "--cwd", str(tmp_path), "--allowed-tools", "Bash"]
    done = subprocess.run(argv, input=text, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(part) for part in done.stdout.splitlines()]
    assert sorted(answer.get("id") or 0 for answer in answers) == [0, 1, 2]
    answers.sort(key=lambda answer: answer["id"] or 0)
    assert answers[0]["error"]["code"] == -32700
    assert answers[2]["result"]["content"] == [{"type": "text", "text": "hi"}]


def test_killing_the_server_leaves_no_command_running(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    argv = [*SERVE, "--cwd", str(tmp_path), "--permission-mode", "bypassPermissions"]
    os.mkfifo(tmp_path / "alive")
    with started(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as server:
        assert server.stdin is not None
        call = {"name": "Bash", "arguments": {"command": "exec 3>alive; echo begun >&3; sleep 1000"}}
        server.stdin.write(line(1, "initialize", GREETING) + line(2, "tools/call", call))
        server.stdin.flush()
        with open(tmp_path / "alive", "rb") as alive:
            assert alive.readline() == b"begun\n"
            server.send_signal(signal.SIGKILL)
            assert alive.read() == b""  # the pipe ends with the last process that holds it


class Said(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def ask(port: int, body: bytes, headers: dict[str, str], method: str = "POST") -> Said:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    known = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request(method, "/mcp", body, {**known, **headers})
    with closing(connection), connection.getresponse() as response:
        return Said(response.status, dict(response.headers), response.read())


def test_the_address_is_for_those_who_know_the_token_and_for_no_web_page(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    argv = [*SERVE, "--cwd", str(tmp_path), "--transport", "http", "--port", "0"]
    with started(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().decode().rsplit(":", 1)[1].partition("/")[0])
        token = next(Path(os.environ["XDG_STATE_HOME"]).glob("**/serve-token")).read_text().strip()
        known = {"Authorization": f"Bearer {token}"}
        greeting = line(1, "initialize", GREETING)
        assert ask(port, greeting, {}).status == 401
        assert ask(port, greeting, {"Authorization": "Bearer wrong"}).status == 401
        assert ask(port, greeting, {**known, "Origin": "https://evil.example"}).status == 403
        assert ask(port, greeting, {**known, "Host": "evil.example"}).status == 403
        assert ask(port, b"x" * 10, {**known, "Content-Type": "text/plain"}).status == 415
        assert ask(port, b"{", known).status == 400
        assert ask(port, line(2, "tools/list"), known).status == 400
        assert ask(port, line(2, "tools/list"), {**known, "Mcp-Session-Id": "nobody"}).status == 404
        begun = ask(port, greeting, {**known, "Origin": f"http://localhost:{port}"})
        assert (begun.status, json.loads(begun.body)["result"]["serverInfo"]["name"]) == (200, "holdfast")
        session = {**known, "Mcp-Session-Id": begun.headers["mcp-session-id"]}
        listed = json.loads(ask(port, line(2, "tools/list"), session).body)
        assert "Read" in [tool["name"] for tool in listed["result"]["tools"]]
        assert ask(port, line(None, "notifications/initialized"), session).status == 202
        assert ask(port, b"", session, "DELETE").status == 200
        assert ask(port, line(3, "tools/list"), session).status == 404
        assert ask(port, b"", known, "PUT").status == 405
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 143
        assert server.stderr is not None
        assert token not in server.stderr.read().decode()
