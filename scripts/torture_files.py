"""The long forms of the file tests: many editors, many swaps, more beasts, crashes and faults on every file system.

    scripts/torture_files.py [--editors 100] [--rounds 100] [--races 2000] [--zoo 3] [--on DIRECTORY ...]

Give --on once per file system (an ext4, a tmpfs, an overlay). Prints one line per demand; exit 1 if one is not met.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.contract import ArgumentsInvalid, FileRead, FileStamp, ToolContext, ToolFailed
from holdfast.lib.atomic import remove_strays
from holdfast.lib.checkpoints import CheckpointStore
from holdfast.testing.faults import count_calls, failing_at, killed_at
from holdfast.testing.swaps import swapping
from holdfast.testing.zoo import MARKER, build_zoo
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.files.write import Write

if TYPE_CHECKING:
    from collections.abc import Callable

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENOMEM, errno.EINTR)


class Session:
    """Read, Write and Edit with what they have read."""

    def __init__(self, cwd: Path, store: CheckpointStore | None = None) -> None:
        bench = Workbench(checkpoints=store)
        self.read, self.write, self.edit = Read(bench.targets), Write(bench), Edit(bench)
        self.cwd = cwd
        self.reads: dict[str, FileStamp] = {}
        self.number = 0

    async def call(self, tool: Any, *, outside: str | None = None, **raw: Any) -> str:
        self.number += 1
        ctx = ToolContext(self.cwd, tool_use_id=f"t{self.number}", file_reads=self.reads)
        args = tool.arguments.parse(raw)
        judged = tool.effects(args, ctx)
        if outside and any(outside in path for path in (*judged.reads, *judged.writes)):
            return "denied"
        await tool.validate(args, ctx)
        result = await tool.call(args, ctx)
        self.reads.update({m.path: m.stamp for m in result.modifiers if isinstance(m, FileRead)})
        return str(result.text)


async def edit_in_turns(path: str, me: str, rounds: int) -> None:
    session = Session(Path("/"))
    for number in range(rounds):
        while True:
            try:
                await session.call(session.read, file_path=path)
                await session.call(session.edit, file_path=path, old_string="END", new_string=f"{me}.{number}\nEND")
                break
            except ToolFailed as error:
                if error.error_code != 3:
                    raise


def many_editors(home: Path, editors: int, rounds: int) -> str:
    path = home / "shared"
    path.write_text("END\n")
    argv = [sys.executable, __file__, "--edit", str(path), "--rounds", str(rounds), "--me"]
    workers = [subprocess.Popen([*argv, str(number)]) for number in range(editors)]
    codes = {worker.wait() for worker in workers}
    wanted = sorted(["END", *(f"{n}.{i}" for n in range(editors) for i in range(rounds))])
    assert codes == {0}
    assert sorted(path.read_text().split()) == wanted, "an update was lost without an error"
    return f"{editors} editors, {rounds} edits each: none lost"


def races(home: Path, count: int) -> str:
    (home / "outside").mkdir()
    (home / "inside").mkdir()
    for place, text in (("outside", "SECRET"), ("inside", "harmless")):
        (home / place / "f").write_text(text)
    (home / "other").symlink_to("outside")

    async def attempt(session: Session, tool: Any, **raw: Any) -> None:
        try:
            assert "SECRET" not in await session.call(tool, outside="outside", **raw), "a read escaped"
        except (ToolFailed, ArgumentsInvalid):
            return

    async def race() -> None:
        session = Session(home)
        for number in range(count):
            await attempt(session, session.read, file_path="inside/f")
            await attempt(session, session.write, file_path=f"inside/n{number}", content="x")

    with swapping(str(home / "inside"), str(home / "other")) as swaps:
        asyncio.run(race())
    assert [entry.name for entry in (home / "outside").iterdir()] == ["f"], "a write escaped"
    return f"{swaps.count:,} swaps against {2 * count:,} calls: no escape"


def crash_case(home: Path, name: str) -> tuple[Path, Callable[[], None]]:
    directory = home / name
    directory.mkdir()
    (directory / "f").write_bytes(b"text\n" * 40 + b"HERE\n")
    store = CheckpointStore(str(directory / "state"))
    session = Session(home, store)
    asyncio.run(session.call(session.read, file_path=str(directory / "f")))

    def act() -> None:
        ctx = ToolContext(home, tool_use_id="crash", file_reads=session.reads)
        path, tools = str(directory / "f"), session
        edit = tools.edit.arguments.parse({"file_path": path, "old_string": "HERE", "new_string": "THERE"})
        tools.edit._edit(edit, ctx)  # noqa: SLF001 - the synchronous half, so that a kill hits it
        write = tools.write.arguments.parse({"file_path": str(directory / "new"), "content": "fresh"})
        tools.write._write(write, ctx)  # noqa: SLF001 - the synchronous half, so that a kill hits it
        store.undo("crash")

    return directory, act


def check(directory: Path) -> None:
    remove_strays(str(directory))
    text = b"text\n" * 40
    assert (directory / "f").read_bytes() in {text + b"HERE\n", text + b"THERE\n"}, "a file is neither old nor new"
    assert {entry.name for entry in directory.iterdir()} <= {"f", "new", "state"}, "a stray file stayed"


def crashes(home: Path) -> str:
    total = count_calls(crash_case(home, "count")[1])
    for nth in range(1, total + 1):
        directory, act = crash_case(home, f"kill{nth}")
        killed_at(nth, act)
        check(directory)
        shutil.rmtree(directory)
    for number in ERRORS:
        for nth in range(1, total + 1):
            directory, act = crash_case(home, f"fail{nth}")
            with failing_at(nth, number):
                outcome(act)
            check(directory)
            shutil.rmtree(directory)
    return f"{total} calls: death and {len(ERRORS)} errors at each leave old or new"


def outcome(act: Callable[[], None]) -> str:
    from holdfast.lib.checkpoints import UndoRefusedError  # noqa: PLC0415 - loaded only where it is used

    try:
        act()
    except (ToolFailed, UndoRefusedError, OSError) as error:
        return str(error)
    return ""


def zoo(home: Path, scale: int) -> str:
    async def meet_all() -> int:
        session, count = Session(home), 0
        for beast in build_zoo(home, seed=7, scale=scale):
            count += 1
            path = str(beast.path)
            try:
                async with asyncio.timeout(120):
                    await session.call(session.read, file_path=path)
                    await session.call(session.edit, file_path=path, old_string=MARKER, new_string="X")
            except ToolFailed as error:
                refusals = f"{path!r} should have been edited: {error}" if beast.edited is not None else ""
            else:
                refusals = ""
                assert beast.edited is None or beast.path.read_bytes() == beast.edited, f"{path!r} is wrong"
                beast.path.unlink()
            assert not refusals, refusals
        return count

    return f"{asyncio.run(meet_all()):,} beasts met: no hang, no traceback, no wrong byte"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--editors", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--races", type=int, default=2000)
    parser.add_argument("--zoo", type=int, default=3)
    parser.add_argument("--on", action="append", default=[])
    parser.add_argument("--edit", help=argparse.SUPPRESS)
    parser.add_argument("--me", default="0", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.edit:
        asyncio.run(edit_in_turns(options.edit, options.me, options.rounds))
        return 0
    failed = 0
    for base in options.on or [tempfile.gettempdir()]:
        demands: list[tuple[str, Callable[[Path], str]]] = [
            ("crashes", crashes),
            ("editors", lambda home: many_editors(home, options.editors, options.rounds)),
            ("races", lambda home: races(home, options.races)),
            ("zoo", lambda home: zoo(home, options.zoo)),
        ]
        for name, demand in demands:
            with tempfile.TemporaryDirectory(dir=base, prefix="holdfast-torture-") as home:
                try:
                    print(f"ok   {base} {name}: {demand(Path(home).resolve())}", flush=True)
                except AssertionError as error:
                    failed += 1
                    print(f"FAIL {base} {name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
