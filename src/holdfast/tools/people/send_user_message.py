"""Tell the user something. The text the model reads is in send_user_message.md, beside this file."""

import asyncio
import os
import stat
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, NotRequired, TypedDict

from pydantic import Field

from holdfast.contract import Args, Effects, SessionFacts, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.contract.render import ShownResult

__all__ = ["SendUserMessage", "SendUserMessageArgs", "SendUserMessageOutput", "SentFile"]

_HEAD_BYTES: Final = 16
_IMAGES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM")


class SendUserMessageArgs(Args):
    """The message."""

    message: str = Field(min_length=1, max_length=100_000, description="What to tell, as Markdown.")
    attachments: list[str] | None = Field(default=None, max_length=32, description="Paths of files to go with it.")
    status: Literal["normal", "proactive"] = Field(description="`proactive`: the user did not ask for it.")


class SentFile(TypedDict):
    """One file that goes with a message."""

    path: str
    size: int
    isImage: bool
    file_uuid: str


class SendUserMessageOutput(TypedDict):
    """What was sent."""

    message: str
    attachments: NotRequired[list[SentFile]]
    sentAt: NotRequired[str]


class SendUserMessage(Tool[SendUserMessageArgs, SendUserMessageOutput]):
    """Shows a message at once. It changes nothing; files that go with it are judged as reads."""

    name, args_type = "SendUserMessage", SendUserMessageArgs
    output_type = SendUserMessageOutput
    search_hint = "notify, show a file or picture, tell news at once"
    max_result_chars = 100_000
    read_only = should_defer = True

    def is_enabled(self, session: SessionFacts) -> bool:
        """Others report to whoever started them."""
        return session.agent_id is None

    def effects(self, args: SendUserMessageArgs, ctx: ToolContext) -> Effects:
        """The files that go with it are read."""
        return Effects(reads=[ctx.resolve(path) for path in args.attachments or ()])

    def classifier_input(self, args: SendUserMessageArgs) -> str | None:
        """The files; what is said to the user is no risk."""
        return f"send the user a message with {', '.join(args.attachments or ()) or 'no files'}"

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """What is told, in short."""
        message, files = raw.get("message"), raw.get("attachments")
        more = f" with {len(files)} files" if isinstance(files, list) and files else ""  # pyright: ignore[reportUnknownArgumentType] - partial input
        return f"{self.name}({' '.join(str(message or '').split())[:80]}{more})"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> str:
        """All of it: it was written for the person who sees this."""
        del condensed
        return result.display or result.text

    async def call(self, args: SendUserMessageArgs, ctx: ToolContext) -> ToolResult[SendUserMessageOutput]:
        """Look at the files, and show all of it."""
        paths = [str(ctx.resolve(path)) for path in args.attachments or ()]
        files = [await asyncio.to_thread(_look, path) for path in paths]
        data: SendUserMessageOutput = {"message": args.message, "sentAt": datetime.now(UTC).isoformat()}
        if files:
            data["attachments"] = files
        shown = "\n".join([args.message, *(f"📎 {file['path']} ({file['size']:,} bytes)" for file in files)])
        with_files = f" with {len(files)} file{'s' if len(files) > 1 else ''}" if files else ""
        return ToolResult(data, f"The message was shown to the user{with_files}.", display=shown)


def _look(path: str) -> SentFile:
    """What a file is; only an ordinary one can be sent."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise ToolFailed(f"{path!r} cannot be sent: {error.strerror}; name a file that exists", error_code=1) from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ToolFailed(f"{path!r} cannot be sent: it is not an ordinary file", error_code=1)
        head = os.read(handle, _HEAD_BYTES)
    finally:
        os.close(handle)
    is_image = head.startswith(_IMAGES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")
    return {"path": path, "size": found.st_size, "isImage": is_image, "file_uuid": str(uuid.uuid4())}
