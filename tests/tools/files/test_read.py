"""Read shows files as they are, and says in words what it will not read."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image as Pillow

from holdfast.contract import ArgumentsInvalid, Image, Text, ToolContext, ToolFailed
from holdfast.host.file_state import note_read
from holdfast.testing import run_tool
from holdfast.tools.files.read import Read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def read() -> Read:
    return Read()


def test_text_comes_numbered_as_cat_does(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n\ttwo\nthree")
    assert session.text(read, file_path="a.txt") == "     1\tone\n     2\t\ttwo\n     3\tthree"
    data = session.reads[str(tmp_path / "a.txt")]
    assert data.whole


def test_a_window_says_how_to_read_on(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    result = session.call(read, file_path=str(tmp_path / "a.txt"))
    assert result.data["file"]["numLines"] == 2000
    assert result.data["file"]["totalLines"] == 5000
    assert "offset 2001" in result.text
    text = session.text(read, file_path="a.txt", offset=4999, limit=10)
    assert text == "  4999\tline 4999\n  5000\tline 5000"
    assert "5,000 lines" in session.text(read, file_path="a.txt", offset=6000)


class WatchedContext(ToolContext):
    """A context that tells each time a reading thread asks whether to go on."""

    __slots__ = ("asked_by_thread",)
    asked_by_thread: Callable[[], bool]

    @property
    def cancelled(self) -> bool:
        return self.asked_by_thread()

    @cancelled.setter
    def cancelled(self, value: bool) -> None: ...


def read_far(read: Read, path: Path, *, line: int, asked: Callable[[], bool]) -> str:
    context = WatchedContext(path.parent)
    context.asked_by_thread = asked
    arguments = read.arguments.parse({"file_path": str(path), "offset": line})
    text = asyncio.run(read.call(arguments, context)).text
    assert isinstance(text, str)
    return text


def test_a_read_cancelled_far_into_a_file_stops_and_can_be_repeated(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"some entry of a log\n" * 200_000)
    answers = iter([False, False])
    threads = threading.active_count()
    with pytest.raises(ToolFailed, match=r"line 190,000 .* cancelled"):
        read_far(read, path, line=190_000, asked=lambda: next(answers, True))
    assert threading.active_count() == threads
    assert read_far(read, path, line=190_000, asked=lambda: False).startswith("190000\tsome entry of a log\n")


def test_a_file_cut_off_while_it_is_read_has_the_lines_that_are_left(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"some entry of a log\n" * 200_000)

    def cut_off() -> bool:
        os.truncate(path, 600_000)
        return False

    assert "the file has 30,000 lines" in read_far(read, path, line=190_000, asked=cut_off)


def test_parts_read_one_after_the_other_are_the_whole(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 3001)))
    for offset in (1, 1001, 2001):
        assert not session.reads.get(str(tmp_path / "a.txt"), (0,) * 6)[5]
        session.call(read, file_path="a.txt", offset=offset, limit=1000)
    assert session.reads[str(tmp_path / "a.txt")].whole


def test_too_many_tokens_are_cut_with_a_notice(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("word " * 50 + "\n") * 1500)
    result = session.call(read, file_path="a.txt")
    assert result.data["truncatedByTokenCap"]
    assert "25,000 tokens" in result.text
    assert len(result.text) < 130_000
    assert not session.reads[str(tmp_path / "a.txt")].whole


def test_an_empty_file_is_said_to_be_empty(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert "empty" in session.text(read, file_path="a.txt")
    assert session.reads[str(tmp_path / "a.txt")].whole
    assert session.text(read, file_path="/dev/null") == "[The file is empty.]"
    assert session.call(read, file_path="/dev/null").data["file"]["content"] == ""


def test_an_unchanged_file_is_not_shown_twice(session: Any, read: Read, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    session.call(read, file_path="a.txt")
    os.utime(path, ns=(5, 5))
    assert session.call(read, file_path="a.txt").data["type"] == "file_unchanged"
    assert session.call(read, file_path="a.txt", limit=1).data["type"] == "text"
    path.write_text("one\nTWO\n")
    assert "TWO" in session.text(read, file_path="a.txt")


def test_encodings_are_shown_right_and_named(session: Any, read: Read, tmp_path: Path) -> None:
    text = "Съешь ещё этих мягких французских булок, да выпей чаю\n" * 20
    for codec, mark in (("cp1251", b""), ("utf-16-le", b"\xff\xfe"), ("utf-8", b"\xef\xbb\xbf")):
        (tmp_path / codec).write_bytes(mark + text.encode(codec))
        shown = session.text(read, file_path=codec)
        assert f"     1\t{text.splitlines()[0]}\n" in shown
        assert codec in shown
        assert "\ufeff" not in shown


@pytest.mark.parametrize("kind", ["directory", "fifo", "socket", "missing", "binary", "zip", "loop", "proc", "device"])
def test_what_is_no_text_file_is_refused_with_help(session: Any, read: Read, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    helpful = {"directory": "Glob", "fifo": "FIFO", "socket": "socket", "missing": "no file", "binary": "xxd"}
    helpful |= {"zip": "unzip", "loop": "leads nowhere", "proc": "kernel", "device": "kernel"}
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind in {"binary", "zip"}:
        path.write_bytes((b"PK\x03\x04" if kind == "zip" else b"") + b"\0\1\2\3" * 50)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "proc":
        path.symlink_to("/proc/self/root/etc/passwd")
    elif kind == "device":
        path.symlink_to("/dev/zero")
    with pytest.raises(ToolFailed, match=helpful[kind]):
        session.call(read, file_path=str(path))


@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/dev/stdin", "/sys/kernel/notes", "/dev/fd/0", "a\0b", "\ud800"]
)
def test_kernel_files_and_impossible_names_are_refused(session: Any, read: Read, path: str) -> None:
    with pytest.raises(ToolFailed):
        session.call(read, file_path=path)


def test_a_missing_file_names_its_neighbours_but_no_hidden_ones(session: Any, tmp_path: Path) -> None:
    for name in ("settings.py", "settings.pyc"):
        (tmp_path / name).touch()
    session.hide(".pyc")
    with pytest.raises(ToolFailed) as caught:
        session.call(Read(), file_path="setting.py")
    assert "'settings.py'" in str(caught.value)
    assert "settings.pyc" not in str(caught.value)
    assert caught.value.error_code == 1


def picture(size: tuple[int, int], kind: str, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Pillow.effect_noise(size, 30).convert(mode).save(out, kind)
    return out.getvalue()


def test_a_small_picture_is_shown_as_it_is(session: Any, read: Read, tmp_path: Path) -> None:
    raw = picture((40, 30), "PNG")
    (tmp_path / "p.bin").write_bytes(raw)
    result = session.call(read, file_path="p.bin")
    assert result.text == (
        Text(f"[p.bin: 40 by 30 pixels, {len(raw):,} bytes.]"),
        Image(raw, "image/png"),
    )
    assert base64.b64decode(result.data["file"]["base64"]) == raw


def test_a_large_picture_is_scaled_down_and_its_size_told(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "p.jpg").write_bytes(picture((4000, 3000), "JPEG"))
    result = session.call(read, file_path="p.jpg")
    note, image = result.text
    assert "4000 by 3000" in note.text
    shown = Pillow.open(io.BytesIO(image.data))
    assert max(shown.size) <= 1568
    assert shown.size[0] * shown.size[1] <= 1_200_000
    assert len(image.data) < 700_000
    assert result.data["file"]["dimensions"]["originalWidth"] == 4000


def test_a_picture_that_is_not_large_but_heavy_is_made_lighter(session: Any, read: Read, tmp_path: Path) -> None:
    raw = picture((1000, 1000), "PNG")
    assert len(raw) > 700_000
    (tmp_path / "p.png").write_bytes(raw)
    _, image = session.call(read, file_path="p.png").text
    assert len(image.data) < 700_000
    assert Pillow.open(io.BytesIO(image.data)).size == (1000, 1000)


def test_a_picture_bomb_and_a_broken_picture_are_refused(session: Any, read: Read, tmp_path: Path) -> None:
    bomb = io.BytesIO()
    Pillow.new("1", (20_000, 20_000)).save(bomb, "PNG")
    (tmp_path / "bomb.png").write_bytes(bomb.getvalue())
    with pytest.raises(ToolFailed, match="large"):
        session.call(read, file_path="bomb.png")
    (tmp_path / "cut.png").write_bytes(picture((400, 300), "PNG")[:-2000])
    with pytest.raises(ToolFailed, match="broken"):
        session.call(read, file_path="cut.png")


def pdf(pages: int) -> bytes:
    out = io.BytesIO()
    images = [Pillow.new("RGB", (300, 400), (n % 255, 200, 100)) for n in range(pages)]
    images[0].save(out, "PDF", save_all=True, append_images=images[1:])
    return out.getvalue()


def text_pdf(text: str) -> bytes:
    stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    out = b"%PDF-1.4\n"
    places: list[int] = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 7\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer << /Size 7 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start


def test_pdf_pages_come_as_text_and_pictures(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "r.pdf").write_bytes(text_pdf("Quarterly report"))
    result = session.call(read, file_path="r.pdf")
    page, image = result.text
    assert page.text == "[Page 1 of 1]\nQuarterly report"
    assert Pillow.open(io.BytesIO(image.data)).size[1] > 700
    assert result.data["type"] == "parts"


def test_long_pdfs_are_read_by_pages(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "long.pdf").write_bytes(pdf(30))
    with pytest.raises(ToolFailed, match="30 pages"):
        session.call(read, file_path="long.pdf")
    result = session.call(read, file_path="long.pdf", pages="4-6")
    assert [page["number"] for page in result.data["file"]["pages"]] == [4, 5, 6]
    with pytest.raises(ToolFailed, match="only 30"):
        session.call(read, file_path="long.pdf", pages="31")
    for wrong in ("0", "5-2", "1-21", "x", "1,2"):
        with pytest.raises(ArgumentsInvalid):
            session.call(read, file_path="long.pdf", pages=wrong)


def test_broken_and_locked_pdfs_get_a_clear_answer(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "cut.pdf").write_bytes(text_pdf("x")[:60])
    with pytest.raises(ToolFailed, match="broken"):
        session.call(read, file_path="cut.pdf")
    encrypt = b"<< /Filter /Standard /V 1 /R 2 /O <" + b"ab" * 32 + b"> /U <" + b"cd" * 32 + b"> /P -44 >>"
    locked = text_pdf("secret").replace(b"/Root 1 0 R", b"/Root 1 0 R /ID [<00><00>] /Encrypt " + encrypt)
    (tmp_path / "locked.pdf").write_bytes(locked)
    with pytest.raises(ToolFailed, match="password"):
        session.call(read, file_path="locked.pdf")


def test_pages_are_for_pdfs_only(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ArgumentsInvalid):
        session.call(read, file_path="a.txt", pages="1")


def notebook() -> dict[str, Any]:
    plot = base64.b64encode(picture((8, 8), "PNG")).decode()
    return {
        "cells": [
            {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "id": "calc",
                "execution_count": 3,
                "metadata": {},
                "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": ["hello\n"]},
                    {
                        "output_type": "display_data",
                        "metadata": {},
                        "data": {"image/png": plot, "text/plain": ["<Fig>"]},
                    },
                    {
                        "output_type": "error",
                        "ename": "ValueError",
                        "evalue": "bad",
                        "traceback": ["\x1b[31mboom\x1b[0m"],
                    },
                ],
                "source": "print('hello')",
            },
        ],
        "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "P"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def test_a_notebook_is_shown_as_cells_with_outputs(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook(), indent=1))
    result = session.call(read, file_path="n.ipynb")
    text, image = result.text
    assert '<cell id="calc" type="code, python">\nprint(\'hello\')\n</cell>\n<output>\nhello\n</output>' in text.text
    assert "boom" in text.text
    assert "\x1b" not in text.text
    assert image.media_type == "image/png"
    assert [cell["id"] for cell in result.data["file"]["cells"]] == ["intro", "calc"]
    assert session.reads[str(tmp_path / "n.ipynb")].whole


def test_a_large_notebook_is_taken_apart_within_bounds(session: Any, read: Read, tmp_path: Path) -> None:
    book = notebook()
    book["cells"][1]["outputs"][0]["text"] = ["x" * 100 + "\n"] * 40_000
    (tmp_path / "n.ipynb").write_text(json.dumps(book))
    result = session.call(read, file_path="n.ipynb")
    assert "output cut" in result.text[0].text
    assert session.call(read, file_path="n.ipynb").data["type"] == "file_unchanged"
    (tmp_path / "deep.ipynb").write_text('{"cells":' + "[" * 3_000_000)
    with pytest.raises(ToolFailed):
        session.call(read, file_path="deep.ipynb")


def test_other_ways_of_showing_a_file_count_as_reading_it(session: Any, read: Read, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    part = note_read(str(path), shown=(0, 4))
    assert part is not None
    assert not part.stamp.whole
    whole = note_read(str(path), shown=(4, 8), before=part.stamp)
    assert whole is not None
    assert whole.stamp.whole
    session.reads[str(path)] = whole.stamp
    assert session.call(read, file_path="a.txt").data["type"] == "text"
    assert note_read(str(tmp_path)) is None


@pytest.mark.parametrize("content", ["", "{", '{"cells": [', "[]", '{"nbformat": 3}', '{"cells": 5}', "[" * 100_000])
def test_a_broken_notebook_is_refused_in_words(session: Any, read: Read, tmp_path: Path, content: str) -> None:
    (tmp_path / "n.ipynb").write_text(content)
    with pytest.raises(ToolFailed, match="notebook"):
        session.call(read, file_path="n.ipynb")


def test_a_place_swapped_for_a_link_after_judgement_is_not_followed(session: Any, read: Read, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "f").write_text("harmless")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f").write_text("SECRET")

    def swap() -> None:
        (tmp_path / "inside").rename(tmp_path / "moved")
        (tmp_path / "inside").symlink_to("outside")

    session.before_call = swap
    with pytest.raises(ToolFailed):
        session.call(read, file_path="inside/f")


def test_programs_get_the_bare_lines_and_the_model_the_numbered_ones(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ttwo\n\nthree\n")
    run = run_tool(Read(), {"file_path": "a.txt", "offset": 1, "limit": 3}, cwd=tmp_path)
    assert run.data["file"]["content"] == "one\n\ttwo\n"
    assert "     1\tone" in run.text
