"""Find files by name. The text the model reads is in glob.md, beside this file."""

import asyncio
import os
import time
from pathlib import Path

from pydantic import Field

from holdfast.contract import Args, Effects, RuleSubject, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.host.ripgrep import Ripgrep

LIMIT = 100


class GlobArgs(Args):
    """What to look for."""

    pattern: str = Field(description="Glob relative to `path`, for example `src/**/*.py` or `*.{js,ts}`.")
    path: str | None = Field(default=None, description="Directory to search; the working directory if omitted.")


class Glob(Tool[GlobArgs, dict[str, object]]):
    """Lists the files that fit a pattern, newest first."""

    name, args_type = "Glob", GlobArgs
    search_hint = "find files by name pattern or wildcard"
    max_result_chars = 100_000
    read_only = concurrency_safe = True
    interrupt_behavior = "cancel"
    folds_into = "search"

    def __init__(self, search: Ripgrep) -> None:
        self.search = search

    def effects(self, args: GlobArgs, ctx: ToolContext) -> Effects:
        """It reads the directory."""
        return Effects(reads=[ctx.resolve(args.path or ".")])

    def permission_matcher(self, args: GlobArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Read decide."""
        return RuleSubject("read_path", str(ctx.resolve(args.path or ".")))

    async def call(self, args: GlobArgs, ctx: ToolContext) -> ToolResult[dict[str, object]]:
        """List with ripgrep, then order by time of change."""
        began = time.perf_counter()
        root = ctx.resolve(args.path or ".")
        if not root.is_dir():
            raise ToolFailed(f"{str(root)!r} is no directory; give one in `path`", error_code=1)
        names = await self.search.files(root, args.pattern)
        newest = await asyncio.to_thread(_newest_first, root, names)
        shown = [os.path.relpath(root / name, ctx.cwd) for name in newest[:LIMIT]]
        truncated = len(newest) > LIMIT
        data: dict[str, object] = {
            "filenames": shown,
            "numFiles": len(shown),
            "truncated": truncated,
            "durationMs": round((time.perf_counter() - began) * 1000),
        }
        note = [f"[The newest {LIMIT} of {len(newest):,}; narrow the pattern or the path.]"] if truncated else []
        return ToolResult(data, "\n".join([*shown, *note]) or "No files found.")


def _newest_first(root: Path, names: list[str]) -> list[str]:
    base = os.open(root, os.O_RDONLY)
    try:
        return sorted(names, key=lambda name: _changed_at(name, base), reverse=True)
    finally:
        os.close(base)


def _changed_at(name: str, base: int) -> int:
    try:
        return os.stat(name, dir_fd=base, follow_symlinks=False).st_mtime_ns
    except OSError:  # gone since it was listed
        return 0
