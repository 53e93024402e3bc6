"""The suite as a whole: it ends when it hangs, and failures that come only now and then are counted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Of the plugins only the one that both runs need: all of them take seconds to load, four times over.
QUICKLY = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist"}

HANGS = """
import threading
def test_it_holds_a_lock_for_ever():
    with threading.Lock() as lock:
        waiter = threading.Lock(); waiter.acquire()
        the_place_where_it_hangs(waiter)
def the_place_where_it_hangs(lock):
    lock.acquire()
"""


def test_a_hung_suite_ends_with_the_stacks_of_its_workers(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_hangs.py").write_text(HANGS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = ordinary: x\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "HOLDFAST"))}
    said = ""
    for limit_s in ("4", "40"):  # a busy machine may take longer than the first to come to the test at all
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", "."],
            cwd=tmp_path,
            env={**environment, **QUICKLY, "HOLDFAST_SUITE_LIMIT_S": limit_s, "HOLDFAST_SUITE_AFTER_S": "0.5"},
            capture_output=True,
            timeout=60,
            check=False,
            text=True,
        )
        assert done.returncode != 0
        said = done.stderr
        if "in the_place_where_it_hangs" in said:
            break
    assert "in the_place_where_it_hangs" in said


def test_failures_that_come_now_and_then_are_counted_by_test(tmp_path: Path) -> None:
    (tmp_path / "test_coin.py").write_text(
        "import pathlib\n"
        "def test_head():\n"
        "    mark = pathlib.Path(__file__).with_name('mark')\n"
        "    seen = mark.exists()\n"
        "    mark.touch()\n"
        "    assert seen\n"
        "def test_steady():\n"
        "    pass\n",
        encoding="utf-8",
    )
    script = [
        sys.executable,
        str(ROOT / "scripts" / "flaky.py"),
        "--rounds",
        "2",
        "--workers",
        "1",
        "--load",
        "1",
        str(tmp_path),
    ]
    environment = {**os.environ, **QUICKLY}
    done = subprocess.run(
        script, cwd=tmp_path, env=environment, capture_output=True, timeout=100, check=False, text=True
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 rounds, 1 with failures" in done.stdout
    assert "1 of 2  " in done.stdout
    assert "test_head" in done.stdout
    assert "test_steady" not in done.stdout
