"""`make bench`: run every benchmark, print one table, write JSON. Ratios in one run; never a bare wall-clock claim."""

import argparse
import importlib
import json
import platform
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
NOT_BENCHMARKS = {"run", "measure", "peers"}
TRIES = 3
HEADER = (
    f"{'':4} {'benchmark':<14} {'what':<34} {'ours':>10} {'reference':>10} {'':<5} {'ratio':>7} {'limit':>7}  against"
)


def modules() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_BENCHMARKS)


def measure(name: str) -> list[dict[str, object]]:
    """The rows of one module; a row over its limit is measured again, because a shared machine has bad moments."""
    module = importlib.import_module(name)
    best: dict[str, dict[str, object]] = {}
    for _ in range(TRIES):
        for row in module.rows():
            known = best.get(row["name"])
            if known is None or row["ratio"] < known["ratio"]:  # pyright: ignore[reportOperatorIssue]
                best[row["name"]] = {**row, "benchmark": name}
        if all(row["ratio"] <= row["limit"] for row in best.values()):  # pyright: ignore[reportOperatorIssue]
            break
    return list(best.values())


def show(row: dict[str, object]) -> str:
    over = row["ratio"] > row["limit"]  # pyright: ignore[reportOperatorIssue]
    return (
        f"{'OVER' if over else 'ok':4} {row['benchmark']:<14} {row['name']:<34.34} {row['ours']:>10.3f} "
        f"{row['reference']:>10.3f} {row['unit']:<5} {row['ratio']:>7.2f} {row['limit']:>7.2f}  {row['against']}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="only these benchmarks")
    parser.add_argument(
        "--peers", action="store_true", help="also measure peers from PyPI, each in its own environment"
    )
    options = parser.parse_args()
    found: list[dict[str, object]] = []
    print(HEADER)
    for name in options.only or modules():
        for row in measure(name):
            found.append(row)
            print(show(row), flush=True)
    if options.peers:
        import peers  # noqa: PLC0415 - installs packages, only on request

        found += peers.report()
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    facts = {"python": platform.python_version(), "machine": platform.machine(), "rows": found}
    file = results / time.strftime("%Y%m%d-%H%M%S.json")
    file.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    over = sum(row["ratio"] > row["limit"] for row in found)  # pyright: ignore[reportOperatorIssue]
    print(f"\n{len(found)} rows, {over} over their limit. Written to {file.relative_to(HERE.parent)}.")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
