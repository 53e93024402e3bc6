"""Read a file: text, a picture, a PDF or a notebook. The text the model reads is in read.md, beside this file."""

import asyncio
import os
from contextlib import suppress
from functools import partial
from typing import Any

from pydantic import Field

from holdfast.contract import (
    Args,
    ArgumentsInvalid,
    Effects,
    FileRead,
    FileStamp,
    RuleSubject,
    Tool,
    ToolContext,
    ToolResult,
)
from holdfast.contract.roles import OpenBuffers
from holdfast.host.file_state import is_unchanged, stamp_read
from holdfast.host.targets import Targets
from holdfast.lib.editorconfig import declared_charset
from holdfast.lib.lines import LineReader, Scan
from holdfast.tools.files._image import image_kind
from holdfast.tools.files._media import show_image, show_notebook, show_pdf
from holdfast.tools.files._open import opened
from holdfast.tools.files._output import ReadOutput
from holdfast.tools.files._pdf import is_pdf
from holdfast.tools.files._text import DEFAULT_LINES, read_text

_UNCHANGED = "[Unchanged: you have already read these lines and the file is still the same; look at that result.]"

_UNSAVED = "[The user has changed this file in the editor and not saved it. This is the editor's text.]"


class ReadArgs(Args):
    """What to read."""

    file_path: str = Field(description="The file to read; a relative path starts at the working directory.")
    offset: int | None = Field(default=None, ge=1, description="Line (or notebook cell) to start at, counted from 1.")
    limit: int | None = Field(default=None, ge=1, description="How many lines (or cells) to read; 2000 if omitted.")
    pages: str | None = Field(default=None, description="PDF only: which pages, as `3` or `2-5`; at most 20 a call.")


class Read(Tool[ReadArgs, dict[str, Any]]):
    """Shows a file and remembers what the model has seen of it."""

    name, args_type = "Read", ReadArgs
    output_type = ReadOutput
    search_hint = "open a file, picture, PDF or notebook and show it"
    shown_arguments = ("file_path", "offset", "limit", "pages")
    max_result_chars = None
    read_only = concurrency_safe = True
    interrupt_behavior = "cancel"
    folds_into = "read"
    strict = True

    def __init__(self, targets: Targets | None = None, buffers: OpenBuffers | None = None) -> None:
        self.targets = targets or Targets()
        self.lines = LineReader()
        self._buffers = buffers

    def effects(self, args: ReadArgs, ctx: ToolContext) -> Effects:
        """It reads the one file."""
        return Effects(reads=self.targets.judge(ctx, args.file_path))

    def permission_matcher(self, args: ReadArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Read are about paths."""
        return RuleSubject("read_path", str(ctx.resolve(args.file_path)))

    async def call(self, args: ReadArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        """Look at the first bytes, then show the file as what it is."""
        real = self.targets.take(ctx, args.file_path)
        if real == os.devnull:
            nothing = {"filePath": real, "content": "", "numLines": 0, "startLine": 1, "totalLines": 0}
            return ToolResult({"type": "text", "file": nothing}, "[The file is empty.]")
        with opened(real, args.file_path, ctx.hidden) as handle:
            head = os.pread(handle, 2048, 0)
            if is_pdf(head):
                return await show_pdf(handle, real, args.pages)
            if args.pages is not None:
                raise ArgumentsInvalid(f"`pages` is for PDF files, and {args.file_path!r} is none; use offset")
            if image_kind(head) is not None:
                return await show_image(handle, real, args.file_path)
            before, window = ctx.file_reads.get(real), (args.offset or 1, args.limit or DEFAULT_LINES)
            if real.lower().endswith(".ipynb") and not _is_known(before, window, handle):
                return await show_notebook(handle, real, args.file_path, window=window, before=before)
        if self._buffers is not None:
            with suppress(TimeoutError):
                if (held := await self._buffers.unsaved(real)) is not None:
                    return await asyncio.to_thread(self._of_editor, args, real, held)
        # The thread opens the file itself: a cancelled call leaves it running, and its handle must stay its own.
        return await asyncio.to_thread(self._in_thread, args, real, ctx)

    def _in_thread(self, args: ReadArgs, real: str, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        before = ctx.file_reads.get(real)
        window = (args.offset or 1, args.limit or DEFAULT_LINES)
        with opened(real, args.file_path, ctx.hidden) as handle:
            if _is_known(before, window, handle):
                return ToolResult({"type": "file_unchanged", "file": {"filePath": real}}, _UNCHANGED)
            scan = Scan(stopped=lambda: ctx.cancelled)
            part = read_text(
                self.lines,
                handle,
                args.file_path,
                first=window[0],
                limit=window[1],
                scan=scan,
                declared=partial(declared_charset, real),
            )
            stamp = stamp_read(handle, shown=part.shown, window=window, whole=part.whole, before=before)
        file = {
            "filePath": real,
            "content": part.bare,
            "numLines": part.lines,
            "startLine": window[0],
            "totalLines": part.total,
            "encoding": part.encoding.label,
        }
        data: dict[str, Any] = {"type": "text", "file": file}
        if part.over_budget:
            data["truncatedByTokenCap"] = True
        return ToolResult(data, part.text, modifiers=(FileRead(real, stamp),))

    def _of_editor(self, args: ReadArgs, real: str, held: str) -> ToolResult[dict[str, Any]]:
        """What the person sees. It does not count as read: the file on the disk is another."""
        window = (args.offset or 1, args.limit or DEFAULT_LINES)
        import tempfile  # noqa: PLC0415 - only with an editor

        with tempfile.TemporaryFile() as file:
            file.write(held.encode("utf-8", "replace"))
            file.flush()
            part = read_text(self.lines, file.fileno(), args.file_path, first=window[0], limit=window[1])
        shown: dict[str, Any] = {
            "filePath": real,
            "content": part.bare,
            "numLines": part.lines,
            "startLine": window[0],
            "totalLines": part.total,
            "encoding": part.encoding.label,
        }
        return ToolResult({"type": "text", "file": shown}, f"{_UNSAVED}\n{part.text}")


def _is_known(before: FileStamp | None, window: tuple[int, int], handle: int) -> bool:
    """Whether the model has seen this very window of this very content."""
    return before is not None and before.window == window and before.size > 0 and is_unchanged(before, handle)
