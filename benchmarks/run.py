"""`make bench`: run every benchmark, print one table, write JSON. Ratios in one run; never a bare wall-clock claim."""

import argparse
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from measure import Row  # noqa: E402 - needs the path above

NOT_BENCHMARKS = {"run", "measure", "peers", "cold_peers", "cold_runs", "terminal_pane"}
HEADER = (
    f"{'':4} {'benchmark':<14} {'what':<34} {'ours':>10} {'reference':>10} {'':<5} {'ratio':>7} {'limit':>7}  against"
)


def modules() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_BENCHMARKS)


def measure_alone(name: str) -> list[Row]:
    """The rows of one benchmark, in a fresh interpreter: the heap that others left would slow it down."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure_named, name).result()


def _measure_named(name: str) -> list[Row]:
    return importlib.import_module(name).rows()


def is_over(row: Row) -> bool:
    return row["ratio"] > row["limit"]


def show(benchmark: str, row: Row) -> str:
    return (
        f"{'OVER' if is_over(row) else 'ok':4} {benchmark:<14} {row['name']:<34.34} {row['ours']:>10.3f} "
        f"{row['reference']:>10.3f} {row['unit']:<5} {row['ratio']:>7.2f} {row['limit']:>7.2f}  {row['against']}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="only these benchmarks")
    parser.add_argument(
        "--peers", action="store_true", help="also measure peers from PyPI, each in its own environment"
    )
    options = parser.parse_args()
    names: list[str] = options.only or modules()
    takes: list[tuple[str, Callable[[], list[Row]]]] = [(name, partial(measure_alone, name)) for name in names]
    if options.peers:
        peers: dict[str, Callable[[], list[Row]]] = importlib.import_module("peers").ROWS
        takes += [(f"peers of {name}", take) for name, take in peers.items() if name in names]
    found: dict[str, list[Row]] = {}
    print(HEADER)
    for name, take in takes:
        found[name] = take()
        for row in found[name]:
            print(show(name, row), flush=True)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    conditions = f"Benchmarks: {', '.join(names)}. Load at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
    facts = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "conditions": conditions,
        "rows": found,
    }
    file = results / time.strftime("%Y%m%d-%H%M%S.json")
    file.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    rows = [row for rows in found.values() for row in rows]
    over = sum(map(is_over, rows))
    print(f"\n{len(rows)} rows, {over} over their limit. Written to {file.relative_to(HERE.parent)}.")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
