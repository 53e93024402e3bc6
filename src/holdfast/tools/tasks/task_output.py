"""Show what a background task wrote. The text the model reads is in task_output.md, beside this file."""

import os
from typing import Any, Literal, NotRequired, TypedDict

from pydantic import Field

from holdfast.contract import (
    Alias,
    Args,
    ArgumentsInvalid,
    Effects,
    SessionFacts,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
)
from holdfast.host.ripgrep import Ripgrep, RipgrepError
from holdfast.tasks import TaskBoard, TaskRecord, is_terminal
from holdfast.tasks.output import TaskText, read_output

__all__ = ["TaskOutput", "TaskOutputArgs", "TaskOutputData"]

_SHOWN_CHARS = 28_000
_FILTERED_BYTES = 4 << 20
_LINE_COLUMNS = 2_000


class TaskOutputArgs(Args):
    """Which task, and how long to wait for it."""

    task_id: str = Field(description="The id of the task.")
    block: bool = Field(default=True, description="Wait until the task has ended, or the time is over.")
    timeout: float = Field(default=30_000, ge=0, le=600_000, description="How long to wait, in milliseconds.")
    filter: str | None = Field(
        default=None, min_length=1, max_length=1_000, description="Only lines that match this regular expression."
    )


class TaskOutputData(TypedDict):
    """The state of the task, as programs read it."""

    retrieval_status: Literal["success", "timeout", "not_ready"]
    task: "dict[str, Any] | None"
    persistedOutputPath: NotRequired[str]


class TaskOutput(Tool[TaskOutputArgs, TaskOutputData]):
    """Waits for a task if wished, then shows its state and both ends of its output."""

    name, args_type = "TaskOutput", TaskOutputArgs
    output_type = TaskOutputData
    aliases = (
        Alias("BashOutput", {"block": False}),
        "BashOutputTool",
        "AgentOutput",
        "AgentOutputTool",
    )
    renamed_arguments = {"bash_id": "task_id", "shell_id": "task_id", "agentId": "task_id"}  # noqa: RUF012 - the contract's form
    search_hint = "read output of background commands or agents"
    shown_arguments = ("task_id", "filter")
    max_result_chars = 30_000
    overflow = "keep-both"
    preview_chars = 30_000
    read_only = concurrency_safe = session_state = True
    interrupt_behavior = "cancel"

    def __init__(self, board: TaskBoard | None = None, search: Ripgrep | None = None) -> None:
        self.board = board or TaskBoard()
        self.resources = (self.board,)
        self.search = search or Ripgrep()

    def is_enabled(self, session: SessionFacts) -> bool:
        """Where nothing goes on in the background, there is no task."""
        return session.prompt.background

    def effects(self, args: TaskOutputArgs, ctx: ToolContext) -> Effects:
        """It touches nothing but this session's records."""
        del args, ctx
        return Effects()

    async def call(self, args: TaskOutputArgs, ctx: ToolContext) -> ToolResult[TaskOutputData]:
        """Wait, read, tell."""
        del ctx
        record = self.board.get(args.task_id)
        if record is None:
            raise ToolFailed(f"there is no task {args.task_id!r}; {known_tasks(self.board)}")
        if args.block:
            record = await self.board.wait(args.task_id, args.timeout / 1000) or record
        text = await self._text(record, args.filter)
        still = "timeout" if args.block else "not_ready"
        retrieval = "success" if is_terminal(record.status) else still
        self.board.mark_told(record, offset=text.total_bytes)
        data: TaskOutputData = {"retrieval_status": retrieval, "task": _task_data(record, text)}
        if text.left_out_bytes:
            data["persistedOutputPath"] = record.output_file
        return ToolResult(data, _told(record, text, args.filter))

    async def _text(self, record: TaskRecord, pattern: str | None) -> TaskText:
        if pattern is None:
            return read_output(record.output_file, _SHOWN_CHARS)
        found = bytearray()

        def take(piece: bytes) -> bool:
            found.extend(piece[: _FILTERED_BYTES - len(found)])
            return len(found) >= _FILTERED_BYTES

        directory, name = os.path.split(record.output_file)
        # ripgrep matches in linear time whatever the pattern is.
        argv = ["--no-filename", "--no-line-number", "--text", "--no-ignore", "--hidden", "--color=never"]
        argv += [f"--max-columns={_LINE_COLUMNS}", "--max-columns-preview", f"--regexp={pattern}"]
        try:
            handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return TaskText("", 0, 0)
        try:
            if os.path.isfile(record.output_file):
                await self.search.run(argv, f"./{name}", handle, take)
        except RipgrepError as error:
            raise ArgumentsInvalid(f"`filter` is not a regular expression: {error}") from error
        finally:
            os.close(handle)
        return _cut(bytes(found).decode("utf-8", "replace"), read_output(record.output_file, 0).total_bytes)


def known_tasks(board: TaskBoard) -> str:
    """The tasks there are, in words."""
    ids = [f"{record.id} ({record.status})" for record in board.all()[-10:]]
    return f"known tasks: {', '.join(ids)}" if ids else "no background task was started in this session"


def _cut(text: str, total_bytes: int) -> TaskText:
    if len(text) <= _SHOWN_CHARS:
        return TaskText(text, total_bytes, 0)
    half = _SHOWN_CHARS // 2
    left_out = len(text) - 2 * half
    shown = f"{text[:half]}\n\n[… {left_out:,} characters of matching lines are left out here …]\n\n{text[-half:]}"
    return TaskText(shown, total_bytes, left_out)


def _task_data(record: TaskRecord, text: TaskText) -> dict[str, Any]:
    task: dict[str, Any] = {
        "task_id": record.id,
        "task_type": record.type,
        "status": record.status,
        "description": record.description,
        "output": text.text,
    }
    if record.exit_code is not None:
        task["exitCode"] = record.exit_code
    more = {"error": record.error, "prompt": record.prompt, "result": record.result}
    return {**task, **{key: value for key, value in more.items() if value is not None}}


def _told(record: TaskRecord, text: TaskText, pattern: str | None) -> str:
    code = "" if record.exit_code is None else f", exit code {record.exit_code}"
    why = f", {record.error}" if record.error else ""
    lines = [f"Task {record.id} ({record.type}): {record.status}{code}{why}"]
    output = text.text.replace("\0", "␀").rstrip("\n")
    if output:
        lines.append(output)
    elif pattern is not None and text.total_bytes:
        lines.append(f"[No line of its {text.total_bytes:,} bytes matches the filter]")
    else:
        lines.append("[No output]" if is_terminal(record.status) else "[No output so far]")
    if text.left_out_bytes:
        lines.append(f"[All of it is in {record.output_file}: read it with offset and limit, or search it]")
    return "\n".join(lines)
