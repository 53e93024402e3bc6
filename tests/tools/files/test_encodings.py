"""Files in old encodings, through Read, Edit and Write as a person calls them."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(tool: str, **arguments: Any) -> int:
    return run(["call", tool, json.dumps({"file_path": "a.txt", **arguments}), "--permission-mode", "acceptEdits"])


def test_a_guessed_encoding_takes_ascii_and_what_is_there_and_refuses_what_is_new(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = place / "a.txt"
    file.write_bytes(b"caf\xe9 one\n")
    assert call("Read") == 0
    assert "café one" in (out := capfd.readouterr().out)
    assert "cp1252 (a guess" in out
    assert call("Edit", old_string="one", new_string="olé") == 0
    assert file.read_bytes() == b"caf\xe9 ol\xe9\n"
    assert call("Edit", old_string="caf", new_string="ü") == 1
    assert "iconv -f cp1252 -t UTF-8" in capfd.readouterr().err
    assert call("Write", content="naïve") == 1
    assert file.read_bytes() == b"caf\xe9 ol\xe9\n"


def test_a_declared_encoding_takes_every_character_that_it_has(place: Path) -> None:
    file = place / "a.txt"
    (place / ".editorconfig").write_text("[*.txt]\ncharset = latin1\n", encoding="utf-8")
    file.write_bytes(b"cafe\n")
    assert call("Edit", old_string="cafe", new_string="café ü") == 0
    assert file.read_bytes() == b"caf\xe9 \xfc\n"
    assert call("Edit", old_string="café", new_string="€") == 1
    assert call("Write", content="ñ\n") == 0
    assert file.read_bytes() == b"\xf1\n"


def test_a_file_that_is_utf_8_already_stays_so_whatever_is_declared(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (place / ".editorconfig").write_text("[*.txt]\ncharset = latin1\n", encoding="utf-8")
    file = place / "a.txt"
    file.write_bytes("café ½ one\n".encode())
    assert call("Read") == 0
    assert "café ½ one" in capfd.readouterr().out, "as its letters, not as the two bytes of each"
    assert call("Edit", old_string="café", new_string="naïve") == 0
    assert file.read_bytes() == "naïve ½ one\n".encode()
