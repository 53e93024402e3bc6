"""What is piped into `holdfast -p`: context for the prompt, or the prompt itself. Bounded, never waited for in vain."""

import asyncio
import codecs
import os
import select
import stat
import threading
from contextlib import suppress
from typing import Any

import msgspec

__all__ = ["LIMIT_BYTES", "Piped", "join_prompt", "piped_in", "read_piped"]

LIMIT_BYTES = 1 << 20
PATIENCE_S = 3.0
"""How long a pipe that says nothing is waited for when there is a prompt already."""
_CHUNK_BYTES = 1 << 16


class Piped(msgspec.Struct, frozen=True):
    """What standard input held."""

    text: str = ""
    is_cut: bool = False
    """There was more than the limit; the rest was not read."""
    is_silent: bool = False
    """It is open, and nothing came."""


NOTHING = Piped()


def read_piped(descriptor: int = 0, *, has_prompt: bool) -> Piped:
    """Everything piped in, up to the limit. A terminal is not read.

    With a prompt, an open pipe that stays silent for some seconds counts as empty: many programs hand their children
    one that nobody will ever write to. Without a prompt the input is the prompt, so it is waited for.
    """
    try:
        kind = os.fstat(descriptor).st_mode
        if os.isatty(descriptor):
            return NOTHING
    except OSError:  # closed
        return NOTHING
    if has_prompt and not stat.S_ISREG(kind):
        readable, _, _ = select.select([descriptor], [], [], PATIENCE_S)
        if not readable:
            return Piped(is_silent=True)
    taken = bytearray()
    with suppress(OSError):  # it went away: what came before it did counts
        while len(taken) <= LIMIT_BYTES and (chunk := os.read(descriptor, _CHUNK_BYTES)):
            taken += chunk
    is_cut = len(taken) > LIMIT_BYTES
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    # Where we cut, a character that lost its end is left out; where the input itself ends so, it is shown as broken.
    return Piped(decoder.decode(bytes(taken[:LIMIT_BYTES]), final=not is_cut), is_cut)


async def piped_in(*, has_prompt: bool) -> Piped:
    """The same beside the event loop, in a thread that an interrupted program does not wait for."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Piped] = loop.create_future()

    def tell(piped: Piped) -> None:
        if not found.done():
            found.set_result(piped)

    def read() -> None:
        piped = read_piped(has_prompt=has_prompt)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, piped)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return await found


def join_prompt(prompt: str | None, piped: Piped) -> str | list[dict[str, Any]]:
    """The prompt with what was piped in before it, marked as what it is.

    Behind `/name` it is a block of its own: the call is one, and what was piped in is none of its arguments.
    """
    text = piped.text
    if piped.is_cut:
        text += f"\n[standard input was cut here, after {LIMIT_BYTES:,} bytes]"
    if prompt is None or not prompt.strip():
        return text
    if not text.strip():
        return prompt
    tag = "stdin"
    while f"</{tag}" in text:  # what is piped in cannot close its own mark and go on as the user
        tag = f"stdin-{os.urandom(4).hex()}"
    marked = f"<{tag}>\n{text.rstrip(chr(10))}\n</{tag}>"
    if prompt.startswith("/"):
        return [{"type": "text", "text": said} for said in (prompt, marked)]
    return f"{marked}\n\n{prompt}"
