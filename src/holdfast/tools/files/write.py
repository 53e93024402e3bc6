"""Create a file or replace all of it. The text the model reads is in write.md, beside this file."""

import asyncio
from functools import partial
from typing import Any

import msgspec
from pydantic import Field

from holdfast.contract import Args, Effects, Preview, RuleSubject, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.host.file_state import require_read
from holdfast.lib.diff import span_between
from holdfast.lib.editorconfig import declared_charset
from holdfast.lib.ipynb import BrokenNotebookError, parse_notebook
from holdfast.lib.text import UTF8, Encoding, NotEncodableError, NotTextError, detect_whole
from holdfast.tools.files._output import WriteOutput
from holdfast.tools.files.workbench import (
    Current,
    Workbench,
    change_shown,
    counts,
    describe,
    exists,
    not_writable,
    require_place,
    shown_before,
)


class WriteArgs(Args):
    """What to write."""

    file_path: str = Field(description="The file; a relative path starts at the working directory.")
    content: str = Field(description="The whole new content, stored exactly as given.")


class Write(Tool[WriteArgs, dict[str, Any]]):
    """Puts a whole file in place, atomically, and only over content the model has seen."""

    name, args_type = "Write", WriteArgs
    output_type = WriteOutput
    search_hint = "create or overwrite a file with new content"
    shown_arguments = ("file_path",)
    max_result_chars = 100_000
    strict = True

    def __init__(self, bench: Workbench | None = None) -> None:
        self.bench = bench or Workbench()

    def effects(self, args: WriteArgs, ctx: ToolContext) -> Effects:
        """It writes the one file."""
        return Effects(writes=self.bench.targets.judge(ctx, args.file_path))

    def permission_matcher(self, args: WriteArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Edit decide."""
        return RuleSubject("edit_path", str(ctx.resolve(args.file_path)))

    async def validate(self, args: WriteArgs, ctx: ToolContext) -> None:
        """Nobody is asked about a file that has not been read."""
        real = self.bench.targets.take(ctx, args.file_path)
        await self.bench.require_saved(ctx, args.file_path)
        if exists(real, args.file_path):
            if real.lower().endswith(".ipynb"):
                raise ToolFailed(f"{args.file_path!r} is a notebook; change its cells with NotebookEdit")
            require_read(ctx, real, args.file_path, whole=True)
        else:
            require_place(ctx, real)
            if real.lower().endswith(".ipynb"):
                _require_notebook(args)

    async def preview(self, args: WriteArgs, ctx: ToolContext) -> Preview | None:
        """The diff to what is there now."""
        return await asyncio.to_thread(self._preview, args, ctx)

    def _preview(self, args: WriteArgs, ctx: ToolContext) -> Preview | None:
        real = self.bench.targets.take(ctx, args.file_path)
        try:
            with self.bench.file_or_nothing(ctx, real, args.file_path) as current:
                created = current.handle is None
                old = _as_utf8(current.data, _encoding_of(current))
        except ToolFailed:  # the call itself says it better
            return None
        new = args.content.encode("utf-8", "replace")
        return shown_before(describe(real, args.file_path, old, span_between(old, new), created=created)[1])

    async def call(self, args: WriteArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        """Write in a thread."""
        await self.bench.require_saved(ctx, args.file_path)
        return await asyncio.to_thread(self._write, args, ctx)

    def _write(self, args: WriteArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        real = self.bench.targets.take(ctx, args.file_path)
        with self.bench.file_or_nothing(ctx, real, args.file_path) as current:
            encoding = _encoding_of(current)
            old = _as_utf8(current.data, encoding)
            try:
                encoding.require_known(args.content, old.decode("utf-8", "replace") if encoding.guessed else "")
                content = encoding.mark + encoding.encode(args.content)
            except NotEncodableError as error:
                raise ToolFailed(f"nothing was written: {not_writable(error, args.file_path)}") from error
            new = args.content.encode("utf-8")
            created = current.handle is None
            read = self.bench.replace(ctx, current, [content], args.file_path)
            fields, diff = describe(
                real, args.file_path, old, span_between(old, new), created=created, encoding=encoding
            )
        data = {"type": "create" if created else "update", **fields, "content": args.content}
        lines = args.content.count("\n") + (not args.content.endswith("\n") and bool(args.content))
        done = (
            f"Created {args.file_path} ({lines:,} lines)."
            if created
            else f"Replaced {args.file_path} ({counts(data)}).\n{change_shown(data)}".rstrip("\n")
        )
        return ToolResult(data, done, modifiers=(read,), display=diff)


def _require_notebook(args: WriteArgs) -> None:
    try:
        parse_notebook(args.content)
    except BrokenNotebookError as error:
        raise ToolFailed(f"{args.file_path!r} would be a notebook, but its content is none: {error}") from error


def _encoding_of(current: Current) -> Encoding:
    """Return how an existing file is stored; a new, empty or binary one becomes plain UTF-8."""
    try:
        found = detect_whole(current.data, declared=partial(declared_charset, current.path)) if current.data else UTF8
    except NotTextError:
        return UTF8
    return msgspec.structs.replace(found, damaged=False)


def _as_utf8(data: bytes, encoding: Encoding) -> bytes:
    if encoding == UTF8:
        return data
    return data[len(encoding.mark) :].decode(encoding.codec, "replace").encode("utf-8")
