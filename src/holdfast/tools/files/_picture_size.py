"""Width and height of a picture from its first bytes, where nothing is installed that could decode it."""

import struct
from itertools import pairwise

__all__ = ["picture_size"]

_START_OF_FRAME = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_MAX_SEGMENTS = 1_000


def picture_size(data: bytes, kind: str) -> tuple[int, int] | None:
    """The size in pixels of a PNG, GIF, JPEG or WebP; none when it is of another kind or broken."""
    try:
        if kind == "png" and data[12:16] == b"IHDR":
            return struct.unpack(">II", data[16:24])
        if kind == "gif":
            return struct.unpack("<HH", data[6:10])
        if kind == "jpeg":
            return _of_jpeg(data)
        if kind == "webp":
            return _of_webp(data)
    except (struct.error, IndexError):
        return None
    return None


def _of_jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    for _ in range(_MAX_SEGMENTS):
        while data[place] == 0xFF and data[place + 1] == 0xFF:
            place += 1
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker in _START_OF_FRAME:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + struct.unpack(">H", data[place + 2 : place + 4])[0]
    return None


def _of_webp(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if form == b"VP8L" and data[20] == 0x2F:
        bits = struct.unpack("<I", data[21:25])[0]
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8X" and len(data) >= 30:
        width, height = (int.from_bytes(data[a:b], "little") + 1 for a, b in pairwise((24, 27, 30)))
        return width, height
    return None
