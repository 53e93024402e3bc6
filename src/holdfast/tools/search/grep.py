"""Search file contents. The text the model reads is in grep.md, beside this file."""

import os
from contextlib import aclosing
from pathlib import Path
from typing import Literal

from pydantic import Field

from holdfast.contract import Args, Effects, RuleSubject, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.host.ripgrep import Ripgrep

LINE_COLUMNS = 500


class GrepArgs(Args):
    """What to search for and how to show it."""

    pattern: str = Field(description="Regular expression in ripgrep's syntax.")
    path: str | None = Field(default=None, description="File or directory; the working directory if omitted.")
    glob: str | None = Field(default=None, description="Only files that fit, for example `*.py` or `*.{c,h}`.")
    type: str | None = Field(default=None, description="Only files of this ripgrep type, for example `py`.")
    output_mode: Literal["content", "files_with_matches", "count"] = Field(
        default="files_with_matches", description="Matching lines, names of files, or matches per file."
    )
    before: int | None = Field(default=None, alias="-B", ge=0, description="Lines before a match (content).")
    after: int | None = Field(default=None, alias="-A", ge=0, description="Lines after a match (content).")
    around: int | None = Field(default=None, alias="-C", ge=0, description="Lines around a match (content).")
    context: int | None = Field(default=None, ge=0, description="The same as -C.")
    line_numbers: bool = Field(default=True, alias="-n", description="Show line numbers (content).")
    ignore_case: bool = Field(default=False, alias="-i", description="Ignore case.")
    only_matching: bool = Field(default=False, alias="-o", description="Only the matching parts (content).")
    multiline: bool = Field(default=False, description="Let `.` and the pattern cross line ends.")
    head_limit: int = Field(default=250, ge=0, description="At most so many lines or entries; 0 for all.")
    offset: int = Field(default=0, ge=0, description="Skip so many first, to read on.")


class Grep(Tool[GrepArgs, dict[str, object]]):
    """Searches with ripgrep and stops it as soon as enough is found."""

    name, args_type = "Grep", GrepArgs
    search_hint = "search file contents with a regular expression"
    max_result_chars = 20_000
    read_only = concurrency_safe = True
    interrupt_behavior = "cancel"
    folds_into = "search"
    strict = True

    def __init__(self, search: Ripgrep) -> None:
        self.search = search

    def effects(self, args: GrepArgs, ctx: ToolContext) -> Effects:
        """It reads below the path."""
        return Effects(reads=[ctx.resolve(args.path or ".")])

    def permission_matcher(self, args: GrepArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Read decide."""
        return RuleSubject("read_path", str(ctx.resolve(args.path or ".")))

    async def call(self, args: GrepArgs, ctx: ToolContext) -> ToolResult[dict[str, object]]:
        """Take lines until the limit is reached, then end ripgrep."""
        target = ctx.resolve(args.path or ".")
        if not target.exists():
            raise ToolFailed(f"there is no {str(target)!r}; give an existing file or directory", error_code=1)
        wanted = args.offset + args.head_limit if args.head_limit else None
        lines: list[str] = []
        more = False
        async with aclosing(self.search.search(_argv(args, target, ctx.cwd), Path(ctx.cwd))) as found:
            async for line in found:
                if wanted is not None and len(lines) == wanted:
                    more = True
                    break
                lines.append(os.fsdecode(line).removeprefix("./"))
        return _result(args, lines[args.offset :], more=more)


def _argv(args: GrepArgs, target: Path, cwd: str) -> list[str]:
    argv = ["--hidden", "--no-messages", f"--max-columns={LINE_COLUMNS}", "--max-columns-preview", "--color=never"]
    if args.output_mode == "files_with_matches":
        argv.append("--files-with-matches")
    elif args.output_mode == "count":
        argv += ["--count-matches", "--with-filename"]
    else:
        argv += ["--no-heading", "--with-filename", "--line-number" if args.line_numbers else "--no-line-number"]
        around = args.around if args.around is not None else args.context
        before, after = (args.before or around or 0), (args.after or around or 0)
        argv += [f"--before-context={before}", f"--after-context={after}"]
        if args.only_matching:
            argv.append("--only-matching")
    if args.ignore_case:
        argv.append("--ignore-case")
    if args.multiline:
        argv += ["--multiline", "--multiline-dotall"]
    if args.glob:
        argv.append(f"--glob={args.glob}")
    if args.type:
        argv.append(f"--type={args.type}")
    return [*argv, f"--regexp={args.pattern}", "--", os.path.relpath(target, cwd)]


def _result(args: GrepArgs, lines: list[str], *, more: bool) -> ToolResult[dict[str, object]]:
    data: dict[str, object] = {"mode": args.output_mode, "numFiles": 0, "filenames": []}
    if args.output_mode == "files_with_matches":
        data |= {"numFiles": len(lines), "filenames": lines}
    elif args.output_mode == "count":
        data |= {"numFiles": len(lines), "numMatches": sum(int(line.rpartition(":")[2]) for line in lines)}
        data |= {"content": "\n".join(lines)}
    else:
        data |= {"content": "\n".join(lines), "numLines": len(lines)}
    note: list[str] = []
    if more:
        data |= {"appliedLimit": args.head_limit}
        note = [f"[More follows; read on with offset {args.offset + args.head_limit}, or narrow the search.]"]
    if args.offset:
        data |= {"appliedOffset": args.offset}
    return ToolResult(data, "\n".join([*lines, *note]) or "No matches found.")
