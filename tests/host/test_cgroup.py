import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.host import cgroup

HOME = cgroup.find_group("/sys/fs/cgroup", "/proc/self/cgroup")

BOMB = """
import os, subprocess
from holdfast.host.cgroup import limit_tasks
limit = limit_tasks(20)
children = []
try:
    for _ in range(40):
        children.append(subprocess.Popen(["sleep", "100"]))
except OSError:
    pass
for child in children:
    child.kill()
    child.wait(10)
limit.close()
print(len(children), os.path.exists(limit.path))
"""


@pytest.mark.skipif(HOME is None, reason="no control group here lets us count tasks")
def test_the_kernel_stops_what_grows_beyond_the_limit() -> None:
    result = subprocess.run([sys.executable, "-c", BOMB], check=True, capture_output=True, text=True, timeout=30)
    count, remains = result.stdout.split()
    assert 0 < int(count) < 20
    assert remains == "False"


@pytest.mark.parametrize(
    ("memberships", "place"),
    [
        ("5:devices:/\n4:pids:/a/b\n0::/c\n", "pids/a/b"),
        ("4:cpu,pids:/a\n", "pids/a"),
        ("0::/user/x.scope\n", "user/x.scope"),
        ("1:cpu:/\n", None),
        ("", None),
    ],
)
def test_our_group_is_found_in_both_hierarchies(tmp_path: Path, memberships: str, place: str | None) -> None:
    for name in ("pids/a/b", "pids/a", "user/x.scope"):
        (tmp_path / "m" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "m" / name / "cgroup.procs").touch()
        (tmp_path / "m" / name / "cgroup.controllers").touch()
    (tmp_path / "self").write_text(memberships)
    expected = None if place is None else str(tmp_path / "m" / place)
    assert cgroup.find_group(str(tmp_path / "m"), str(tmp_path / "self")) == expected


def test_no_group_is_no_limit_and_no_error(tmp_path: Path) -> None:
    assert cgroup.find_group(str(tmp_path), str(tmp_path / "none")) is None
    (tmp_path / "self").write_text("0::/gone\n")
    assert cgroup.find_group(str(tmp_path), str(tmp_path / "self")) is None


def test_a_group_we_may_not_use_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A plain directory has no `pids.max`: the write fails as it does without delegation.
    def find_group(_mounts: str, _memberships: str) -> str:
        return str(tmp_path)

    monkeypatch.setattr(cgroup, "find_group", find_group)
    (tmp_path / "holdfast-1").mkdir()
    assert cgroup.limit_tasks(10) is None
    assert os.listdir(tmp_path) == []
