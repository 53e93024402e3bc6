"""The grammar of git's configuration files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = " \t\r"
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}


class ConfigUnreadableError(ValueError):
    """A configuration that git might read differently from us."""


def parse_config(text: str) -> "Iterator[tuple[str, str]]":
    """Yield (key, value) pairs; section and last part in lower case, a key without `=` has the value `true`."""
    if "\0" in text:  # git would read a name only up to there: `[diff "x.textconv<NUL>"]` holds diff.x.textconv
        raise ConfigUnreadableError("it holds a NUL character")
    reader = _Reader(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    section = ""
    while True:
        reader.skip_blank()
        letter = reader.peek()
        if not letter:
            return
        if letter == "[":
            section = reader.section()
        elif letter.isascii() and letter.isalpha():
            name = reader.name().lower()
            if not section:
                raise ConfigUnreadableError(f"line {reader.line()}: a setting outside any section")
            yield f"{section}.{name}", reader.value()
        else:
            raise ConfigUnreadableError(f"line {reader.line()}: {letter!r} is not understood")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip_blank(self) -> None:
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in "#;":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif letter in _SPACE or letter == "\n":
                self.at += 1
            else:
                return

    def section(self) -> str:
        """Read `[name]` or `[name "sub"]`."""
        self.at += 1
        start = self.at
        while self.peek() and (self.peek().isalnum() or self.peek() in "-."):
            self.at += 1
        name = self.text[start : self.at].lower()
        if self.peek() == "]":
            self.at += 1
            return self.checked(name)
        while self.peek() and self.peek() in _SPACE:
            self.at += 1
        if self.peek() != '"':
            raise ConfigUnreadableError(f"line {self.line()}: a section header is broken")
        self.at += 1
        sub = self.subsection()
        return self.checked(name) + "." + sub

    def checked(self, name: str) -> str:
        if not name or not name.isascii():
            raise ConfigUnreadableError(f"line {self.line()}: a section header is broken")
        return name

    def subsection(self) -> str:
        found: list[str] = []
        while True:
            letter = self.peek()
            if not letter or letter == "\n":
                raise ConfigUnreadableError(f"line {self.line()}: a section header is broken")
            self.at += 1
            if letter == '"':
                break
            if letter == "\\":
                letter = self.peek()
                self.at += 1
            found.append(letter)
        if self.peek() != "]":
            raise ConfigUnreadableError(f"line {self.line()}: a section header is broken")
        self.at += 1
        return "".join(found)

    def name(self) -> str:
        start = self.at
        while self.peek() and (self.peek().isalnum() or self.peek() == "-"):
            self.at += 1
        return self.text[start : self.at]

    def value(self) -> str:
        while self.peek() and self.peek() in _SPACE:
            self.at += 1
        if self.peek() in ("", "\n", "#", ";"):
            return "true"
        if self.peek() != "=":
            raise ConfigUnreadableError(f"line {self.line()}: {self.peek()!r} after a name")
        self.at += 1
        return self.text_value()

    def text_value(self) -> str:
        found: list[str] = []
        quoted, length = False, 0  # blanks at the end do not belong to the value, unless they were quoted
        while True:
            letter = self.peek()
            self.at += 1
            if letter in ("", "\n"):
                break
            if letter in _SPACE and not quoted:
                found.extend(letter if found else "")
                continue
            if letter == "\\":
                found.extend(self.escape())  # nothing for the end of a line
            elif letter == '"':
                quoted = not quoted
            elif letter in "#;" and not quoted:
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end + 1
                break
            else:
                found.append(letter)
            length = len(found)
        if quoted:
            raise ConfigUnreadableError(f"line {self.line()}: a quoted value has no end")
        return "".join(found[:length])

    def escape(self) -> str:
        letter = self.peek()
        self.at += 1
        if letter == "\n":
            return ""
        if letter not in _ESCAPES:
            raise ConfigUnreadableError(f"line {self.line()}: escape {letter!r} is not understood")
        return _ESCAPES[letter]
