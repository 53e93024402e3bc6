"""Peers from PyPI and npm, each in its own environment: what they cost, against ours in the same run."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import cold
import engine
import loop
import sandbox
import terminal
from measure import Row, row

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".peers"
CALLS = {
    "pydantic-ai-slim": "pydantic_ai",
    "smolagents": "smolagents",
    "langgraph": "langgraph",
    "openai-agents": "openai_agents",
}
TURNS = {"pydantic-ai-slim": "pydantic_ai", "openai-agents": "openai_agents"}


def _python_with(package: str) -> Path:
    """The Python of an environment that has this package; made on first use."""
    environment = ENVIRONMENTS / package
    python = environment / "bin" / "python"
    if not (environment / "ready").exists():
        print(f"     installing {package} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", package], check=True)
        (environment / "ready").touch()
    return python


def _cost_us(package: str, script: str) -> float:
    argv = [str(_python_with(package)), str(HERE / "peer_scripts" / f"{script}.py")]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def _calls() -> list[Row]:
    found: list[Row] = []
    for package, script in CALLS.items():
        theirs = _cost_us(package, f"run_{script}")
        ours = asyncio.run(engine.marginal_cost())["ours"]
        found.append(row(f"one more call, {package}", ours, theirs, unit="µs", limit=1.0, against=package))
    return found


def _turns() -> list[Row]:
    found: list[Row] = []
    with TemporaryDirectory() as place:
        for package, script in TURNS.items():
            theirs = _cost_us(package, f"turn_{script}")
            ours = asyncio.run(loop.turn_overhead(place)) * 1e6
            found.append(row(f"a text turn, {package}", ours, theirs, unit="µs", limit=1.0, against=package))
    return found


ROWS: dict[str, Callable[[], list[Row]]] = {
    "engine": _calls,
    "loop": _turns,
    "cold": partial(cold.rows, with_peers=True),
    "terminal": partial(terminal.rows, with_peers=True),
    "sandbox": sandbox.peer_rows,
}
"""Ours against each peer, by the benchmark it belongs to; a ratio under 1 means that ours is cheaper."""
