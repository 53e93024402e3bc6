"""Write and Edit change what was asked for, only over what the model has seen, and nothing else."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import sys
import textwrap
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.contract import ArgumentsInvalid, ToolContext, ToolFailed
from holdfast.host.targets import Targets
from holdfast.lib.atomic import remove_strays
from holdfast.lib.checkpoints import CheckpointStore
from holdfast.testing import started
from holdfast.testing.faults import before_each_call, count_calls, failing_at, killed_at
from holdfast.testing.swaps import exchange, swapping
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.files.write import Write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tools() -> tuple[Read, Write, Edit]:
    bench = Workbench(Targets())
    return Read(bench.targets), Write(bench), Edit(bench)


def code_of(action: Any) -> int | None:
    with pytest.raises(ToolFailed) as caught:
        action()
    return caught.value.error_code


def test_write_creates_files_and_their_directories(session: Any, tools: Any, tmp_path: Path) -> None:
    _, write, _ = tools
    result = session.call(write, file_path="a/b/c.txt", content="one\ntwo\n")
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert result.data["type"] == "create"
    assert result.data["originalFile"] is None
    assert result.data["structuredPatch"][0]["lines"] == ["+one", "+two"]
    session.call(write, file_path="a/b/c.txt", content="three")  # its own writing counts as seen
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"three"


def test_write_replaces_only_what_was_read_whole_and_is_unchanged(session: Any, tools: Any, tmp_path: Path) -> None:
    read, write, _ = tools
    path = tmp_path / "a.txt"
    path.write_text("x\n" * 3000)
    path.chmod(0o640)
    assert code_of(lambda: session.call(write, file_path="a.txt", content="y")) == 2
    session.call(read, file_path="a.txt", limit=10)
    assert code_of(lambda: session.call(write, file_path="a.txt", content="y")) == 2
    session.call(read, file_path="a.txt", offset=1, limit=3000)
    os.utime(path, ns=(1, 1))
    session.call(write, file_path="a.txt", content="y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.write_text("z")
    assert code_of(lambda: session.call(write, file_path="a.txt", content="y")) == 3
    assert path.read_text() == "z"


def test_write_keeps_encoding_and_mark_and_stores_line_ends_as_given(session: Any, tools: Any, tmp_path: Path) -> None:
    read, write, _ = tools
    for name, old in (("u16", "\ufeffäöü\r\n".encode("utf-16-le")), ("bom", b"\xef\xbb\xbfx")):
        (tmp_path / name).write_bytes(old)
        session.call(read, file_path=name)
        session.call(write, file_path=name, content="neu\r\nß\n")
    assert (tmp_path / "u16").read_bytes() == "\ufeffneu\r\nß\n".encode("utf-16-le")
    assert (tmp_path / "bom").read_bytes() == b"\xef\xbb\xbf" + "neu\r\nß\n".encode()


def test_what_the_old_encoding_cannot_hold_is_not_written(session: Any, tools: Any, tmp_path: Path) -> None:
    read, write, edit = tools
    old = ("Straße über Köln, schöne Grüße\n" * 30).encode("cp1252")
    (tmp_path / "a").write_bytes(old)
    session.call(read, file_path="a")
    assert code_of(lambda: session.call(write, file_path="a", content="日本")) is None
    with pytest.raises(ToolFailed):
        session.call(edit, file_path="a", old_string="Köln, ", new_string="日本", replace_all=True)
    assert (tmp_path / "a").read_bytes() == old


def test_edit_changes_the_one_place(session: Any, tools: Any, tmp_path: Path) -> None:
    read, _, edit = tools
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfdef f():\r\n    return 1\r\n")
    session.call(read, file_path="a.py")
    result = session.call(
        edit, file_path="a.py", old_string="def f():\n    return 1", new_string="def f():\n    return 2"
    )
    assert path.read_bytes() == b"\xef\xbb\xbfdef f():\r\n    return 2\r\n"
    assert "line endings" in result.text
    assert result.data["structuredPatch"] == [
        {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2}
        | {"lines": [" def f():", "-    return 1", "+    return 2"]}
    ]
    assert result.display.startswith("diff --git a/a.py b/a.py\n")
    assert result.data["userModified"] is False
    session.call(edit, file_path="a.py", old_string="2", new_string="3")  # no second read needed
    assert path.read_bytes().endswith(b"return 3\r\n")


def test_edit_answers_with_the_codes_of_the_contract(session: Any, tools: Any, tmp_path: Path) -> None:
    read, _, edit = tools
    path = tmp_path / "a.py"

    def attempt(old: str, new: str, **more: Any) -> int | None:
        return code_of(lambda: session.call(edit, file_path="a.py", old_string=old, new_string=new, **more))

    assert attempt("a", "b") == 1
    path.write_text("alpha\nbeta\nalpha\nvalue = compute(1)\n")
    assert attempt("alpha", "b") == 2
    session.call(read, file_path="a.py", limit=1)
    assert attempt("alpha", "alpha") == 4
    assert attempt("gamma", "b") == 5
    assert attempt("alpha", "b") == 6
    path.write_text("changed\n")
    assert attempt("changed", "b") == 3
    assert path.read_text() == "changed\n"


@pytest.mark.parametrize("old", ["last", "gone"], ids=["its text is still there", "its text is gone"])
def test_a_large_file_that_changed_is_never_edited(session: Any, tools: Any, tmp_path: Path, old: str) -> None:
    """It is hashed beside the search, so both have an answer when the edit is refused."""
    read, _, edit = tools
    path = tmp_path / "large.txt"
    path.write_bytes(b"a line of text\n" * 700_000 + b"last\n")
    session.call(read, file_path="large.txt", limit=1)
    session.call(edit, file_path="large.txt", old_string="last", new_string="gone")  # all of it is known now
    assert path.read_bytes().endswith(b"\ngone\n")
    changed = b"b line of text\n" * 700_000 + b"last\n"  # of the same length
    path.write_bytes(changed)
    assert code_of(lambda: session.call(edit, file_path="large.txt", old_string=old, new_string="x")) == 3
    assert path.read_bytes() == changed


def test_a_miss_names_the_nearest_place_and_a_double_match_its_lines(session: Any, tools: Any, tmp_path: Path) -> None:
    read, _, edit = tools
    (tmp_path / "a.py").write_text("alpha\nbeta\nalpha\nvalue = compute(1)\n")
    session.call(read, file_path="a.py")
    with pytest.raises(ToolFailed) as caught:
        session.call(edit, file_path="a.py", old_string="value = compute(2)", new_string="x")
    assert "line 4" in str(caught.value)
    assert "+ value = compute(1)" in str(caught.value)
    with pytest.raises(ToolFailed) as caught:
        session.call(edit, file_path="a.py", old_string="alpha", new_string="x")
    assert "lines 1, 3" in str(caught.value)


def test_edit_fills_a_new_or_empty_file_and_refuses_an_empty_old_string_else(
    session: Any, tools: Any, tmp_path: Path
) -> None:
    _, _, edit = tools
    session.call(edit, file_path="new.txt", old_string="", new_string="hello\n")
    assert (tmp_path / "new.txt").read_text() == "hello\n"
    with pytest.raises(ArgumentsInvalid):
        session.call(edit, file_path="new.txt", old_string="", new_string="more")


def test_notebooks_are_sent_to_their_own_tool(session: Any, tools: Any, tmp_path: Path) -> None:
    _, write, edit = tools
    (tmp_path / "n.ipynb").write_text("{}")
    for tool, more in ((write, {"content": "{}"}), (edit, {"old_string": "a", "new_string": "b"})):
        with pytest.raises(ToolFailed, match="NotebookEdit"):
            session.call(tool, file_path="n.ipynb", **more)


def test_an_edit_that_changes_nothing_in_the_files_style_is_refused(session: Any, tools: Any, tmp_path: Path) -> None:
    read, _, edit = tools
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\r\n")
    session.call(read, file_path="a.txt")
    assert code_of(lambda: session.call(edit, file_path="a.txt", old_string="a\nb\n", new_string="a\r\nb\n")) == 4


def test_a_link_is_followed_to_its_target_and_stays(session: Any, tools: Any, tmp_path: Path) -> None:
    read, _, edit = tools
    (tmp_path / "real").write_text("a")
    (tmp_path / "link").symlink_to("real")
    session.call(read, file_path="link")
    session.call(edit, file_path="link", old_string="a", new_string="b")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "b"


@pytest.mark.parametrize("target", ["/proc/self/comm", "/dev/null", "/sys/kernel/x"])
def test_kernel_files_are_not_written(session: Any, tools: Any, target: str) -> None:
    _, write, _ = tools
    with pytest.raises(ToolFailed):
        session.call(write, file_path=target, content="x")


def build_trap(root: Path) -> None:
    """An inside, an outside with a secret, and a link to the outside that can take the inside's place."""
    root.mkdir()
    (root / "outside").mkdir()
    (root / "outside" / "f").write_text("SECRET")
    (root / "inside").mkdir()
    (root / "inside" / "f").write_text("harmless")
    (root / "other").symlink_to("outside")


def check_trap(root: Path) -> None:
    assert [entry.name for entry in (root / "outside").iterdir()] == ["f"]
    assert (root / "outside" / "f").read_text() == "SECRET"


async def attempt(tool: Any, raw: dict[str, Any], root: Path) -> str:
    """Call a tool under a rule that denies the outside, as the permission layers would see it."""
    ctx = ToolContext(root, tool_use_id="swap")
    args = tool.arguments.parse(raw)
    judged = tool.effects(args, ctx)
    if any("outside" in path for path in (*judged.reads, *judged.writes)):
        return "denied"
    try:
        await tool.validate(args, ctx)
        return str((await tool.call(args, ctx)).text)
    except (ToolFailed, ArgumentsInvalid):
        return "refused"


READ, WRITE, EDIT = (
    {"file_path": "inside/f"},
    {"file_path": "inside/new", "content": "x"},
    {"file_path": "inside/made", "old_string": "", "new_string": "y"},
)


@pytest.mark.parametrize(("which", "raw"), [(0, READ), (1, WRITE), (2, EDIT)], ids=["Read", "Write", "Edit"])
def test_a_link_swapped_in_before_any_call_never_leads_outside(
    tools: Any, tmp_path: Path, which: int, raw: dict[str, Any]
) -> None:
    """Every moment of a call is tried: the swap comes right before the Nth system call, and goes again later."""
    outcomes: Counter[str] = Counter()

    def run(root: Path, moments: set[int]) -> None:
        def swap(number: int, _name: str) -> None:
            if number in moments:
                exchange(str(root / "inside"), str(root / "other"))

        with before_each_call(swap):
            answer = asyncio.run(attempt(tools[which], raw, root))
        assert "SECRET" not in answer
        outcomes[answer if answer in {"denied", "refused"} else "done"] += 1

    build_trap(tmp_path / "count")
    total = count_calls(lambda: asyncio.run(attempt(tools[which], raw, tmp_path / "count")))
    for nth in range(1, total + 1):
        for back in (0, 1, 2, 3, 5, 8):
            root = tmp_path / f"{nth}-{back}"
            build_trap(root)
            run(root, {nth, nth + back} if back else {nth})
            check_trap(root)
    assert min(outcomes[word] for word in ("denied", "refused", "done")) > 0


def test_swaps_by_another_process_never_lead_outside(tools: Any, tmp_path: Path) -> None:
    root = tmp_path / "race"
    build_trap(root)

    async def race() -> None:
        for number in range(150):
            for tool, raw in zip(tools, (READ, WRITE | {"file_path": f"inside/new{number}"}, EDIT), strict=True):
                assert "SECRET" not in await attempt(tool, raw, root)

    with swapping(str(root / "inside"), str(root / "other")) as swaps:
        asyncio.run(race())
    assert swaps.count > 20  # a busy machine gives the other process little time
    check_trap(root)


EDITOR = """
    import asyncio, sys
    from holdfast.contract import FileRead, ToolContext, ToolFailed
    from holdfast.tools.files.edit import Edit
    from holdfast.tools.files.read import Read
    path, me, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    read, edit, reads = Read(), Edit(), {}

    async def call(tool, raw):
        ctx = ToolContext("/", file_reads=reads)
        args = tool.arguments.parse(raw)
        await tool.validate(args, ctx)
        for change in (await tool.call(args, ctx)).modifiers:
            if isinstance(change, FileRead):
                reads[change.path] = change.stamp

    async def main():
        for number in range(rounds):
            while True:
                try:
                    await call(read, {"file_path": path})
                    await call(edit, {"file_path": path, "old_string": "END", "new_string": f"{me}.{number}\\nEND"})
                    break
                except ToolFailed as error:
                    assert error.error_code == 3, error

    asyncio.run(main())
"""


def test_eight_editors_lose_no_update_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "shared.txt"
    path.write_text("END\n")
    script = textwrap.dedent(EDITOR)
    with ExitStack() as stack:
        argv = [sys.executable, "-c", script, str(path)]
        workers = [stack.enter_context(started([*argv, str(n), "25"], limit_s=110)) for n in range(8)]
        assert [worker.wait(timeout=110) for worker in workers] == [0] * 8
    assert sorted(path.read_text().split()) == sorted(["END", *(f"{n}.{i}" for n in range(8) for i in range(25))])


def crash_case(session: Any, tmp_path: Path, name: str) -> tuple[Path, Any]:
    """A session that has read a file, and an edit and a write that run without an event loop."""
    directory = tmp_path / name
    directory.mkdir()
    path = directory / "f"
    path.write_bytes(b"old text\n" * 20 + b"HERE\n")
    bench = Workbench(checkpoints=CheckpointStore(str(tmp_path / f"state-{name}")))
    read, write, edit = Read(bench.targets), Write(bench), Edit(bench)
    session.call(read, file_path=str(path))

    def act() -> None:
        ctx = ToolContext(tmp_path, tool_use_id="crash", file_reads=session.reads)
        edit._edit(edit.arguments.parse({"file_path": str(path), "old_string": "HERE", "new_string": "THERE"}), ctx)
        write._write(write.arguments.parse({"file_path": str(directory / "new"), "content": "fresh"}), ctx)

    return directory, act


def check_crash_case(directory: Path) -> None:
    remove_strays(str(directory))
    old = b"old text\n" * 20
    assert (directory / "f").read_bytes() in {old + b"HERE\n", old + b"THERE\n"}
    assert {entry.name for entry in directory.iterdir()} <= {"f", "new"}
    if (directory / "new").exists():
        assert (directory / "new").read_bytes() == b"fresh"


def test_death_at_every_call_of_edit_and_write_leaves_old_or_new(session: Any, tmp_path: Path) -> None:
    _, act = crash_case(session, tmp_path, "count")
    total = count_calls(act)
    assert total > 60
    for nth in range(1, total + 1):
        directory, act = crash_case(session, tmp_path, f"kill{nth}")
        assert killed_at(nth, act)
        check_crash_case(directory)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.EACCES])
def test_an_error_at_every_call_of_edit_and_write_is_a_clear_failure(session: Any, tmp_path: Path, number: int) -> None:
    _, act = crash_case(session, tmp_path, "count")
    for nth in range(1, count_calls(act) + 1):
        directory, act = crash_case(session, tmp_path, f"fail{nth}")
        with failing_at(nth, number):
            message = failure_of(act)
        assert message is None or str(directory) in message or "kept" in message
        check_crash_case(directory)


def failure_of(act: Any) -> str | None:
    try:
        act()
    except ToolFailed as error:
        return str(error)
    return None
