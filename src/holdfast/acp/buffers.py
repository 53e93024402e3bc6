"""Files as the editor holds them, with what the person has not saved yet."""

import asyncio
from contextlib import suppress
from typing import Any

from holdfast.acp.wire import Peer, RpcError, as_object

__all__ = ["EditorBuffers"]

_LIMIT_BYTES = 10 << 20
_LIMIT_S = 5.0


class EditorBuffers:
    """Asks the editor about one file at a time, and not for long."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.session_id = ""

    async def unsaved(self, path: str) -> str | None:
        """The editor's text, where it is another than the file's.

        Raises:
            TimeoutError: The editor does not say.
        """
        params = {"sessionId": self.session_id, "path": path}
        try:
            answer: Any = await asyncio.wait_for(self._peer.ask("fs/read_text_file", params), _LIMIT_S)
        except RpcError:  # it has no such file open, or cannot read it
            return None
        held = as_object(answer).get("content")
        if not isinstance(held, str):
            return None
        saved = await asyncio.to_thread(_saved, path)
        return None if saved is None or _same(held, saved) else held


def _saved(path: str) -> bytes | None:
    with suppress(OSError), open(path, "rb") as file:
        data = file.read(_LIMIT_BYTES + 1)
        return data if len(data) <= _LIMIT_BYTES else None
    return None


def _same(held: str, saved: bytes) -> bool:
    """Whether the editor shows what is on the disk: it may have decoded it, and put one kind of line end for all."""
    if held.encode("utf-8", "surrogateescape") == saved:
        return True
    for encoding in ("utf-8-sig", "utf-16", "latin-1"):
        with suppress(UnicodeError):
            if saved.decode(encoding).replace("\r\n", "\n").replace("\r", "\n") == held.replace("\r\n", "\n"):
                return True
    return False
