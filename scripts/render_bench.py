"""Write docs/performance.md from a run of `make bench`: the newest file in benchmarks/results, or the one named."""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
HEAD = """# Performance

Generated from a run of `benchmarks/run.py` by `scripts/render_bench.py`. Every figure stands beside a reference that
was taken in the same run, in turns with it: the ratio counts, not the milliseconds, which are those of one machine in
one hour. Everything is measured once; nothing is taken again because it came out badly, and a row over its limit is
marked. What `cold` measures is described in `benchmarks/cold.py`.
"""


def figure(value: float) -> str:
    """Three digits, and never a power of ten."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def heading(benchmark: str) -> str:
    """The name of a benchmark as people write it: `shell_analysis` is "Shell analysis"."""
    words = benchmark.replace("_", " ")
    return words[:1].upper() + words[1:]


def page(facts: dict[str, Any]) -> str:
    """The page for one run."""
    lines = [HEAD, f"Python {facts['python']}, {facts['machine']}. {facts.get('conditions', '')}", ""]
    for benchmark, rows in facts["rows"].items():
        lines += [f"## {heading(benchmark)}", "", "| what | Holdfast | reference | | ratio | limit | against |"]
        lines.append("|---|---|---|---|---|---|---|")
        for row in rows:
            mark = " **over**" if row["ratio"] > row["limit"] else ""
            lines.append(
                f"| {row['name']} | {figure(row['ours'])} | {figure(row['reference'])} | {row['unit']} "
                f"| {row['ratio']:.2f}{mark} | {row['limit']:.2f} | {row['against']} |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Write the page."""
    named = sys.argv[1:]
    files = [Path(named[0])] if named else sorted(RESULTS.glob("*.json"))
    if not files:
        print("There is no result yet; run `make bench` first.")
        return 1
    (ROOT / "docs" / "performance.md").write_text(page(json.loads(files[-1].read_text("utf-8"))), encoding="utf-8")
    print(f"docs/performance.md written from {files[-1].name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
