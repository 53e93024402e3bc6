"""From what a command wrote and how it ended to what the model, programs and people read."""

import base64
import binascii
import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from holdfast.contract import Content, Image, Text
from holdfast.host.capture import Capture, Output
from holdfast.host.command import SPILL_CAP_BYTES, Exit, Stopped
from holdfast.tasks.shell import signal_name

__all__ = ["LIMIT_CHARS", "Shown", "ending", "show"]

LIMIT_CHARS: Final = 30_000
_NOTICE_CHARS: Final = 800
_SAMPLE_BYTES: Final = 4096
_BINARY_SHARE: Final = 0.3
_TEXT_CONTROLS: Final = frozenset("\t\n\r\x1b\b\f\0")
_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_IMAGE_BYTES: Final = 5 << 20


class Shown(NamedTuple):
    """The output as it is told."""

    content: Content
    fields: dict[str, Any]
    is_whole: bool
    """Nothing was left out."""


def show(output: Output, *, opening: str, notices: list[str], spill_path: Callable[[], str | None]) -> Shown:
    """Put together what the model reads.

    Args:
        output: Both streams.
        opening: What stands before the output, such as the exit code.
        notices: What stands behind it.
        spill_path: Where the full text may go when it is too long and has no file yet.
    """
    if not output.total_bytes:
        return Shown(_joined(opening, "", notices), {"stdout": "", "stderr": ""}, is_whole=True)
    image = _image(output)
    if image is not None:
        fields: dict[str, Any] = {"stdout": f"[{image.media_type}, {len(image.data):,} bytes]", "stderr": ""}
        words = _joined(opening, "", notices)
        return Shown((Text(words), image) if words else (image,), {**fields, "isImage": True}, is_whole=True)
    stdout, stderr = _text(output.stdout), _text(output.stderr)
    both = f"{stdout}\n{stderr}" if stdout and stderr else stdout or stderr
    room = LIMIT_CHARS - _NOTICE_CHARS
    fields = {"stdout": _cut(stdout, room), "stderr": _cut(stderr, room)}
    is_whole = len(both) <= room
    if not is_whole:
        path = _on_disk(output, spill_path)
        notices = [*notices, _where(output, path)]
        fields["persistedOutputSize"] = output.total_bytes
        if path is not None:
            fields["persistedOutputPath"] = fields["rawOutputPath"] = path
        both = _cut(both, room)
    return Shown(_joined(opening, both, notices), fields, is_whole)


def ending(ended: Exit, meaning: str | None, *, limit_s: float) -> tuple[str, bool]:
    """How the end is told before the output, and whether it is a failure."""
    if ended.stopped_by is Stopped.TIMEOUT:
        return f"The command was ended after {limit_s:g} s, its time limit, before it was done.", True
    if ended.stopped_by is Stopped.WATCHDOG:
        return "The command was ended because it started far too many processes.", True
    if ended.was_killed:
        return "The command was ended before it was done.", True
    if ended.signal is not None:
        return f"Exit code {ended.shell_code} (ended by {signal_name(ended.signal)})", True
    code = ended.shell_code
    if code == 0:
        return "", False
    if meaning is not None:
        return f"Exit code {code}: {meaning}", False
    return f"Exit code {code}", True


def _joined(opening: str, text: str, notices: list[str]) -> str:
    parts = [opening] if opening else []
    if text:
        parts.append(text)
    parts += [f"[{notice}]" for notice in notices]
    return "\n".join(parts)


def _text(capture: Capture) -> str:
    if not capture.total_bytes:
        return ""
    if _is_binary(capture.head[:_SAMPLE_BYTES]):
        return f"[{capture.total_bytes:,} bytes that are not text; send them to a file, or through xxd or file]"
    return capture.text().replace("\0", "␀").rstrip("\n")


def _is_binary(sample: bytes) -> bool:
    text = sample.decode("utf-8", "replace")
    strange = sum(char == "�" or (char < " " and char not in _TEXT_CONTROLS) for char in text)
    nothing = text.count("\0")  # some programs end names with it; a file full of it is no text
    return strange + (nothing if nothing * 4 > len(text) else 0) > len(text) * _BINARY_SHARE


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    half = room // 2
    at = text.rfind("\n", half // 2, half)
    head = text[: at if at > 0 else half]
    start = len(text) - half
    at = text.find("\n", start, start + half // 2)
    tail = text[at + 1 if at >= 0 else start :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n\n[… at least {left_out:,} characters are left out here …]\n\n{tail}"


def _on_disk(output: Output, spill_path: Callable[[], str | None]) -> str | None:
    if output.spill_path is None and (path := spill_path()) is not None:
        output.spill_from_now(path, SPILL_CAP_BYTES)
        output.close()
    return output.spill_path


def _where(output: Output, path: str | None) -> str:
    total = f"The output has {output.total_bytes:,} bytes"
    if path is None:
        return f"{total}; the full text could not be saved"
    if output.is_complete_on_disk:
        return f"{total}; all of it is in {path}: read it with offset and limit, or search it"
    kept = 0 if output.spill is None else output.spill.written_bytes
    return f"{total}; the first {kept:,} are in {path}, the rest was not kept"


def _image(output: Output) -> Image | None:
    head = output.stdout.head[:64].lstrip()
    if not head.startswith(b"data:image/") or output.stderr.total_bytes:
        return None
    kind, comma, _ = head.removeprefix(b"data:").partition(b";base64,")
    media_type = kind.decode("ascii", "replace")
    if not comma or media_type not in _IMAGES:
        return None
    data = _all_of(output)
    try:
        raw = base64.b64decode(b"".join(data.strip().partition(b",")[2].split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return Image(raw, media_type) if 0 < len(raw) <= _IMAGE_BYTES else None


def _all_of(output: Output) -> bytes:
    """All of stdout while it is small enough for an image, from memory or from its file."""
    head, dropped, tail = output.stdout.kept()
    if not dropped:
        return head + tail
    if not output.is_complete_on_disk or output.spill_path is None or output.total_bytes > 2 * _IMAGE_BYTES:
        return b""
    handle = os.open(output.spill_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        return file.read()
