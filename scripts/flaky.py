"""Run the suite again and again beside a load on every core, and count which tests fail now and then.

    python scripts/flaky.py --rounds 10 [pytest arguments]

The load: one process for each core that only computes, at ordinary priority, so every test gets about half a core.
Ends 0 when no round had a failure.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST_S = 3_600
BURN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(1_000_000))"


@contextmanager
def burning() -> Generator[None]:
    process = subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait(60)


def one_round(number: int, workers: int, arguments: list[str], reports: Path) -> tuple[str, list[str]]:
    """How this round ended, in words, and the tests that failed in it."""
    report = reports / f"{number}.xml"
    argv = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--dist", "worksteal", f"--junit-xml={report}"]
    with (reports / f"{number}.txt").open("wb") as said:
        try:
            code = subprocess.run(
                [*argv, *arguments], stdout=said, stderr=said, timeout=LONGEST_S, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            return f"did not end in {LONGEST_S} s", ["(the whole run)"]
    if not report.exists():  # ended by the limit for the whole run, or before it began
        return f"ended with {code} and no report", ["(the whole run)"]
    cases = ET.parse(report).getroot().iter("testcase")
    failed = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return f"ended with {code}", failed or (["(the whole run)"] if code else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--load", type=int, default=os.cpu_count() or 2, help="processes that only compute")
    chosen, arguments = parser.parse_known_args()
    reports = Path(tempfile.mkdtemp(prefix="holdfast-flaky-"))
    failures: Counter[str] = Counter()
    bad = 0
    with ExitStack() as load:
        for _ in range(chosen.load):
            load.enter_context(burning())
        for number in range(1, chosen.rounds + 1):
            began = time.monotonic()
            how, failed = one_round(number, chosen.workers, arguments or [str(ROOT / "tests")], reports)
            failures.update(set(failed))
            bad += bool(failed)
            took_s = time.monotonic() - began
            print(
                f"round {number}: {how}, {len(failed)} failed, {took_s:.0f} s beside {chosen.load} burners", flush=True
            )
    print(f"{chosen.rounds} rounds, {bad} with failures; what each printed is in {reports}")
    for name, count in failures.most_common():
        print(f"  {count} of {chosen.rounds}  {name}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
