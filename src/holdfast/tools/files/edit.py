"""Replace a piece of text in a file. The text the model reads is in edit.md, beside this file."""

import asyncio
from functools import partial
from typing import Any

from pydantic import Field

from holdfast.contract import (
    Args,
    ArgumentsInvalid,
    Effects,
    Preview,
    RuleSubject,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
)
from holdfast.host.file_state import require_read
from holdfast.lib.diff import Span, apply_spans
from holdfast.lib.edit import Editable, EditAmbiguousError, EditMissedError, Plan, plan_edit
from holdfast.lib.editorconfig import declared_charset
from holdfast.lib.text import UTF8, NotEncodableError, NotTextError
from holdfast.tools.files._output import EditOutput
from holdfast.tools.files.workbench import (
    SHOWN_SPANS,
    Current,
    Workbench,
    change_shown,
    counts,
    describe,
    exists,
    first_line,
    not_writable,
    shown_before,
    size_of,
)

_PLANNED_EARLY_BYTES = 1024 * 1024


class EditArgs(Args):
    """What to replace by what."""

    file_path: str = Field(description="The file; a relative path starts at the working directory.")
    old_string: str = Field(description="The text to replace, exactly as it stands in the file, without line numbers.")
    new_string: str = Field(description="The text to put there; must differ from old_string.")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead of the only one.")


class Edit(Tool[EditArgs, dict[str, Any]]):
    """Replaces text in place and leaves every other byte of the file alone."""

    name, args_type = "Edit", EditArgs
    output_type = EditOutput
    search_hint = "modify part of a file in place"
    shown_arguments = ("file_path",)
    max_result_chars = 100_000
    strict = True

    def __init__(self, bench: Workbench | None = None) -> None:
        self.bench = bench or Workbench()

    def effects(self, args: EditArgs, ctx: ToolContext) -> Effects:
        """It writes the one file."""
        return Effects(writes=self.bench.targets.judge(ctx, args.file_path))

    def permission_matcher(self, args: EditArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Edit are about paths."""
        return RuleSubject("edit_path", str(ctx.resolve(args.file_path)))

    async def validate(self, args: EditArgs, ctx: ToolContext) -> None:
        """Nobody is asked about an edit that cannot work."""
        real = self.bench.targets.take(ctx, args.file_path)
        await self.bench.require_saved(ctx, args.file_path)
        if real.lower().endswith(".ipynb"):
            raise ToolFailed(f"{args.file_path!r} is a notebook; change its cells with NotebookEdit")
        if not args.old_string:
            if size_of(real, args.file_path):
                raise ArgumentsInvalid(
                    "old_string is empty, but the file is not; give the text to replace, or use Write"
                )
            return
        size = size_of(real, args.file_path)
        if size is None:
            raise ToolFailed(f"there is no file {args.file_path!r}; look for it with Glob", error_code=1)
        require_read(ctx, real, args.file_path, whole=False)
        if args.old_string == args.new_string:
            raise ToolFailed("old_string and new_string are the same, so there is nothing to do", error_code=4)
        if size <= _PLANNED_EARLY_BYTES:
            with self.bench.seen_file(ctx, real, args.file_path, whole=False) as current:
                _plan(args, current)

    async def preview(self, args: EditArgs, ctx: ToolContext) -> Preview | None:
        """The diff that the edit makes; none of a file too large to look at twice."""
        return await asyncio.to_thread(self._preview, args, ctx)

    def _preview(self, args: EditArgs, ctx: ToolContext) -> Preview | None:
        real = self.bench.targets.take(ctx, args.file_path)
        try:
            if not args.old_string:
                span = Span(0, 0, _encoded(args))
                return shown_before(describe(real, args.file_path, b"", [span], created=not exists(real, real))[1])
            if (size_of(real, args.file_path) or 0) > _PLANNED_EARLY_BYTES:
                return None
            with self.bench.seen_file(ctx, real, args.file_path, whole=False) as current:
                content, plan, _ = _plan(args, current)
                if len(plan.spans) > SHOWN_SPANS:
                    return None
                return shown_before(describe(real, args.file_path, content.utf8, plan.spans)[1])
        except ToolFailed:  # the call itself says it better
            return None

    async def call(self, args: EditArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        """Edit in a thread."""
        await self.bench.require_saved(ctx, args.file_path)
        return await asyncio.to_thread(self._edit, args, ctx)

    def _edit(self, args: EditArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        real = self.bench.targets.take(ctx, args.file_path)
        if not args.old_string:
            return self._create(args, ctx, real)
        with self.bench.seen_file(ctx, real, args.file_path, whole=False) as current:
            content, plan, own = _plan(args, current)
            fields, diff = describe(real, args.file_path, content.utf8, plan.spans, encoding=content.encoding)
            read = self.bench.replace(ctx, current, apply_spans(current.data, own), args.file_path)
        data = {**fields, "oldString": args.old_string, "newString": args.new_string, "replaceAll": args.replace_all}
        first, places = first_line(fields), len(plan.spans)
        where = f"line {first:,}" if places == 1 else f"{places:,} places, the first in line {first:,}"
        note = (
            f" The text was found by overlooking {plan.forgiven}; the file's own style was kept."
            if plan.forgiven
            else ""
        )
        return ToolResult(
            data,
            f"Edited {args.file_path}: {where} ({counts(data)}).{note}\n{change_shown(data)}",
            modifiers=(read,),
            display=diff,
        )

    def _create(self, args: EditArgs, ctx: ToolContext, real: str) -> ToolResult[dict[str, Any]]:
        """Fill a file that is empty or not there yet."""
        new = _encoded(args)
        present = exists(real, args.file_path)
        with self.bench.file_or_nothing(ctx, real, args.file_path) as current:
            if current.data:
                raise ToolFailed(f"{args.file_path!r} is not empty any more; Read it again", error_code=3)
            read = self.bench.replace(ctx, current, [new], args.file_path)
        fields, diff = describe(real, args.file_path, b"", [Span(0, 0, new)], created=not present)
        data = {**fields, "oldString": "", "newString": args.new_string, "replaceAll": args.replace_all}
        return ToolResult(data, f"Created {args.file_path} ({counts(data)}).", modifiers=(read,), display=diff)


def _encoded(args: EditArgs) -> bytes:
    try:
        return UTF8.encode(args.new_string)
    except NotEncodableError as error:
        raise ToolFailed(f"nothing was changed: {error}") from error


def _plan(args: EditArgs, current: Current) -> tuple[Editable, Plan, list[Span]]:
    """Decide what to replace, in the file's own bytes.

    Raises:
        ToolFailed: Code 5 if the text is not there, 6 if it is there more than once.
    """
    try:
        declared = partial(declared_charset, current.path)
        content = Editable.of(current.data, args.old_string, args.new_string, declared=declared)
    except NotTextError as error:
        raise ToolFailed(f"{args.file_path!r} cannot be edited as text without harm: {error.reason}") from error
    try:
        plan = plan_edit(content.utf8, args.old_string, args.new_string, replace_all=args.replace_all)
        own = content.own_spans(plan.spans)
    except NotEncodableError as error:
        raise ToolFailed(f"nothing was changed: {not_writable(error, args.file_path)}") from error
    except EditAmbiguousError as error:
        raise ToolFailed(_ambiguous(args, error), error_code=6) from error
    except EditMissedError as error:
        raise ToolFailed(_missed(args, content.utf8), error_code=5) from error
    if all(content.utf8[span.start : span.end] == span.new for span in plan.spans):
        raise ToolFailed("in the file's own style, new_string is what already stands there", error_code=4)
    if not content.proves(plan.spans, own):
        raise ToolFailed(f"nothing was changed: the edit would not survive in {content.encoding.label}")
    return content, plan, own


def _ambiguous(args: EditArgs, error: EditAmbiguousError) -> str:
    lines = ", ".join(f"{line:,}" for line in error.lines) + (", …" if error.count > len(error.lines) else "")
    how = f" (overlooking {error.forgiven})" if error.forgiven else ""
    advice = "add text around it to make it unique" + ("" if args.replace_all else ", or set replace_all to change all")
    return f"old_string is in {args.file_path!r} {error.count:,} times{how}, in lines {lines}; {advice}"


def _missed(args: EditArgs, data: bytes) -> str:
    from holdfast.lib.nearest import find_nearest  # noqa: PLC0415 - most texts are there

    near = find_nearest(data, args.old_string)
    message = f"old_string is not in {args.file_path!r}"
    if near is None:
        return f"{message}, and nothing in it is alike; Read the file again and copy the text from there"
    lines = (
        f"line {near.first_line:,}"
        if near.first_line == near.last_line
        else f"lines {near.first_line:,} to {near.last_line:,}"
    )
    differs = f" What differs (- yours, + the file's):\n{near.difference}" if near.difference else ""
    return f"{message}; the closest text is in {lines}, {near.alike:.0%} alike.{differs}"
