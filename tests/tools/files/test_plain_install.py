"""Pictures where nothing is installed that could decode them."""

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from holdfast.host.parsing import ParseError
from holdfast.tools.files._image import shrink


def shown(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(sys.modules, "PIL", None)
    fd = os.open(path, os.O_RDONLY)
    try:
        return shrink(fd, {})
    finally:
        os.close(fd)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("lossless", [True, False])
def test_a_small_picture_passes_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, lossless: bool
) -> None:
    out = io.BytesIO()
    Image.new("RGB", (37, 21), "red").save(out, kind, lossless=lossless)
    (tmp_path / "a").write_bytes(out.getvalue())
    found = shown(tmp_path / "a", monkeypatch)
    assert (found["width"], found["height"], found["data"]) == (37, 21, out.getvalue())
    assert found["media_type"] == f"image/{kind.lower()}"


@pytest.mark.parametrize(("kind", "size"), [("PNG", (3000, 20)), ("PNG", (1400, 1400)), ("BMP", (10, 10))])
def test_what_must_be_scaled_or_converted_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, size: tuple[int, int]
) -> None:
    Image.new("RGB", size).save(tmp_path / "a", kind)
    with pytest.raises(ParseError, match=r"install holdfast\[media\]"):
        shown(tmp_path / "a", monkeypatch)


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0" + b"\xff" * 9, b"GIF89a"])
def test_a_broken_picture_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ParseError):
        shown(tmp_path / "a", monkeypatch)
