"""Pictures in terminals that can draw them: by kitty's protocol, or by iTerm2's; elsewhere only words tell of them."""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

__all__ = ["Picture", "picture_in", "picture_lines"]

_ROWS = 12
_CHUNK = 4_096
_MOST_CHARS = 8 << 20
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_KITTY = ("kitty", "ghostty", "wezterm")
_ITERM = ("iterm.app",)


class Picture(NamedTuple):
    """One, as tools give it."""

    encoded: str
    """Base64 and nothing else."""
    media_type: str


def picture_in(data: Any) -> Picture | None:
    """The picture of a result, if it is one that is safe to send."""
    if not isinstance(data, Mapping):
        return None
    found = cast("Mapping[str, Any]", data)
    file: Any = found.get("file")
    if found.get("type") != "image" or not isinstance(file, Mapping):
        return None
    encoded: Any = cast("Mapping[str, Any]", file).get("base64")
    if not isinstance(encoded, str) or len(encoded) > _MOST_CHARS or not _BASE64.fullmatch(encoded):
        return None
    return Picture(encoded, str(cast("Mapping[str, Any]", file).get("type") or ""))


def picture_lines(picture: Picture, environ: Mapping[str, str] = os.environ) -> list[str]:
    """What draws it, as lines for the terminal; nothing where it cannot."""
    if environ.get("TMUX") or environ.get("STY"):  # they would have to pass it on
        return []
    program = f"{environ.get('TERM_PROGRAM', '')} {environ.get('TERM', '')}".lower()
    if picture.media_type == "image/png" and (environ.get("KITTY_WINDOW_ID") or any(one in program for one in _KITTY)):
        return [_by_kitty(picture.encoded), *[""] * (_ROWS - 1)]
    if any(one in program for one in _ITERM):
        return [f"\x1b]1337;File=inline=1;height={_ROWS};preserveAspectRatio=1:{picture.encoded}\x07"]
    return []


def _by_kitty(encoded: str) -> str:
    chunks = [encoded[at : at + _CHUNK] for at in range(0, len(encoded), _CHUNK)]
    sent: list[str] = []
    for place, chunk in enumerate(chunks):
        keys = f"a=T,f=100,q=2,C=1,r={_ROWS}," if not place else ""
        sent.append(f"\x1b_G{keys}m={int(place < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(sent)
