"""Search file contents. The text the model reads is in grep.md, beside this file."""

import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import Field, WithJsonSchema

from holdfast.contract import Args, ArgumentsInvalid, Effects, RuleSubject, Tool, ToolContext, ToolResult
from holdfast.host.ripgrep import TIME_LIMIT_S, Ripgrep, RipgrepError, Searched
from holdfast.host.targets import Targets
from holdfast.tools.search._place import Place, check_argument, searched, unread_note
from holdfast.tools.search._records import Mode, Records

LINE_COLUMNS = 500
_KEPT_ORDERS = 32
_BY_PATH_LIMIT_S = 5.0
"""For the search in the order of paths; a tree that takes longer is paged in the order of this session."""


_Lines = Annotated[int, Field(ge=0), WithJsonSchema({"type": "integer"})]


class GrepArgs(Args):
    """What to search for and how to show it. Fields that ripgrep's own flags name need no words."""

    pattern: str = Field(min_length=1)
    path: str | None = Field(default=None, description="File or directory.")
    glob: str | None = Field(default=None, description="Such as *.py.")
    type: str | None = Field(default=None, description="Such as py.")
    output_mode: Mode = "files_with_matches"
    before: _Lines | None = Field(default=None, alias="-B")
    after: _Lines | None = Field(default=None, alias="-A")
    around: _Lines | None = Field(default=None, alias="-C")
    context: _Lines | None = Field(default=None, description="As -C.")
    line_numbers: bool = Field(default=True, alias="-n")
    ignore_case: bool = Field(default=False, alias="-i")
    only_matching: bool = Field(default=False, alias="-o")
    multiline: bool = Field(default=False)
    head_limit: int = Field(default=250, ge=0, description="0 for all.")
    offset: int = Field(default=0, ge=0)


class GrepOutput(TypedDict):
    """What programs read of a search."""

    mode: Mode
    numFiles: int
    filenames: list[str]
    content: NotRequired[str]
    numLines: NotRequired[int]
    numMatches: NotRequired[int]
    appliedLimit: NotRequired[int]
    appliedOffset: NotRequired[int]


class Grep(Tool[GrepArgs, GrepOutput]):
    """Searches with ripgrep and stops it as soon as enough is found."""

    name, args_type = "Grep", GrepArgs
    output_type = GrepOutput
    search_hint = "search file contents with a regular expression"
    shown_arguments = ("pattern", "path", "glob", "type")
    max_result_chars = 20_000
    read_only = concurrency_safe = True
    interrupt_behavior = "cancel"
    folds_into = "search"
    strict = True

    def __init__(self, search: Ripgrep, targets: Targets | None = None) -> None:
        self.search = search
        self.targets = targets or Targets()
        self._orders: OrderedDict[tuple[Any, ...], list[str]] = OrderedDict()

    def effects(self, args: GrepArgs, ctx: ToolContext) -> Effects:
        """It reads below the path."""
        return Effects(reads=self.targets.judge(ctx, args.path or "."))

    def permission_matcher(self, args: GrepArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Read decide."""
        return RuleSubject("read_path", str(ctx.resolve(args.path or ".")))

    async def call(self, args: GrepArgs, ctx: ToolContext) -> ToolResult[GrepOutput]:
        """Take entries until the limit is reached, then end ripgrep.

        Where not all fits on one page, pages are cut from the order of paths, which any process finds again.
        """
        real = self.targets.take(ctx, args.path or ".")
        key = (real, args.model_copy(update={"offset": 0, "head_limit": 0, "path": None}))
        wanted = args.offset + args.head_limit if args.head_limit else None
        with searched(real, args.path or ".", ctx.cwd) as place:
            went, records = await self._search(args, place, ctx, self._orders.get(key, ()) if args.offset else ())
            unread = unread_note(went, place, hidden=ctx.hidden, shown_as=args.path or ".")
            found = records.ordered(complete=went.complete, newest_first=lambda names: _newest_first(place, names))
            page = found[args.offset : wanted]
            more = wanted is not None and len(found) > wanted
            if more:
                self._remember(key, [name for name, _ in found[:wanted]])
            return _result(args, place, page, more=more, stopped=not (more or went.complete), unread=unread)

    async def _search(
        self, args: GrepArgs, place: Place, ctx: ToolContext, shown_before: Sequence[str]
    ) -> tuple[Searched, Records]:
        first = None
        if not args.offset:
            first = await self._run(args, place, ctx)
            if first[0].complete or not first[1].has_enough or place.operand != ".":
                return first
        sorted_run = await self._run(args, place, ctx, shown_before, by_path=True)
        if sorted_run[0].complete or sorted_run[1].has_enough:
            return sorted_run
        return first or await self._run(args, place, ctx, shown_before)

    async def _run(
        self,
        args: GrepArgs,
        place: Place,
        ctx: ToolContext,
        shown_before: Sequence[str] = (),
        *,
        by_path: bool = False,
    ) -> tuple[Searched, Records]:
        """One search; by path it is slower, so it gets less time."""
        records = Records(
            args.output_mode,
            place,
            wanted=args.offset + args.head_limit if args.head_limit else None,
            shown_before=shown_before,
            by_path=by_path,
            hidden=ctx.hidden,
            numbered=args.line_numbers,
        )
        argv = [*_argv(args), *(["--sort=path"] if by_path else [])]
        try:
            limit_s = _BY_PATH_LIMIT_S if by_path else 0
            return await self.search.run(argv, place.operand, place.handle, records.take, limit_s=limit_s), records
        except RipgrepError as error:
            raise ArgumentsInvalid(_advice(str(error))) from error

    def _remember(self, key: tuple[Any, ...], names: list[str]) -> None:
        self._orders[key] = list(dict.fromkeys(names))
        self._orders.move_to_end(key)
        while len(self._orders) > _KEPT_ORDERS:
            self._orders.popitem(last=False)


def _newest_first(place: Place, names: list[str]) -> list[str]:
    def changed_at(name: str) -> tuple[int, str]:
        try:
            return -os.stat(name, dir_fd=place.handle, follow_symlinks=False).st_mtime_ns, name
        except OSError:  # gone since it was found
            return 0, name

    return sorted(names, key=changed_at)


def _argv(args: GrepArgs) -> list[str]:
    argv = ["--hidden", "--no-require-git", "--null", "--color=never"]
    argv += [f"--max-columns={LINE_COLUMNS}", "--max-columns-preview"]
    if args.output_mode == "files_with_matches":
        argv.append("--files-with-matches")
    elif args.output_mode == "count":
        argv += ["--count-matches", "--with-filename"]
    else:
        argv += ["--no-heading", "--with-filename", "--line-number" if args.line_numbers else "--no-line-number"]
        around = args.around if args.around is not None else args.context
        before = args.before if args.before is not None else around
        after = args.after if args.after is not None else around
        argv += [f"--before-context={before or 0}", f"--after-context={after or 0}"]
        if args.only_matching:
            argv.append("--only-matching")
    if args.ignore_case:
        argv.append("--ignore-case")
    if args.multiline:
        argv += ["--multiline", "--multiline-dotall"]
    argv += [f"--glob={glob}" for glob in _globs(args.glob or "")]
    if args.type:
        argv.append(f"--type={args.type}")
    argv.append(f"--regexp={args.pattern}")
    for part in argv:
        check_argument(part)
    return argv


def _globs(text: str) -> list[str]:
    """Split a list of globs at white space, and at commas outside braces."""
    return [glob for word in text.split() for glob in ([word] if "{" in word else word.split(",")) if glob]


def _advice(message: str) -> str:
    if re.search(r"look-around|backreferences", message):
        return (
            "the pattern uses look-around or a back-reference, which the fast engine does not have; "
            "search for the plain part and filter, or run `rg --pcre2` in Bash"
        )
    advice = (
        " Escape literal brackets, braces and parentheses with a backslash." if "regex parse error" in message else ""
    )
    return f"ripgrep refused the search: {message}.{advice}"


def _result(
    args: GrepArgs, place: Place, page: list[tuple[str, str]], *, more: bool, stopped: bool, unread: tuple[str, ...]
) -> ToolResult[GrepOutput]:
    names = [place.shown(name) for name in dict.fromkeys(name for name, _ in page)]
    lines = [entry for _, entry in page]
    data: GrepOutput = {"mode": args.output_mode, "numFiles": len(names), "filenames": names}
    if args.output_mode != "files_with_matches":
        data["content"], data["numLines"] = "\n".join(lines), len(lines)
    if args.output_mode == "count":
        counted = [line.rpartition(":")[2] for line in lines]
        data["numMatches"] = sum(int(number) for number in counted if number.isdigit())
    notes: list[str] = []
    if more:
        data["appliedLimit"] = args.head_limit
        notes = [f"[More follows; read on with offset {args.offset + args.head_limit}, or narrow the search.]"]
    elif stopped:
        notes = [f"[The search was stopped after {TIME_LIMIT_S:g} s; narrow it by path, glob or type.]"]
    if args.offset:
        data["appliedOffset"] = args.offset
    return ToolResult(data, "\n".join([*([*lines, *notes] or ["No matches found."]), *unread]))
