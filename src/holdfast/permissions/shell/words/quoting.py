"""Quote removal: what single leaves of shell text become as arguments, and a word while its pieces are read."""

import os
import re
from collections.abc import Callable
from typing import Any, Final, cast

from holdfast.permissions.shell.words.word import Word

PLAIN: Final = re.compile(r"[A-Za-z0-9_./:=@%+,^-]*(?:(?<=[A-Za-z0-9^])~[A-Za-z0-9_./:=@%+,^-]*)*\Z")
"""Unquoted text without a character that the shell treats specially anywhere in a word."""

QUOTES: Final = str.maketrans("", "", "'\"\\")
"""Takes away what quotes."""
_CACHE_LIMIT: Final = 4096
_LITERALS_KEPT: Final = 512
BRACES: Final = Word("{}", may_be_flag=False)
plain_words: dict[str, Word] = {"{}": BRACES}
"""Words met before, by their text."""


_new_word: "Callable[[type[Word], tuple[str | bool, ...]], Word]" = cast("Any", tuple).__new__


def literal(text: str) -> Word:
    """Give the word for text that is passed exactly as it stands."""
    # Half the time of calling the class: this is the hottest call of the analysis.
    return _new_word(Word, (text, True, text[:1] == "-", False, False, False, False, False))


def utf8(view: str) -> str:
    """Turn a byte-per-character view back into text."""
    return view if view.isascii() else view.encode("latin-1").decode("utf-8", "surrogateescape")


def plain_word(text: str) -> Word | None:
    """Give the cached word for unquoted text without special characters, else None."""
    word = plain_words.get(text)
    if word is None and PLAIN.match(text):
        word = literal(text)
        if len(plain_words) >= _CACHE_LIMIT:
            plain_words.clear()
            plain_words["{}"] = BRACES
        plain_words[text] = word
    return word


CERTAIN: Final = re.compile(
    r"""(?:[A-Za-z0-9_./:=@%+,^-]+(?![A-Za-z0-9_./:=@%+,^-])|(?<=[A-Za-z0-9^])~|'[^']*'|"[^"$`\\]*")+"""
)
"""A word in which the shell only removes quotes."""
_QUOTED_PIECE: Final = re.compile(r"""'([^']*)'|"([^"]*)\"""")


_PLAIN_LINE: Final = re.compile(r"[A-Za-z0-9_./:=@%+,^ -]+(?:(?<=[A-Za-z0-9^])~[A-Za-z0-9_./:=@%+,^ -]*)*\Z")


def unquoted(source: str) -> str:
    """Remove the quotes of text that `CERTAIN` matches whole."""
    if "'" in source:
        return _QUOTED_PIECE.sub(r"\1\2", source) if '"' in source else source.replace("'", "")
    return source.replace('"', "")


def certain_texts(source: str) -> list[str] | None:
    """Give the arguments in ASCII text that holds nothing but words of certain meaning and blanks, else None."""
    if _PLAIN_LINE.match(source):
        return source.split()
    if "$" in source and "'" not in source:
        return None  # outside single quotes it starts an expansion
    found = CERTAIN.findall(source)
    # Joined they are the text only if single blanks, and nothing else, stand between the words.
    if " ".join(found) != source or not source.isascii():
        return None
    if "'" not in source:
        return [text.replace('"', "") for text in found]
    if '"' not in source:
        return [text.replace("'", "") for text in found]
    return [unquoted(text) for text in found]


class _Literals(dict[str, Word]):
    """Words made before, by their text."""

    def __missing__(self, text: str) -> Word:
        if len(self) >= _LITERALS_KEPT:
            self.clear()
        word = self[text] = _new_word(Word, (text, True, text[:1] == "-", False, False, False, False, False))
        return word


known_literal: "Callable[[str], Word]" = _Literals().__getitem__
"""Give the cached word for text that is passed exactly as it stands."""


class Bare:
    """Unquoted text after backslash removal, with what the shell may still do to it."""

    __slots__ = ("glob", "missed", "text")

    def __init__(self, source: str) -> None:
        self.glob = False
        self.missed = False
        kept: list[str] = []
        position, end = 0, len(source)
        while position < end:
            char = source[position]
            if char == "\\":
                position += 1
                if position == end:
                    self.missed = True
                    break
                char = source[position]
            elif char in "*?[" and not self.glob:
                self.glob = True
                self.text = "".join(kept)
            elif char in "$`;&|<>() \t\n":  # the grammar takes a newline before a backslash into the word
                self.missed = True
            kept.append(char)
            position += 1
        if not self.glob:
            self.text = "".join(kept)


_MISSED_IN_QUOTES: Final = re.compile(r"`|\$[A-Za-z0-9_({\[@*#?$!-]")
_QUOTED_ESCAPE: Final = re.compile(r'\\([$`"\\\n])')


def quoted(source: str) -> tuple[str, bool]:
    """Unescape text between double quotes.

    Returns:
        The text, and whether an expansion hides in it that the parser did not report.
    """
    if "\\" not in source:
        return source, _MISSED_IN_QUOTES.search(source) is not None
    bare = _QUOTED_ESCAPE.sub("", source)
    return _QUOTED_ESCAPE.sub(_unescape, source), _MISSED_IN_QUOTES.search(bare) is not None


def _unescape(found: re.Match[str]) -> str:
    char = found.group(1)
    return "" if char == "\n" else char


_ANSI_WHOLE: Final = re.compile(r"[^'\\]*(?:\\.[^'\\]*)*", re.DOTALL)
_ANSI: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS: Final = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


def ansi_c(source: str) -> str | None:
    """Decode the inside of `$'…'`; None when the shell would cut it short or this decoder does not know the escape."""
    if _ANSI_WHOLE.fullmatch(source) is None:  # for the grammar `\\'` does not end it, for bash it does
        return None
    try:
        text = _ANSI.sub(_ansi_character, source)
    except (ValueError, OverflowError):
        return None
    return None if "\0" in text else text


def _ansi_character(found: re.Match[str]) -> str:
    two, four, eight, octal, control, letter = found.groups()
    if two or octal:
        code = int(two, 16) if two else int(octal, 8) & 0xFF
        if code > 0x7F:
            raise ValueError(found.group())
        return chr(code)
    if four or eight:
        return utf8_view(chr(int(four or eight, 16)))
    if control:
        return chr(ord(control) & 0x1F)
    return _ANSI_LETTERS.get(letter, found.group())


def utf8_view(text: str) -> str:
    """Give the byte-per-character view of text."""
    return text if text.isascii() else text.encode("utf-8").decode("latin-1")


def home() -> str | None:
    """The home directory a bare `~` stands for, or None when it is not an absolute path."""
    path = os.path.expanduser("~")
    return path if path.startswith("/") else None


def join_lines(command: str) -> str:
    """Remove every backslash-newline pair, as the shell does before it splits words."""
    # Two backslashes are one that is meant: only a further one behind them continues the line.
    return "\\\\".join([piece.replace("\\\n", "") for piece in command.split("\\\\")])


_CUTS: Final = b";&|\n(){}`<>\r"
_ROUGH: Final = bytes.maketrans(_CUTS, b"\n" * len(_CUTS))
_NOISE: Final = b"'\"\\"


def rough_pieces(command: str) -> tuple[str, ...]:
    """Cut text at every character that could start a command, ignoring quotes.

    For text that cannot be parsed: a deny rule must still see every candidate command. The pieces may be wrong, never
    too few, and nothing is ever allowed because of them.
    """
    text = join_lines(command) if "\\\n" in command else command
    cut = text.encode("utf-8", "surrogatepass").translate(_ROUGH, _NOISE).decode("utf-8", "surrogatepass")
    return tuple(filter(None, (" ".join(piece.split()) for piece in dict.fromkeys(cut.split("\n")))))


class Building:
    """One word while its pieces are read."""

    __slots__ = ("glob", "head", "prefix", "secret", "single", "split", "static")

    def __init__(self) -> None:
        self.prefix = ""
        self.static = True
        self.split = False
        self.glob = False
        self.secret = False
        self.single = False
        self.head = True

    def add(self, text: str) -> None:
        """Append text that is passed as it stands."""
        if self.static:
            self.prefix += text

    def dynamic(self, *, may_be_flag: bool = True) -> None:
        """Append a piece whose text is not known."""
        if self.static:
            self.static = False
            self.head = may_be_flag

    def word(self) -> Word:
        """Finish."""
        text = utf8(self.prefix)
        flag = self.split or (text.startswith("-") if text else self.head and not (self.static and not self.glob))
        static, whole = self.static and not self.glob, not (self.static or self.split or self.glob)
        return Word(text, static, flag, self.glob, self.secret, single=self.single, whole=whole)
