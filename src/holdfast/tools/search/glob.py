"""Find files by name. The text the model reads is in glob.md, beside this file."""

import os
import re
import time
from collections.abc import Callable
from heapq import heapify, heappop, nsmallest
from typing import TypedDict

from pydantic import Field

from holdfast.contract import Args, Effects, RuleSubject, Tool, ToolContext, ToolResult
from holdfast.host.ripgrep import Ripgrep
from holdfast.host.targets import Targets
from holdfast.tools.search._place import Place, check_argument, searched, unread_note

LIMIT = 100
_MANY = 800  # names kept before the oldest of them are dropped
_SPECIAL = re.compile(r"[*?\[{\\]")


class GlobArgs(Args):
    """What to look for."""

    pattern: str = Field(min_length=1, description="Glob relative to `path`, as `src/**/*.py` or `*.{js,ts}`.")
    path: str | None = Field(default=None, description="Directory to search; the working directory if omitted.")


class GlobOutput(TypedDict):
    """What programs read of the files that were found."""

    filenames: list[str]
    numFiles: int
    truncated: bool
    durationMs: int


class Glob(Tool[GlobArgs, GlobOutput]):
    """Lists the files that fit a pattern, newest first."""

    name, args_type = "Glob", GlobArgs
    output_type = GlobOutput
    search_hint = "find files by name pattern or wildcard"
    shown_arguments = ("pattern", "path")
    max_result_chars = 100_000
    read_only = concurrency_safe = True
    interrupt_behavior = "cancel"
    folds_into = "search"

    def __init__(self, search: Ripgrep, targets: Targets | None = None, *, limit: int = LIMIT) -> None:
        self.search = search
        self.targets = targets or Targets()
        self.limit = limit

    def effects(self, args: GlobArgs, ctx: ToolContext) -> Effects:
        """It reads below the directory."""
        return Effects(reads=self.targets.judge(ctx, _split(args)[0]))

    def permission_matcher(self, args: GlobArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Read decide."""
        return RuleSubject("read_path", str(ctx.resolve(_split(args)[0])))

    async def call(self, args: GlobArgs, ctx: ToolContext) -> ToolResult[GlobOutput]:
        """List with ripgrep and look at the times while the list is still coming."""
        began = time.perf_counter()
        base, pattern = _split(args)
        real = self.targets.take(ctx, base)
        argv = ["--files", "--hidden", "--no-ignore", "--null", f"--glob={pattern}"]
        with searched(real, base, ctx.cwd, only_directory=True) as place:
            names = _Names(place, ctx.hidden, self.limit)
            went = await self.search.run(argv, ".", place.handle, names.take)
            unread = unread_note(went, place, hidden=ctx.hidden, shown_as=base)
            found, truncated = names.newest()
            shown = [place.shown(name) for name in found]
        data: GlobOutput = {
            "filenames": shown,
            "numFiles": len(shown),
            "truncated": truncated or not went.complete,
            "durationMs": round((time.perf_counter() - began) * 1000),
        }
        notes: list[str] = []
        if truncated:
            notes.append(f"[The newest {self.limit:,} of {names.count:,}; narrow the pattern or the path.]")
        if not went.complete:
            notes.append("[The search ran out of time, so newer files may be missing; narrow the path.]")
        return ToolResult(data, "\n".join([*([*shown, *notes] or ["No files found."]), *unread]))


def _split(args: GlobArgs) -> tuple[str, str]:
    """Return the directory to search and the pattern below it; a pattern may carry its directory in front."""
    base, pattern = args.path or ".", args.pattern.removeprefix("./")
    if pattern.startswith(("/", "~", "../")):
        parts = pattern.split("/")
        literal = next((number for number, part in enumerate(parts) if _SPECIAL.search(part)), len(parts) - 1)
        base = os.path.join(base, "/".join(parts[:literal]) or "/")
        pattern = "/" + "/".join(parts[literal:])
    check_argument(pattern)
    if pattern.endswith("/"):
        pattern += "**"
    return base, f"\\{pattern}" if pattern.startswith("!") else pattern


class _Names:
    """Collects names and their times piece by piece; where none is hidden, only those that may be among the newest."""

    def __init__(self, place: Place, hidden: Callable[[str], bool] | None, limit: int) -> None:
        self._limit = limit
        self._handle = place.handle
        self._place = place
        self._hidden = hidden
        self._rest = b""
        self._found: list[tuple[int, bytes]] = []
        self._oldest_ns = -1 << 63
        """Anything older is not among the newest."""
        self.count = 0
        """How many files were found."""

    def take(self, piece: bytes) -> bool:
        """Take a piece of output; never has enough."""
        *names, self._rest = (self._rest + piece).split(b"\0")
        stat, handle, found, oldest_ns, gone = os.stat, self._handle, self._found, self._oldest_ns, 0
        for name in names:
            try:
                mtime_ns = stat(name, dir_fd=handle, follow_symlinks=False).st_mtime_ns
            except OSError:  # gone since it was listed, and a check first would cost as much
                gone += 1
                continue
            if mtime_ns >= oldest_ns:
                found.append((-mtime_ns, name))
        self.count += len(names) - gone
        if self._hidden is None and len(found) > _MANY + 2 * self._limit:
            self._found = nsmallest(self._limit, found)
            self._oldest_ns = -self._found[-1][0]
        return False

    def newest(self) -> tuple[list[str], bool]:
        """Return the newest names that are not hidden, and whether there are more."""
        hidden, names, visible = self._hidden, self._found, list[str]()
        if hidden is None:
            return [_clean(name) for _, name in nsmallest(self._limit, names)], self.count > self._limit
        heapify(names)  # only the first few are wanted, so they are not all sorted
        while names:
            clean = _clean(heappop(names)[1])
            if hidden(self._place.absolute(clean)):
                continue
            if len(visible) == self._limit:
                return visible, True
            visible.append(clean)
        return visible, False


def _clean(name: bytes) -> str:
    return os.fsdecode(name.removeprefix(b"./"))
