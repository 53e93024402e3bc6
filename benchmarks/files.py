"""Files and search against the raw tools (rg, tail, plain reads and writes) on a generated tree."""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from holdfast.contract import FileRead, FileStamp, Tool, ToolContext
from holdfast.host.ripgrep import VCS_DIRECTORIES, Ripgrep
from holdfast.lib.lines import LineReader
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.search.glob import Glob
from holdfast.tools.search.grep import Grep
from measure import Row, interleaved, row

HOME = Path(tempfile.gettempdir()) / "holdfast-bench"
FILES = int(os.environ.get("HOLDFAST_BENCH_FILES", "200000"))
GIGABYTE = int(os.environ.get("HOLDFAST_BENCH_BYTES", str(1024**3)))
LINE = 5_000_000 * GIGABYTE // 1024**3
RG = Ripgrep()
WITHOUT_VCS = [f"--glob=!**/{name}" for name in VCS_DIRECTORIES]
GREP_FLAGS = [
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--no-messages",
    "--null",
    "--color=never",
    "--max-columns=500",
]
GLOB_FLAGS = [
    "--no-config",
    "--files",
    "--hidden",
    "--no-ignore",
    "--no-messages",
    "--null",
    "--glob=*.py",
    *WITHOUT_VCS,
]


def tree() -> Path:
    """Many small files, a quarter of them Python, with a common word in each and a rare one in few."""
    root = HOME / f"tree{FILES}"
    if not (root / ".ready").exists():
        for directory in range(FILES // 100):
            place = root / f"d{directory % 40}" / f"e{directory}"
            place.mkdir(parents=True, exist_ok=True)
            for number in range(100):
                suffix = ("py", "js", "md", "txt")[number % 4]
                rare = "rare_needle\n" if (directory * 100 + number) % 20_000 == 7 else ""
                text = f"import os\nvalue = {number}\ncommon word here\n{rare}" * 4
                (place / f"f{number}.{suffix}").write_text(text)
        (root / ".ready").touch()
    return root


def large_file() -> Path:
    """A gigabyte of lines of many lengths."""
    path = HOME / f"large{GIGABYTE}"
    if not path.exists() or path.stat().st_size < GIGABYTE:
        chance = random.Random(1)
        block = b"".join(b"%07d %s\n" % (n, b"x" * chance.randrange(170)) for n in range(11_000))
        with path.open("wb") as file:
            for _ in range(GIGABYTE // len(block) + 1):
                file.write(block)
    return path


class Session:
    """One event loop and what was read, for calling tools as an engine would."""

    def __init__(self, cwd: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.cwd = cwd
        self.reads: dict[str, FileStamp] = {}

    def call_afresh(self, tool: Tool[Any, Any], **raw: Any) -> Any:
        """Call as if nothing had been read before."""
        self.reads.clear()
        return self.call(tool, **raw)

    def call(self, tool: Tool[Any, Any], **raw: Any) -> Any:
        ctx = ToolContext(self.cwd, file_reads=self.reads)
        work: Coroutine[Any, Any, Any] = tool.call(tool.arguments.parse(raw), ctx)
        result = self.loop.run_until_complete(work)
        for modifier in result.modifiers:
            if isinstance(modifier, FileRead):
                self.reads[modifier.path] = modifier.stamp
        return result


def piped(argv: list[str], cwd: Path) -> int:
    """Run a program through `cat` and count what comes out, as a shell user would see it."""
    with (
        subprocess.Popen([RG.binary, *argv], cwd=cwd, stdout=subprocess.PIPE) as first,
        subprocess.Popen(["cat"], stdin=first.stdout, stdout=subprocess.PIPE) as second,
    ):
        assert second.stdout is not None
        return len(second.stdout.read())


def listed(cwd: Path) -> int:
    """List names with ripgrep alone."""
    done = subprocess.run([RG.binary, *GLOB_FLAGS, "."], cwd=cwd, capture_output=True, check=True)
    return len(done.stdout.split(b"\0"))


def search_rows(session: Session) -> list[Row]:
    grep, glob = Grep(RG), Glob(RG)
    rare = [*GREP_FLAGS, "--files-with-matches", *WITHOUT_VCS, "--regexp=rare_needle", "--", "."]
    common = [*GREP_FLAGS, "--line-number", "--with-filename", *WITHOUT_VCS, "--regexp=common word", "--", "."]

    def names_only() -> int:
        parts: list[bytes] = []
        handle = os.open(session.cwd, os.O_PATH)
        try:
            argv = [flag for flag in GLOB_FLAGS if flag not in {"--no-config", *WITHOUT_VCS}]
            session.loop.run_until_complete(RG.run(argv, ".", handle, lambda piece: bool(parts.append(piece))))
        finally:
            os.close(handle)
        return len(b"".join(parts).split(b"\0"))

    ours, theirs, early, everything, newest, unsorted, raw = interleaved(
        lambda: session.call(grep, pattern="rare_needle"),
        lambda: piped(rare, session.cwd),
        lambda: session.call(grep, pattern="common word", output_mode="content"),
        lambda: piped(common, session.cwd),
        lambda: session.call(glob, pattern="*.py"),
        names_only,
        lambda: listed(session.cwd),
        rounds=5,
    )
    files = f"{FILES:,} files"
    return [
        row(f"Grep, rare word, {files}", ours * 1e3, theirs * 1e3, unit="ms", limit=1.05, against="rg | cat"),
        row(
            f"Grep, common word, {files}",
            early * 1e3,
            everything * 1e3,
            unit="ms",
            limit=0.05,
            against="all of rg | cat",
        ),
        row(f"Glob newest first, {files}", newest * 1e3, raw * 1e3, unit="ms", limit=2.2, against="rg --files"),
        row(f"listing only, {files}", unsorted * 1e3, raw * 1e3, unit="ms", limit=1.1, against="rg --files"),
    ]


def read_rows(session: Session, path: Path) -> list[Row]:
    window = {"file_path": str(path), "offset": LINE, "limit": 2000}
    command = f"tail -n +{LINE} {path} | head -n 2000"
    reader = LineReader()
    handle = os.open(path, os.O_RDONLY)
    try:
        reader.window(handle, first=LINE + 5000, limit=1)
        first, tail, later = interleaved(
            lambda: session.call_afresh(Read(), **window),
            lambda: subprocess.run(["bash", "-c", command], capture_output=True, check=False).stdout,
            lambda: reader.window(handle, first=LINE - 3000, limit=2000),
            rounds=7,
        )
    finally:
        os.close(handle)
    growth = float(subprocess.run([sys.executable, __file__, str(path)], capture_output=True, check=True).stdout)
    at = f"line {LINE:,}"
    return [
        row(f"Read 2,000 lines at {at}", first * 1e3, tail * 1e3, unit="ms", limit=1.7, against="tail | head"),
        row("the next window, by the index", later * 1e3, 1.0, unit="ms", limit=1.0, against="1 ms"),
        row("memory growth of that Read", growth, 32.0, unit="MB", limit=1.0, against="32 MB"),
    ]


def edit_rows(session: Session) -> list[Row]:
    path = HOME / "hundred"
    content = (b"0123456789 some words to make a line of text\n" * 2_300_000)[:100_000_000] + b"\nSTATE-0\n"
    path.write_bytes(content)
    plain = HOME / "plain"
    state = 0

    def edit() -> None:
        nonlocal state
        session.call(tool, file_path=str(path), old_string=f"STATE-{state}\n", new_string=f"STATE-{1 - state}\n")
        state = 1 - state

    def floor() -> None:
        data = path.read_bytes()
        with plain.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    tool = Edit()
    session.call(Read(), file_path=str(path), limit=10)
    ours, theirs = interleaved(edit, floor, rounds=5)
    path.unlink()
    plain.unlink()
    return [row("Edit of 100 MB", ours * 1e3, theirs * 1e3, unit="ms", limit=3.0, against="read + write + fsync")]


def rows() -> list[Row]:
    """Every promise about the speed of files and search."""
    HOME.mkdir(exist_ok=True)
    session = Session(tree())
    try:
        return [*search_rows(session), *read_rows(session, large_file()), *edit_rows(session)]
    finally:
        session.loop.run_until_complete(session.loop.shutdown_default_executor())
        session.loop.close()


def main() -> None:
    """Print by how many megabytes a process grows while it reads far into a file."""
    import resource  # noqa: PLC0415 - loaded only where it is used

    session = Session(HOME)
    session.call(Read(), file_path=sys.argv[1], limit=10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    session.call(Read(), file_path=sys.argv[1], offset=LINE, limit=2000)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


if __name__ == "__main__":
    main()
