"""The agent loop: what a turn costs beside the model, how fast a call is answered, and how fast a process asks."""

import asyncio
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory

import httpx2

from holdfast import Agent
from holdfast.models import ModelRequest, StreamEvent
from holdfast.models.scripted import ScriptedModel
from measure import Row, row

TURNS = int(os.environ.get("BENCH_TURNS", "200"))
STARTS = int(os.environ.get("BENCH_STARTS_P", "7"))
RSS_LIMIT_MB = 60.0
BARE = (
    "import asyncio, pydantic, httpx2; pydantic.BaseModel\n"
    "async def main():\n"
    "    async with httpx2.AsyncClient(trust_env=False) as client:\n"
    "        await client.post('{url}/v1/messages', json={{'model': 'x', 'messages': []}})\n"
    "asyncio.run(main())\n"
)
LAUNCH = (
    "import os, sys\n"
    "quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]\n"
    "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)\n"
    "_, status, used = os.wait4(pid, 0)\n"
    "print(used.ru_maxrss / 1024 if status == 0 else sys.exit('failed'))\n"
)
"""A process's peak memory counts from that of whoever started it, so a small one starts it."""
ANSWER = b"".join(
    b"event: x\ndata: %b\n\n" % data
    for data in (
        b'{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}',
        b'{"type":"content_block_stop","index":0}',
        b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
        b'{"type":"message_stop"}',
    )
)


class Server:
    """Answers every POST at once and notes when it came."""

    def __init__(self) -> None:
        self.arrived: list[float] = []
        arrived = self.arrived

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one piece: two would wait for each other's acknowledgement

            def do_POST(self) -> None:
                arrived.append(time.perf_counter())
                self.rfile.read(int(self.headers.get("content-length", "0")))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(ANSWER)))
                self.end_headers()
                self.wfile.write(ANSWER)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
                del format, args

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class Timed(ScriptedModel):
    """Notes when it is asked and when it has answered."""

    asked: list[float]
    answered: list[float]

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        self.asked.append(time.perf_counter())
        self.answered.append(0.0)
        async for event in super().stream(request):
            self.answered[-1] = time.perf_counter()
            yield event


def _lower_fifth(samples: list[float]) -> float:
    return statistics.quantiles(sorted(samples), n=5)[0]


async def turn_overhead(place: str) -> float:
    """Seconds of a run with one text answer, without the model's own time; the conversation stays short."""
    samples: list[float] = []
    for _ in range(max(1, TURNS // 20)):
        model = Timed(["ok"] * 21)
        model.asked, model.answered = [], []
        async with Agent(model, cwd=place, persist=False, setting_sources="") as agent:
            for number in range(21):
                began = time.perf_counter()
                await agent.run("hi")
                took = time.perf_counter() - began
                if number:
                    samples.append(took - (model.answered[-1] - model.asked[-1]))
    return _lower_fifth(samples)


async def _post(url: str) -> float:
    samples: list[float] = []
    async with httpx2.AsyncClient(trust_env=False) as client:
        for _ in range(TURNS):
            began = time.perf_counter()
            await client.post(f"{url}/v1/messages", json={"model": "x", "messages": []})
            samples.append(time.perf_counter() - began)
    return _lower_fifth(samples)


async def _bash_turnaround(place: str) -> float:
    """Seconds from the end of an answer that calls Bash to the next request."""
    turns = min(TURNS, 60)
    # Each command differs, because the loop notices a model that repeats itself.
    model = Timed([*([{"tool": "Bash", "input": {"command": f"true {number}"}}] for number in range(turns)), "done"])
    model.asked, model.answered = [], []
    async with Agent(model, cwd=place, setting_sources="") as agent:
        await agent.run("go")
    return _lower_fifth([asked - answered for answered, asked in zip(model.answered, model.asked[1:], strict=False)])


async def _bare_bash() -> float:
    samples: list[float] = []
    for _ in range(60):
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec("/bin/bash", "-c", "true", stdout=subprocess.PIPE)
        await process.communicate()
        samples.append(time.perf_counter() - began)
    return _lower_fifth(samples)


def _environment(server: Server, place: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "ANTHROPIC_API_KEY": "x",
        "ANTHROPIC_BASE_URL": server.url,
        "NO_PROXY": "127.0.0.1",
        "HOME": place,
    }


def _first_request_s(server: Server, argv: list[str], place: str) -> float:
    """Seconds from the start of a process to its first request."""
    server.arrived.clear()
    began = time.perf_counter()
    environment = _environment(server, place)
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=place, env=environment, check=True)
    return server.arrived[0] - began


def _peak_mb(server: Server, argv: list[str], place: str) -> float:
    launcher = [sys.executable, "-S", "-c", LAUNCH, *argv]
    environment = _environment(server, place)
    done = subprocess.run(
        launcher, stdin=subprocess.DEVNULL, capture_output=True, cwd=place, env=environment, check=True
    )
    return float(done.stdout)


def _starts(server: Server, place: str) -> tuple[float, float, float]:
    """Seconds to the first request of ours and of a bare client, and our peak memory in MB."""
    ours = [sys.executable, "-m", "holdfast", "-p", "hi", "--model", "anthropic:claude-sonnet-5"]
    bare = [sys.executable, "-c", BARE.format(url=server.url)]
    memory_mb = max(_peak_mb(server, ours, place) for _ in range(3))
    taken: list[float] = []
    reference: list[float] = []
    for _ in range(STARTS):
        taken.append(_first_request_s(server, ours, place))
        reference.append(_first_request_s(server, bare, place))
    return min(taken), min(reference), memory_mb


def rows() -> list[Row]:
    """Ratios against the cheapest thing of the same kind, in the same run."""
    server = Server()
    with TemporaryDirectory() as place:
        os.environ.setdefault("XDG_STATE_HOME", os.path.join(place, "state"))
        try:
            turn, post = asyncio.run(turn_overhead(place)), asyncio.run(_post(server.url))
            bash, bare_bash = asyncio.run(_bash_turnaround(place)), asyncio.run(_bare_bash())
            start, bare_start, memory_mb = _starts(server, place)
        finally:
            server.close()
    return [
        row("a turn without tools", turn * 1e6, post * 1e6, unit="µs", limit=1.0, against="one POST on loopback"),
        row("Bash true, answer to request", bash * 1e3, bare_bash * 1e3, unit="ms", limit=3.0, against="bash -c true"),
        row("process to first request", start * 1e3, bare_start * 1e3, unit="ms", limit=2.0, against="httpx2 + a POST"),
        row("memory of holdfast -p", memory_mb, RSS_LIMIT_MB, unit="MB", limit=1.0, against="the limit we set"),
    ]
