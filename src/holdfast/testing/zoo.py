"""Bad files by the thousand: every encoding, ending, damage and trap that a file tool meets sooner or later.

Everything is made from a seed, so a failure can be made again.
"""

import io
import json
import os
import random
import socket
import struct
import zipfile
import zlib
from collections.abc import Generator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

MARKER = "MARK-0815"
_TEXTS = {
    "ascii": "plain words in a row, and numbers 1234567890",
    "german": "Die schöne Straße führt über die Brücke nach Köln",
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю",
    "japanese": "日本語の文章をここに書いています。よろしくお願いします。",
    "emoji": "smile 😀 flag 🇨🇭 family 👨‍👩‍👧 combined é",
    "quotes": "“curly” \u2018single\u2019 „low“ «angle» \"straight\" 'plain'",
}
_ENCODINGS = (
    ("utf-8", b""),
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
    ("utf-32-le", b"\xff\xfe\0\0"),
    ("cp1252", b""),
    ("cp1251", b""),
    ("shift_jis", b""),
    ("gb18030", b""),
    ("koi8-r", b""),
)
_SIGNATURES = (
    b"\x7fELF",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"BZh9",
    b"\xfd7zXZ\0",
    b"MZ",
    b"SQLite format 3\0",
    b"\xca\xfe\xba\xbe",
    b"OggS",
    b"ID3",
    b"Rar!\x1a\x07",
    b"\0\0\0\x20ftypisom",
    b"wOFF",
    b"\x28\xb5\x2f\xfd",
)


@dataclass(frozen=True, slots=True)
class Beast:
    """One bad file."""

    path: Path
    content: bytes | None
    """Its bytes, if it is a regular file of bearable size."""
    edited: bytes | None = None
    """What it must hold after the marker was replaced by `X`, if it is text that can be edited."""


def build_zoo(root: Path, *, seed: int = 1, scale: int = 1) -> Generator[Beast]:
    """Make bad files below a directory; about 2,100 of them for each step of the scale."""
    chance = random.Random(seed)  # noqa: S311  # repeatable on purpose
    makers = (_encoded, _damaged, _binary, _notebooks, _media, _named, _special)
    for number, maker in enumerate(makers):
        for round_number in range(scale if maker is not _special else 1):
            directory = root / f"{number}-{round_number}"
            directory.mkdir(parents=True)
            yield from maker(directory, chance)


def _stored(path: Path, content: bytes, edited: bytes | None = None) -> Beast:
    path.write_bytes(content)
    return Beast(path, content, edited)


def _encoded(root: Path, chance: random.Random) -> Generator[Beast]:
    """Text in every encoding, line ending and shape, each with the marker once."""
    number = 0
    ends = ("\n", "\r\n", "\r", "mixed")
    for (name, text), (codec, mark), end, final in product(_TEXTS.items(), _ENCODINGS, ends, (True, False)):
        try:
            text.encode(codec)
        except UnicodeEncodeError:
            continue
        lines = [f"{text} {n}" for n in range(chance.randrange(3, 30))]
        lines.insert(chance.randrange(len(lines)), f"  {MARKER}  ")
        stops = [chance.choice(("\n", "\r\n")) if end == "mixed" else end for _ in lines]
        whole = "".join(line + stop for line, stop in zip(lines, stops, strict=True))
        if not final:
            whole = whole[: -len(stops[-1])]
        number += 1
        content, edited = ((mark + part.encode(codec)) for part in (whole, whole.replace(MARKER, "X")))
        yield _stored(root / f"{number}-{name}-{codec}.txt", content, edited)


def _damaged(root: Path, chance: random.Random) -> Generator[Beast]:
    """Text with bytes put in, taken out or changed; editable or not, nothing else may change."""
    for number in range(600):
        codec, mark = chance.choice(_ENCODINGS)
        text = "\n".join([chance.choice(list(_TEXTS.values())), MARKER, "end"] * 1 + ["more"] * chance.randrange(5))
        content = bytearray(mark + text.encode(codec, "ignore"))
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(content))
            content[place : place + chance.randrange(2)] = chance.randbytes(chance.randrange(1, 4))
        yield _stored(root / f"{number}.txt", bytes(content))


def _binary(root: Path, chance: random.Random) -> Generator[Beast]:
    for number in range(400):
        head = chance.choice((*_SIGNATURES, b"", b"text first\n"))
        yield _stored(root / f"{number}.bin", head + chance.randbytes(chance.randrange(600)))


def _notebooks(root: Path, chance: random.Random) -> Generator[Beast]:
    cells: list[object] = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "source": "x"} for n in range(3)
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    odd = [
        "",
        "null",
        "[]",
        "{}",
        '{"cells": {}}',
        '{"cells": [1]}',
        "{" * 5000,
        '{"cells":' + "[" * 60_000,
        '{"cells": [{}]}',
    ]
    for number in range(400):
        cut = text[: chance.randrange(len(text))] + chance.choice(("", "\0", "}", "]", "\ufffd"))
        content = odd[number] if number < len(odd) else cut
        yield _stored(root / f"{number}.ipynb", content.encode())


def _media(root: Path, chance: random.Random) -> Generator[Beast]:
    """Pictures and PDFs that are cut, forged or far larger inside than outside."""
    for number in range(8):
        yield _stored(root / f"cut{number}.png", _png(60, 40)[: chance.randrange(8, 400)])
        yield _stored(root / f"cut{number}.pdf", b"%PDF-1.7\n" + chance.randbytes(chance.randrange(400)))
    yield _stored(root / "wide.png", _png(100_000, 100_000))
    yield _stored(root / "bomb.png", _png(30_000, 30_000))
    yield _stored(root / "gif", b"GIF89a\xff\xff\xff\xff\0\0\0,")
    yield _stored(root / "jpeg", b"\xff\xd8\xff\xe0" + b"\0" * 100)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 1e9 1e9] >>"
    yield _stored(root / "huge-page.pdf", b"%PDF-1.4\n1 0 obj\n" + page + b"\nendobj\ntrailer << /Root 1 0 R >>")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zeros", b"\0" * 20_000_000)
    yield _stored(root / "bomb.zip", archive.getvalue())


def _png(width: int, height: int) -> bytes:
    """A one-bit picture that says it has these dimensions and holds that many zeros, well packed."""
    rows = zlib.compressobj(9)
    row = b"\0" * (1 + (width + 7) // 8)
    packed = b"".join(rows.compress(row) for _ in range(min(height, 30_000))) + rows.flush()
    parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), (b"IDAT", packed), (b"IEND", b""))
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _named(root: Path, chance: random.Random) -> Generator[Beast]:
    letters = "ab \n\t\r\x1b\x7f'\"\\*?[]{}$`;&|<>!~#-.:\u202e\u200b\ufeffüé\udcff\udc80日"
    for number in range(300):
        name = "".join(chance.choices(letters, k=chance.randrange(1, 40))).strip("./") or f"x{number}"
        path = root / str(number) / name
        path.parent.mkdir()
        yield _stored(path, f"{MARKER}\n".encode(), b"X\n")
    yield _stored(root / ("n" * 255), MARKER.encode(), b"X")


def _special(root: Path, chance: random.Random) -> Generator[Beast]:
    """What is no plain file, or is far too large to be one."""
    del chance
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "s"))
    for name, target in (
        ("zero", "/dev/zero"),
        ("random", "/dev/urandom"),
        ("tty", "/dev/tty"),
        ("full", "/dev/full"),
        ("mem", "/proc/self/mem"),
        ("environ", "/proc/self/environ"),
        ("root", "/proc/self/root/etc/hostname"),
        ("pagemap", "/proc/self/pagemap"),
        ("kmsg", "/dev/kmsg"),
        ("loop", "loop"),
        ("ring1", "ring2"),
        ("ring2", "ring1"),
        ("dangling", "nowhere/at/all"),
        ("directory", "."),
    ):
        (root / name).symlink_to(target)
    for name in ("fifo", "s", "zero", "random", "tty", "full", "mem", "environ", "root", "pagemap", "kmsg"):
        yield Beast(root / name, None)
    for name in ("loop", "ring1", "dangling", "directory", "missing"):
        yield Beast(root / name, None)
    (root / "sparse").write_bytes(b"some text\n" * 10_000)
    os.truncate(root / "sparse", 2**40)
    yield Beast(root / "sparse", None)
    (root / "sparse-zeros").touch()
    os.truncate(root / "sparse-zeros", 2**40)
    yield Beast(root / "sparse-zeros", None)
    line = MARKER.encode() + b"y" * 100_000_000
    yield _stored(root / "one-line", line, b"X" + line[len(MARKER) :])
    unreadable = root / "unreadable"
    unreadable.write_bytes(b"x")
    unreadable.chmod(0)
    yield Beast(unreadable, None)
