"""Pictures are drawn where the terminal says that it can, and never with anything but their own letters."""

import base64
from collections.abc import Mapping
from typing import Any

import pytest
from tests.tui.faces import MemoryFace
from tests.tui.show.test_view import ended, over, queued, view_on

from holdfast.tui.show.pictures import Picture, picture_in, picture_lines

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(9_000)).decode()


def result(encoded: Any = PNG, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "file": {"base64": encoded, "type": kind}}


@pytest.mark.parametrize(
    ("environ", "begins", "count"),
    [
        ({"KITTY_WINDOW_ID": "1"}, "\x1b_Ga=T,f=100,q=2,C=1,r=12,m=1;", 12),
        ({"TERM_PROGRAM": "ghostty"}, "\x1b_Ga=T", 12),
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]1337;File=inline=1;height=12;", 1),
        ({"TERM": "xterm-256color"}, "", 0),
        ({"KITTY_WINDOW_ID": "1", "TMUX": "/tmp/x"}, "", 0),
    ],
)
def test_a_picture_is_drawn_as_the_terminal_wants_it(environ: Mapping[str, str], begins: str, count: int) -> None:
    lines = picture_lines(Picture(PNG, "image/png"), environ)
    assert len(lines) == count
    assert "".join(lines).startswith(begins)
    for part in "".join(lines).split("\x1b_G")[1:]:
        assert len(part.partition(";")[2]) <= 4_096 + 2
    sent = "".join(part.partition(";")[2].removesuffix("\x1b\\") for part in "".join(lines).split("\x1b_G")[1:])
    assert sent in ("", PNG)


def test_what_is_no_base64_is_never_sent() -> None:
    assert picture_in(result()) == Picture(PNG, "image/png")
    for encoded in ("AAAA\x1b\\evil", "AA AA", "", 7, "A" * (9 << 20)):
        assert picture_in(result(encoded)) is None
    assert picture_in({"type": "text", "file": {"base64": PNG}}) is None


def test_a_call_that_read_a_picture_shows_it_below_its_line() -> None:
    face = MemoryFace()
    view = view_on(face)
    queued(view, "a", name="Read")
    ended(view, "a", name="Read", data=result())
    over(view)
    assert face.text.split("\n")[0].startswith("● Read(a) · picture")
    assert face.text.split("\n")[-1] == "<picture image/png>"
