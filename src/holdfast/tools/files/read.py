"""Read a text file. The text the model reads is in read.md, beside this file."""

import asyncio
import hashlib
import os
import stat
from pathlib import Path

from pydantic import Field

from holdfast.contract import (
    Args,
    Effects,
    FileRead,
    FileStamp,
    RuleSubject,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
)

DEFAULT_LINES = 2_000
LINE_CHARS = 2_000
_REFUSED_ROOTS = ("/dev/", "/proc/", "/sys/")


class ReadArgs(Args):
    """What to read."""

    file_path: str = Field(description="The file to read; a relative path starts at the working directory.")
    offset: int | None = Field(default=None, ge=1, description="Line to start at, counted from 1.")
    limit: int | None = Field(default=None, ge=1, description="How many lines to read; 2000 if omitted.")


class Read(Tool[ReadArgs, dict[str, object]]):
    """Shows a file with line numbers and remembers that the model has seen it."""

    name, args_type = "Read", ReadArgs
    search_hint = "open a file and show its lines"
    max_result_chars = None
    read_only = concurrency_safe = True
    interrupt_behavior = "cancel"
    folds_into = "read"
    strict = True

    def effects(self, args: ReadArgs, ctx: ToolContext) -> Effects:
        """It reads the one file."""
        return Effects(reads=[ctx.resolve(args.file_path)])

    def permission_matcher(self, args: ReadArgs, ctx: ToolContext) -> RuleSubject:
        """Rules for Read are about paths."""
        return RuleSubject("read_path", str(ctx.resolve(args.file_path)))

    async def call(self, args: ReadArgs, ctx: ToolContext) -> ToolResult[dict[str, object]]:
        """Read the window in a thread; a huge file is never loaded whole."""
        path = ctx.resolve(args.file_path)
        window = await asyncio.to_thread(_read_window, path, args.offset or 1, args.limit or DEFAULT_LINES)
        data: dict[str, object] = {
            "type": "text",
            "filePath": str(path),
            "content": "".join(window.lines),
            "numLines": len(window.lines),
            "startLine": args.offset or 1,
        }
        return ToolResult(data, window.shown(args.offset or 1), modifiers=(FileRead(str(path), window.stamp),))


class _Window:
    """The lines that were asked for, and what the file looked like."""

    def __init__(self, lines: list[str], stamp: FileStamp, *, more: bool) -> None:
        self.lines = lines
        self.stamp = stamp
        self.more = more

    def shown(self, first: int) -> str:
        if not self.lines:
            return "The file is empty." if self.stamp.size == 0 else f"The file has fewer than {first} lines."
        numbered = [f"{first + i:6}\t{_cut(line)}" for i, line in enumerate(self.lines)]
        if self.more:
            numbered.append(f"[More lines follow; read on with offset {first + len(self.lines)}.]")
        return "\n".join(numbered)


def _cut(line: str) -> str:
    text = line.rstrip("\r\n")
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}… [cut: the line has {len(text):,} characters]"


def _read_window(path: Path, first: int, count: int) -> _Window:
    descriptor = _open_regular(path)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        digest = hashlib.sha256()
        lines: list[str] = []
        number = 0
        for raw in file:
            number += 1
            if number < first:
                continue
            if len(lines) == count:
                break
            if b"\0" in raw:
                raise ToolFailed(f"{str(path)!r} is not a text file: line {number} holds NUL bytes")
            digest.update(raw)
            lines.append(raw.decode("utf-8", "replace"))
        more = number >= first + count
    whole = first == 1 and not more
    stamp = FileStamp(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, digest.hexdigest(), whole)
    return _Window(lines, stamp, more=more)


def _open_regular(path: Path) -> int:
    if str(path).startswith(_REFUSED_ROOTS):
        raise ToolFailed(f"{str(path)!r} is a device or kernel file; only regular files can be read")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError as error:
        raise ToolFailed(f"there is no file {str(path)!r}; look for it with Glob", error_code=1) from error
    except OSError as error:
        raise ToolFailed(f"cannot read {str(path)!r}: {error.strerror}") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    kind = "a directory; list it with Glob" if stat.S_ISDIR(mode) else "no regular file"
    raise ToolFailed(f"{str(path)!r} is {kind}")
