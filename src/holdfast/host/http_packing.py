"""Unpack the body of an answer step by step: a small piece may unpack to very much.

Only packings whose cost is known here are taken; no other was asked for.
"""

import zlib
from typing import Final

from holdfast.host.http_errors import HttpError

__all__ = ["Unpacker", "unpacker_for"]

_PIECE_BYTES: Final = 64 * 1024
_GZIP: Final = b"\x1f\x8b"


class Unpacker:
    """Takes packed bytes as they come and gives at most 64 KiB at a time."""

    def __init__(self, *, may_repeat: bool) -> None:
        self._packed = b""
        self._may_repeat = may_repeat
        self._state = _fresh()
        self._is_pending = self._has_come = False
        self.is_over = False
        """The packed data has ended; what a server sends behind it is not read."""

    @property
    def is_whole(self) -> bool:
        """Nothing of it is missing; a body without a byte is whole too."""
        return self.is_over or self._state.eof or not self._has_come

    def feed(self, data: bytes) -> None:
        """More packed bytes."""
        self._has_come = True
        self._packed += data

    def take(self) -> bytes:
        """Some of what came; nothing: more is needed, or it is over.

        Raises:
            HttpError: It is packed wrongly.
        """
        while (self._packed or self._is_pending) and not self.is_over:
            if self._state.eof and not self._begin_anew():
                return b""
            try:
                data = self._state.decompress(self._packed, _PIECE_BYTES)
            except zlib.error as error:
                raise HttpError(f"the answer cannot be unpacked: {error}", "cut", has_begun=True) from error
            self._packed = self._state.unused_data if self._state.eof else self._state.unconsumed_tail
            self._is_pending = len(data) == _PIECE_BYTES and not self._state.eof
            if data:
                return data
        return b""

    def _begin_anew(self) -> bool:
        """Several packed parts may follow each other; anything else behind the end is not ours to read."""
        if self._may_repeat and self._packed.startswith(_GZIP[: len(self._packed)]):
            if len(self._packed) < len(_GZIP):
                return False
            self._state = _fresh()
            return True
        self.is_over, self._packed = True, b""
        return False


def unpacker_for(encoding: str) -> Unpacker | None:
    """What unpacks a body that came packed; None where it did not.

    Raises:
        HttpError: It is packed in a way that was not asked for.
    """
    names = [name.strip().lower() for name in encoding.split(",") if name.strip().lower() not in {"", "identity"}]
    if not names:
        return None
    if names in (["gzip"], ["x-gzip"], ["deflate"]):
        return Unpacker(may_repeat=names != ["deflate"])
    raise HttpError(f"the answer is packed as {encoding!r}, which was not asked for", "cut", has_begun=True)


def _fresh() -> "zlib._Decompress":
    return zlib.decompressobj(zlib.MAX_WBITS | 32)  # reads the head of either
