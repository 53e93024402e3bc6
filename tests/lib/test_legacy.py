# ruff: noqa: RUF001 - letters of many scripts are what this is about
"""Small files in old encodings: told by what they say of themselves, by strong evidence, or guessed and marked so."""

from pathlib import Path

import pytest

from holdfast.lib.coding_lines import coding_line
from holdfast.lib.edit import Editable
from holdfast.lib.editorconfig import declared_charset
from holdfast.lib.text import Encoding, NotEncodableError, TextFile, detect_whole

SURE = [
    ("Привет, мир\n", "koi8-r"),
    ("Привет, мир\n", "cp1251"),
    ("ПРИВЕТ МИР\n", "cp1251"),
    ("x = 'Москва'  # comment\n", "cp1251"),
    ("Україна вітає їх\n", "cp1251"),
    ("Привет, мир\n", "cp866"),
    ("Привет, мир!\n", "iso8859-5"),
    ("こんにちは世界\n", "shift_jis"),
    ("日本語\n", "shift_jis"),
    ("// ファイルを読む①\nint main(){}\n", "cp932"),
    ("こんにちは世界\n", "euc_jp"),
    ("你好,世界\n", "gb18030"),
    ("# 设置文件名\n", "gb18030"),
    ("안녕하세요\n", "euc_kr"),
    ("// 파일을 읽는다\n", "euc_kr"),
    ("你好,世界\n", "big5"),
    ("中文測試\n", "big5"),
    ("plain ascii text\n", "utf-16-le"),
    ("plain ascii text\n", "utf-16-be"),
    ("\ufeffПривет\n", "utf-16-le"),
    ("Die Straße führt über die Brücke; schöne Grüße aus Köln\n", "cp1252"),
    ("L'été, les élèves déjà reçus à l'école\n", "cp1252"),
]
GUESSED = [
    ("café\n", "cp1252"),
    ("été\n", "cp1252"),
    ("naïve “quote” €5\n", "cp1252"),
    ("£5 – “ok”…\n", "cp1252"),
    ("Größe\n", "cp1252"),
    ("señor\n", "cp1252"),
]


@pytest.mark.parametrize(("text", "codec"), SURE)
def test_strong_evidence_tells_the_encoding_and_new_characters_may_come(text: str, codec: str) -> None:
    file = TextFile.decode(text.encode(codec))
    assert (file.text, file.encoding.guessed) == (text.removeprefix("\ufeff"), False)


@pytest.mark.parametrize(("text", "codec"), GUESSED)
def test_short_western_text_is_shown_right_and_known_as_a_guess(text: str, codec: str) -> None:
    file = TextFile.decode(text.encode(codec))
    assert (file.text, file.encoding) == (text, Encoding("cp1252", guessed=True))


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("zażółć gęślą jaźń\n", "cp1250"),
        ("zażółć gęślą jaźń\n", "iso8859-2"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy\n", "cp1250"),
        ("Türkçe ığüşöç\n", "cp1254"),
        ("Καλημέρα κόσμε\n", "cp1253"),
        ("שלום עולם\n", "cp1255"),
    ],
)
def test_what_cannot_be_told_is_a_guess_that_keeps_every_byte(text: str, codec: str) -> None:
    data = text.encode(codec)
    file = TextFile.decode(data)
    assert file.encoding.guessed
    assert file.encode(file.text) == data


@pytest.mark.parametrize("new", ["ü", "€", "ñ", "日"])
def test_a_guess_never_writes_a_character_that_the_file_does_not_have(new: str) -> None:
    content = Editable.of("café\n".encode("latin-1"), "caf", new)
    with pytest.raises(NotEncodableError, match="iconv -f cp1252 -t UTF-8"):
        content.encoding.require_known(f"caf{new}", content.utf8.decode())
    content.encoding.require_known("plain, and é again", content.utf8.decode())


@pytest.mark.parametrize(
    ("line", "codec"),
    [
        ("# -*- coding: latin-1 -*-\n", "iso8859-1"),
        ("#!/usr/bin/python\n# vim: set fileencoding=cp1251 :\n", "cp1251"),
        ("/* -*- mode: c; coding: koi8-r -*- */\n", "koi8-r"),
        ('<?xml version="1.0" encoding="ISO-8859-15"?>\n', "iso8859-15"),
        ('@charset "shift_jis";\n', "shift_jis"),
        ('<html><meta charset="iso-8859-1">\n', "cp1252"),
        ("# coding: utf-8\n", "utf-8"),
        ("# coding: no-such-thing\n", None),
        ("# coding: hex\n", None),
        ("x\ny\n# coding: latin-1\n", None),
        ("x = 'coding: latin-1'\n", None),
    ],
)
def test_a_line_that_names_the_encoding_is_read(line: str, codec: str | None) -> None:
    assert coding_line(line.encode()) == codec


def test_what_a_file_says_of_itself_counts_also_for_the_first_new_character() -> None:
    file = TextFile.decode(b"# -*- coding: latin-1 -*-\nx = 1\n")
    assert file.encode("é") == b"\xe9"
    assert detect_whole("# coding: latin-1\nx = 'é'\n".encode()).codec == "utf-8"  # the bytes prove it wrong
    assert detect_whole("# coding: utf-8\nx = 'Привет, мир'\n".encode("cp1251")).codec == "cp1251"


def test_editorconfig_names_the_encoding(tmp_path: Path) -> None:
    (tmp_path / ".editorconfig").write_text(
        "root = true\n[*]\ncharset = utf-8\n[*.{txt,md}]\ncharset = latin1\n[src/**.c]\ncharset=cp1251\n"
        "[/old/*/x?.[ch]]\ncharset = koi8-r\n[v{1..3}]\ncharset = latin1\n",
        encoding="utf-8",
    )
    expected = {
        "a.py": "utf-8",
        "sub/a.txt": "iso8859-1",
        "src/deep/er/a.c": "cp1251",
        "src/a.c": "cp1251",
        "old/one/x1.c": "koi8-r",
        "old/one/two/x1.c": "utf-8",
        "v2": "iso8859-1",
        "v4": "utf-8",
    }
    assert {name: declared_charset(str(tmp_path / name)) for name in expected} == expected
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".editorconfig").write_text("[*]\ncharset = unset\n", encoding="utf-8")
    assert declared_charset(str(tmp_path / "sub" / "a.txt")) is None


def test_a_declared_encoding_is_no_guess_and_counts_for_plain_ascii() -> None:
    assert detect_whole(b"caf\xe9\n", declared=lambda: "iso8859-1") == Encoding("iso8859-1")
    assert detect_whole(b"cafe\n", declared=lambda: "iso8859-1") == Encoding("iso8859-1")
    assert detect_whole("café\n".encode(), declared=lambda: "iso8859-1") == Encoding("utf-8")
    assert detect_whole("Привет\n".encode("utf-16-le"), declared=lambda: "utf-16-le") == Encoding("utf-16-le")
    assert detect_whole(b"caf\xe9\n", declared=lambda: "utf-8") == Encoding("cp1252", guessed=True)


def test_a_hostile_editorconfig_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / ".editorconfig").write_text(
        "[" + "{a,b}" * 100 + "]\ncharset=latin1\n[" + "*a" * 400 + "]\ncharset=latin1\n[{1..999999999}]\n",
        encoding="utf-8",
    )
    assert declared_charset(str(tmp_path / ("a" * 200))) is None
