"""Replay a git history through Edit and Write, hunk by hunk, and compare the bytes with the commits.

    scripts/replay_commits.py REPOSITORY [--commits N] [--crlf] [--via exec|tools]

Every changed text file of every commit becomes a Read and one Edit per hunk; with --crlf the files are stored with
CRLF while the edits stay LF, as models write them. Prints a summary; exit 1 if any byte differs.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from holdfast.contract import ArgumentsInvalid, FileRead, FileStamp, ToolContext, ToolFailed
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.files.write import Write

Call = tuple[str, dict[str, Any]]


class Tools:
    """Calls the tools directly."""

    def __init__(self, cwd: Path) -> None:
        bench = Workbench()
        self.tools: dict[str, Any] = {"Read": Read(bench.targets), "Edit": Edit(bench), "Write": Write(bench)}
        self.cwd = cwd
        self.loop = asyncio.new_event_loop()
        self.reads: dict[str, FileStamp] = {}

    def run(self, calls: list[Call]) -> list[str]:
        return [error for name, raw in calls if (error := self.loop.run_until_complete(self._call(name, raw)))]

    async def _call(self, name: str, raw: dict[str, Any]) -> str | None:
        tool = self.tools[name]
        ctx = ToolContext(self.cwd, file_reads=self.reads)
        try:
            args = tool.arguments.parse(raw)
            await tool.validate(args, ctx)
            result = await tool.call(args, ctx)
        except (ToolFailed, ArgumentsInvalid) as error:
            return str(error)
        self.reads.update({m.path: m.stamp for m in result.modifiers if isinstance(m, FileRead)})
        return None

    def close(self) -> None:
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class Exec:
    """Sends the calls through `holdfast exec`, as any program would."""

    def __init__(self, cwd: Path) -> None:
        argv = [sys.executable, "-m", "holdfast", "exec", "--permission-mode", "bypassPermissions", "--cwd", str(cwd)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def run(self, calls: list[Call]) -> list[str]:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        errors: list[str] = []
        for name, raw in calls:
            self.number += 1
            line = {"type": "tool_use", "id": f"c{self.number}", "name": name, "input": raw}
            stdin.write(json.dumps(line).encode() + b"\n")
            stdin.flush()
            answer = json.loads(stdout.readline())
            if answer.get("is_error") or answer["type"] == "error":
                errors.append(str(answer.get("content") or answer.get("message")))
        return errors

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def edits_between(old: str, new: str, path: str) -> list[Call]:
    """One Edit per hunk, each with just enough of its surroundings to be the only place."""
    before, after = _newline_lines(old), _newline_lines(new)
    current = old
    calls: list[Call] = []
    shift = 0
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        lines = _newline_lines(current)
        start, end = i1 + shift, i2 + shift
        low, high = start, end
        while True:
            wanted = "".join(lines[low:high])
            if wanted and current.find(wanted, current.find(wanted) + 1) < 0:
                break  # the only place, also counting places that overlap
            if low == 0 and high == len(lines):
                break
            low, high = max(0, low - 1), min(len(lines), high + 1)
        put = "".join(lines[low:start] + after[j1:j2] + lines[end:high])
        if not wanted:
            calls.append(("Write", {"file_path": path, "content": new}))
            return calls
        calls.append(("Edit", {"file_path": path, "old_string": wanted, "new_string": put}))
        current = current.replace(wanted, put)
        shift += (j2 - j1) - (i2 - i1)
    return calls


def _newline_lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=True).stdout


def changes(repository: Path, commits: int) -> list[tuple[str, str, str, str]]:
    """Every changed file: commit, path, and the ids of the old and the new content."""
    log = git(repository, "log", "--no-merges", f"-{commits}", "--format=%H", "--reverse").decode().split()
    found: list[tuple[str, str, str, str]] = []
    for commit in log:
        raw = git(repository, "diff-tree", "-r", "--root", "--no-renames", "-z", "--no-commit-id", commit)
        fields = raw.decode("utf-8", "surrogateescape").split("\0")
        for meta, path in zip(fields[0::2], fields[1::2], strict=False):
            old_mode, new_mode, old, new, status = meta.lstrip(":").split(" ")
            if status in {"A", "M"} and new_mode.startswith("100") and old_mode[:3] in {"100", "000"}:
                found.append((commit, path, old if status == "M" else "", new))
    return found


def replay(driver: Tools | Exec, place: Path, old: bytes, new: bytes, *, crlf: bool) -> tuple[str, str]:
    """Replay one file; returns the outcome and, for a failure, what went wrong."""
    try:
        old_text, new_text = old.decode("utf-8"), new.decode("utf-8")
    except UnicodeDecodeError:
        return "skipped", "not UTF-8"
    if b"\0" in old + new or old == new or place.suffix == ".ipynb" or (crlf and b"\r" in old + new):
        return "skipped", "binary, equal, notebook or with its own carriage returns"
    expected = new
    if crlf:
        expected = new.replace(b"\n", b"\r\n")
    if old:
        place.write_bytes(old.replace(b"\n", b"\r\n") if crlf else old)
        calls: list[Call] = [("Read", {"file_path": str(place)}), *edits_between(old_text, new_text, str(place))]
        if any(name == "Write" for name, _ in calls):
            return "skipped", "no hunk can be named"
    else:
        place.unlink(missing_ok=True)
        expected = new
        calls = [("Write", {"file_path": str(place), "content": new_text})]
    errors = driver.run(calls)
    if errors:
        return "failed", errors[0]
    return ("same", "") if place.read_bytes() == expected else ("differs", "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--crlf", action="store_true")
    parser.add_argument("--via", choices=("exec", "tools"), default="tools")
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        cwd = Path(home).resolve()
        driver = Exec(cwd) if options.via == "exec" else Tools(cwd)
        try:
            for number, (commit, path, old, new) in enumerate(changes(options.repository, options.commits)):
                before = git(options.repository, "cat-file", "blob", old) if old else b""
                after = git(options.repository, "cat-file", "blob", new)
                place = cwd / f"{number}{Path(path).suffix[:20]}"
                outcome, why = replay(driver, place, before, after, crlf=options.crlf)
                outcomes[outcome] += 1
                if outcome in {"failed", "differs"}:
                    print(f"{outcome}: {commit[:12]} {path!r} {why}"[:2000])
                place.unlink(missing_ok=True)
        finally:
            driver.close()
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    return 1 if outcomes["failed"] or outcomes["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
