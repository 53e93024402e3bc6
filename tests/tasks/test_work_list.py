"""The list of work on disk: many writers, nothing lost, nothing torn."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.contract import ToolFailed
from holdfast.tasks.work_list import WorkList, WorkState

WRITER = """
import sys
from holdfast.tasks.work_list import WorkList
work = WorkList(sys.argv[1])
for number in range(25):
    work.change(lambda state: state.add(f"{sys.argv[2]}-{number}", "", None, {}))
"""


def test_writers_in_several_processes_and_threads_lose_no_task(tmp_path: Path) -> None:
    place = str(tmp_path / "list")

    def write(name: str) -> None:
        work = WorkList(place)
        for number in range(25):
            work.change(lambda state, subject=f"{name}-{number}": state.add(subject, "", None, {}))

    def start(name: str) -> None:
        subprocess.run([sys.executable, "-c", WRITER, place, name], check=True, timeout=60)

    with ThreadPoolExecutor(5) as pool:
        running = [*(pool.submit(start, name) for name in "012"), *(pool.submit(write, name) for name in ("t0", "t1"))]
        for writer in running:
            writer.result(90)
    items = WorkList(place).look().items
    assert len(items) == 125
    assert {item.subject for item in items.values()} == {
        f"{name}-{number}" for name in ("0", "1", "2", "t0", "t1") for number in range(25)
    }
    assert sorted(map(int, items)) == list(range(1, 126))


def test_a_deed_that_raises_changes_nothing(tmp_path: Path) -> None:
    for work in (WorkList(), WorkList(str(tmp_path))):
        work.change(lambda state: state.add("a", "", None, {}))

        def deed(state: WorkState) -> None:
            state.items.clear()
            raise ToolFailed("no")

        with pytest.raises(ToolFailed):
            work.change(deed)
        assert list(work.look().items) == ["1"]


def test_what_is_looked_at_is_a_copy() -> None:
    work = WorkList()
    work.change(lambda state: state.add("a", "", None, {}))
    work.look().items.clear()
    assert list(work.look().items) == ["1"]


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 2}', '{"items": {"1": {"id": 3}}}', "\x00"])
def test_a_file_that_makes_no_sense_is_told_and_kept(tmp_path: Path, text: str) -> None:
    file = tmp_path / "work-list.json"
    file.write_text(text)
    with pytest.raises(ToolFailed):
        WorkList(str(tmp_path)).change(lambda state: state.add("a", "", None, {}))
    assert file.read_text() == text


def test_numbers_are_never_given_twice() -> None:
    work = WorkList()
    work.change(lambda state: state.add("a", "", None, {}))
    work.change(lambda state: state.remove("1"))
    assert work.change(lambda state: state.add("b", "", None, {})).id == "2"
