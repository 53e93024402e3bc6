"""Change one cell of a notebook. The text the model reads is in notebook_edit.md, beside this file."""

import asyncio
import json
import warnings
from typing import Any, Literal

from pydantic import Field

from holdfast.contract import Args, Effects, RuleSubject, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.host.file_state import require_read
from holdfast.lib.diff import span_between
from holdfast.lib.ipynb import BrokenNotebookError, Notebook, delete_cell, insert_cell, parse_notebook, replace_cell
from holdfast.tools.files._open import opened
from holdfast.tools.files._output import NotebookEditOutput
from holdfast.tools.files.workbench import Workbench, counts, describe

_MARK = b"\xef\xbb\xbf"


class NotebookEditArgs(Args):
    """Which cell, and what to do with it."""

    notebook_path: str = Field(description="The .ipynb file; a relative path starts at the working directory.")
    cell_id: str | None = Field(
        default=None,
        description="Id of the cell as Read shows it, or `cell-N` counted from 0. With insert: the cell before.",
    )
    new_source: str = Field(default="", description="The new source of the cell; ignored when deleting.")
    cell_type: Literal["code", "markdown"] | None = Field(
        default=None, description="Type of the cell; needed for insert, else it stays as it is."
    )
    edit_mode: Literal["replace", "insert", "delete"] = Field(default="replace", description="What to do.")


class NotebookEdit(Tool[NotebookEditArgs, dict[str, Any]]):
    """Replaces, inserts or deletes a cell and leaves the rest of the notebook alone."""

    name, args_type = "NotebookEdit", NotebookEditArgs
    output_type = NotebookEditOutput
    search_hint = "change cells of a Jupyter ipynb file"
    shown_arguments = ("notebook_path", "cell_id", "edit_mode")
    max_result_chars = 100_000
    should_defer = True

    def __init__(self, bench: Workbench | None = None) -> None:
        self.bench = bench or Workbench()

    def effects(self, args: NotebookEditArgs, ctx: ToolContext) -> Effects:
        """It writes the one file."""
        return Effects(writes=self.bench.targets.judge(ctx, args.notebook_path))

    def permission_matcher(self, args: NotebookEditArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Edit decide."""
        return RuleSubject("edit_path", str(ctx.resolve(args.notebook_path)))

    async def validate(self, args: NotebookEditArgs, ctx: ToolContext) -> None:
        """Nobody is asked about a notebook that was not read, or without the cell in question."""
        real = self.bench.targets.take(ctx, args.notebook_path)
        await self.bench.require_saved(ctx, args.notebook_path)
        if not real.lower().endswith(".ipynb"):
            raise ToolFailed(f"{args.notebook_path!r} is not a notebook (.ipynb); use Edit")
        if args.edit_mode == "insert" and args.cell_type is None:
            raise ToolFailed("cell_type is needed to insert a cell: code or markdown")
        if args.edit_mode != "insert" and args.cell_id is None:
            raise ToolFailed(f"cell_id is needed to {args.edit_mode} a cell; Read shows the ids")
        with opened(real, args.notebook_path, ctx.hidden):
            require_read(ctx, real, args.notebook_path, whole=False)

    async def call(self, args: NotebookEditArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        """Edit in a thread."""
        await self.bench.require_saved(ctx, args.notebook_path)
        return await asyncio.to_thread(self._edit, args, ctx)

    def _edit(self, args: NotebookEditArgs, ctx: ToolContext) -> ToolResult[dict[str, Any]]:
        real = self.bench.targets.take(ctx, args.notebook_path)
        with self.bench.seen_file(ctx, real, args.notebook_path, whole=False) as current:
            mark = _MARK if current.data.startswith(_MARK) else b""
            try:
                book = parse_notebook(current.data[len(mark) :].decode("utf-8"))
            except (BrokenNotebookError, UnicodeDecodeError) as error:
                raise ToolFailed(f"{args.notebook_path!r} is not a notebook that can be changed: {error}") from error
            text, cell_id, kind = _changed(book, args)
            _check(text, args.notebook_path)
            try:
                content = mark + text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise ToolFailed(
                    f"nothing was changed: new_source cannot be stored as UTF-8: {error.reason}"
                ) from error
            read = self.bench.replace(ctx, current, [content], args.notebook_path)
            fields, diff = describe(real, args.notebook_path, current.data, span_between(current.data, content))
        data: dict[str, Any] = {
            "new_source": args.new_source,
            "cell_id": cell_id,
            "cell_type": kind,
            "language": book.language,
            "edit_mode": args.edit_mode,
            "notebook_path": real,
            "original_file": book.text,
            "updated_file": text,
            "structuredPatch": fields["structuredPatch"],
        }
        done = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}[args.edit_mode]
        summary = f"{done} cell {cell_id} of {args.notebook_path} ({counts(fields)})."
        return ToolResult(data, summary, modifiers=(read,), display=diff)


def _changed(book: Notebook, args: NotebookEditArgs) -> tuple[str, str, str]:
    """Return the new text, and the name and type of the cell in question."""
    index = -1
    if args.cell_id is not None:
        found = book.find(args.cell_id)
        if found is None:
            names = ", ".join(cell.name for cell in book.cells[:20])
            raise ToolFailed(f"there is no cell {args.cell_id!r}; the notebook has {len(book.cells)}: {names}")
        index = found
    if args.edit_mode == "insert":
        kind = args.cell_type or "code"
        text, name = insert_cell(book, index + 1, args.new_source, kind)
        return text, name, kind
    cell = book.cells[index]
    if args.edit_mode == "delete":
        return delete_cell(book, index), cell.name, cell.kind
    return replace_cell(book, index, args.new_source, args.cell_type), cell.name, args.cell_type or cell.kind


def _check(text: str, shown_as: str) -> None:
    """Refuse a result that is no valid notebook."""
    try:
        import nbformat  # noqa: PLC0415  # slow to import, and only needed here
    except ModuleNotFoundError:
        parse_notebook(text)  # without the package, at least its shape is checked
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nbformat.validate(json.loads(text))
    except (nbformat.ValidationError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ToolFailed(f"nothing was changed: {shown_as!r} would not be a valid notebook: {reason}") from error
