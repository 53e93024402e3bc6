"""The first second: the real program in fresh processes against a model on this machine, in turns with floors.

`holdfast -p` runs with its guard and journal, in a trusted repository that has a CLAUDE.md and 50 rules. In the runs
with tools the model thinks for `THINK_S` before its first word, as every real one does and longer; that is the time in
which the rest of the program may load. A floor is the least that a Python program pays for the same: its imports.
Every figure is the median of `ROUNDS` fresh processes; nothing is measured again because it came out badly. The rows
named "processor" are user and system time, which a busy machine disturbs less than the clock.
With PEERS=1 codex and opencode do the same against the same server, and their figures are the reference of rows of
their own. Both stand behind a proxy that nobody listens on, so that they call nobody else. opencode then waits about
five seconds before its first request; on a machine that may reach its servers it can be faster than what is shown.
"""

import asyncio
import os
import shutil
import ssl
import statistics
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cold_peers import Program, ours, peers, with_tls
from cold_runs import Model, Talk, first_read, floor, run
from holdfast.lib.tokens import estimate_bytes
from holdfast.testing import FakeProvider
from measure import Row, row

ROUNDS = int(os.environ.get("BENCH_COLD_ROUNDS", "9"))
THINK_S = 0.8
CALLS = 10
CONTEXT = (
    "import asyncio, ssl, time; began = time.perf_counter(); ssl.create_default_context(); "
    "print(time.perf_counter() - began)"
)
FLOORS = {
    "asyncio, ssl": [sys.executable, "-c", "import asyncio, ssl"],
    "asyncio, pydantic": [sys.executable, "-c", "import asyncio, pydantic; pydantic.BaseModel"],
    "asyncio, pydantic, httpx2": [sys.executable, "-c", "import asyncio, pydantic, httpx2; pydantic.BaseModel"],
    "bash": ["/bin/bash", "-c", "true"],
}
BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
Figures = dict[str, list[float]]


class _Bench(NamedTuple):
    """Where everything is measured."""

    place: Path
    model: Model
    programs: list[Program]
    secure: Program
    bundle: Path


@asynccontextmanager
async def _bench(*, with_peers: bool) -> AsyncGenerator[_Bench]:
    with TemporaryDirectory() as name:
        place = Path(name)
        model = Model()
        bundle, serving = _certificates(place)
        async with (
            FakeProvider(then=model.answer) as plain,
            FakeProvider(then=model.answer, tls=serving) as secure,
        ):
            us = ours(place, plain.url)
            others = peers(place, plain.url) if with_peers else []
            yield _Bench(place, model, [us, *others], with_tls(us, secure.url, bundle), bundle)


def _certificates(place: Path) -> tuple[Path, ssl.SSLContext]:
    """What is trusted, the system's certificates and our own, and what the server shows."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise RuntimeError("openssl makes the certificate for the row with TLS; install it")
    cert, key, bundle = place / "cert.pem", place / "key.pem", place / "bundle.pem"
    options = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    argv = [openssl, *options.split(), "-keyout", str(key), "-out", str(cert)]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    trusted = next((Path(known).read_text() for known in BUNDLES if Path(known).is_file()), "")
    bundle.write_text(trusted + cert.read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return bundle, context


async def _measure(program: Program, bench: _Bench, found: Figures) -> None:
    """One round of one program: a word, ten calls that note their start, ten times `true`."""
    model, place = bench.model, bench.place
    word = await run(model, Talk(program, []), place)
    _note(found, "first request", word.talk.asked[0] - word.began)
    _note(found, "first request, processor", word.talk.cpu_s)
    _note(found, "exit", word.ended - word.began)
    _note(found, "exit, processor", word.cpu_s)
    _note(found, "bytes", len(word.talk.body))
    _note(found, "tokens", estimate_bytes(word.talk.body))
    starts = place / "work" / "starts"
    starts.unlink(missing_ok=True)
    noting = [f": {number}; echo $EPOCHREALTIME >> starts" for number in range(CALLS)]
    tools = await run(model, Talk(program, noting, think_s=THINK_S, pauses=(0, CALLS - 1)), place)
    began = [float(line) for line in starts.read_text().split()]
    _note(found, "first start", began[0] - tools.talk.completed[0])
    _note(found, "tenth start", began[CALLS - 1] - tools.talk.completed[CALLS - 1])
    plain = await run(model, Talk(program, [f"true {number}" for number in range(CALLS)], think_s=THINK_S), place)
    talk = plain.talk
    _note(found, "first true", talk.asked[1] - talk.ended[0])
    _note(found, "tenth true", talk.asked[CALLS] - talk.ended[CALLS - 1])
    _note(found, "memory", talk.pss_mb)


async def _take(program: Program, bench: _Bench, found: dict[str, Figures]) -> None:
    """One round of one program counts as a whole; a peer that fails in one is told and misses it, ours may not fail."""
    figures: Figures = {}
    try:
        await _measure(program, bench, figures)
    except (RuntimeError, TimeoutError, OSError, LookupError) as error:
        if program is bench.programs[0]:
            raise
        print(f"     {program.name} failed, so this round has no figures of it: {error!r}", file=sys.stderr)
        return
    for name, values in figures.items():
        found.setdefault(program.name, {}).setdefault(name, []).extend(values)


def _note(found: Figures, name: str, value: float) -> None:
    found.setdefault(name, []).append(value)


def _floors(found: Figures, bench: _Bench) -> None:
    for name, argv in FLOORS.items():
        took, spent = floor(argv)
        _note(found, name, took)
        _note(found, f"{name}, processor", spent)
    environment = {**os.environ, "SSL_CERT_FILE": str(bench.bundle)}
    said = subprocess.run([sys.executable, "-c", CONTEXT], env=environment, check=True, capture_output=True)
    _note(found, "default context", float(said.stdout))


async def _all(*, with_peers: bool) -> dict[str, Figures]:
    found: dict[str, Figures] = {"floor": {}}
    async with _bench(with_peers=with_peers) as bench:
        us = bench.programs[0]
        for number in range(ROUNDS + 1):
            into: dict[str, Figures] = found if number else {"floor": {}}  # the first round warms the disk
            for program in bench.programs:
                await _take(program, bench, into)
                await asyncio.to_thread(_floors, into["floor"], bench)
            mine = into[us.name]
            took, spent = await asyncio.to_thread(first_read, us, bench.place)
            _note(mine, "first Read", took)
            _note(mine, "first Read, processor", spent)
            secure = await run(bench.model, Talk(bench.secure, []), bench.place)
            _note(mine, "first request, TLS", secure.talk.asked[0] - secure.began)
    return found


def _medians(figures: Figures) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in figures.items()}


def _rows_of(us: dict[str, float], floor: dict[str, float]) -> list[Row]:
    def ms(name: str, mine: str, reference: float, limit: float, against: str) -> Row:
        return row(name, us[mine] * 1e3, reference * 1e3, unit="ms", limit=limit, against=against)

    bash = floor["bash"]
    floors: list[tuple[str, str, str, float]] = [
        ("start to first request", "first request", "asyncio, ssl", 2.2),
        ("-p, start to exit", "exit", "asyncio, pydantic, httpx2", 1.5),
        ("exec, start to a first Read", "first Read", "asyncio, pydantic", 2.2),
    ]
    found: list[Row] = []
    for name, mine, against, limit in floors:
        found.append(ms(name, mine, floor[against], limit, against))
        spent = floor[f"{against}, processor"]
        found.append(ms(f"{name}, processor", f"{mine}, processor", spent, limit, against))
    secure = 2.2 * floor["asyncio, ssl"] + floor["default context"]
    late = us["tenth start"] + 10 * bash
    return [
        *found,
        ms("start to first request, TLS", "first request, TLS", secure, 1.0, "2.2 x asyncio, ssl + a context"),
        ms("block to start, first tool", "first start", late, 1.0, "the tenth + 10 bash -c true"),
        ms("block to start, tenth tool", "tenth start", bash, 6.0, "bash -c true"),
        ms("first true, answer to request", "first true", bash, 20.0, "bash -c true"),
        ms("tenth true, answer to request", "tenth true", bash, 6.0, "bash -c true"),
        row("memory of a run with calls", us["memory"], 50.0, unit="MB", limit=1.0, against="50 MB"),
        row("bytes of the first request", us["bytes"] / 1024, 64.0, unit="KiB", limit=1.0, against="64 KiB"),
        row("tokens of the first request", us["tokens"], 16_000, unit="", limit=1.0, against="16,000, estimated"),
    ]


LIMITS: dict[str, float] = {
    "first request": 1.0,
    "first start": 0.5,
    "tenth start": 0.5,
    "first true": 0.2,
    "tenth true": 0.2,
    "exit": 1.0,
}


def _rows_against(peer: str, us: dict[str, float], them: dict[str, float]) -> list[Row]:
    def against(name: str, scale: float, unit: str, limit: float) -> Row:
        return row(f"{name}, {peer}", us[name] * scale, them[name] * scale, unit=unit, limit=limit, against=peer)

    return [
        *(against(name, 1e3, "ms", limit) for name, limit in LIMITS.items()),
        against("memory", 1, "MB", 0.5),
        against("bytes", 1 / 1024, "KiB", 1.5),
        against("tokens", 1, "", 1.5),
    ]


def rows(*, with_peers: bool = False) -> list[Row]:
    """Medians of fresh processes, in turns with their floors; with peers, only the rows against them."""
    found = {name: _medians(figures) for name, figures in asyncio.run(_all(with_peers=with_peers)).items()}
    us, floor = found["holdfast"], found["floor"]
    if not with_peers:
        return _rows_of(us, floor)
    return [
        made for name in found if name not in ("holdfast", "floor") for made in _rows_against(name, us, found[name])
    ]


def _shown(made: Row) -> str:
    figures: Any = (made["ours"], made["reference"], made["ratio"], made["limit"])
    return f"{made['name']:<40} {figures[0]:>9.1f} {figures[1]:>9.1f} {figures[2]:>6.2f} {figures[3]:>5}"


if __name__ == "__main__":
    for made in rows(with_peers="--peers" in sys.argv):
        print(_shown(made))
