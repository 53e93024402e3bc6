"""Long text and pictures that were pasted: a few words stand for them in the input line until it is sent."""

import os
import re
from typing import NamedTuple

__all__ = ["Attachments", "Expanded"]

_LONG_CHARS = 1_000
_LONG_LINES = 8
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_MARK = re.compile(r"\[(?:Pasted text|Picture) #(\d+)[^\]\n]{0,60}\]")


class Expanded(NamedTuple):
    """A line as it is sent."""

    text: str
    files: tuple[str, ...]
    """Pictures that go with it."""


class Attachments:
    """What the words in the line stand for; numbers are never used twice in a session."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._files: dict[int, str] = {}
        self._count = 0

    def paste(self, text: str) -> str:
        """What is put into the line for a pasted text: itself, if it is short."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        path = _picture_path(text)
        if path is not None:
            return self.picture(path)
        lines = text.count("\n") + 1
        if len(text) <= _LONG_CHARS and lines <= _LONG_LINES:
            return text
        self._count += 1
        self._texts[self._count] = text
        size = f"{lines} lines" if lines > 1 else f"{len(text):,} characters"
        return f"[Pasted text #{self._count}, {size}]"

    def picture(self, path: str) -> str:
        """What stands for a picture in a file."""
        self._count += 1
        self._files[self._count] = path
        return f"[Picture #{self._count}]"

    def expand(self, line: str) -> Expanded:
        """The line with the pasted texts in their places, and the pictures that it names."""
        files: list[str] = []

        def whole(found: re.Match[str]) -> str:
            number = int(found[1])
            if number in self._files:
                files.append(self._files[number])
            return self._texts.get(number, found[0])

        return Expanded(_MARK.sub(whole, line), tuple(dict.fromkeys(files)))


def _picture_path(text: str) -> str | None:
    """A file that was dropped onto the terminal, which types its path."""
    path = text.strip().strip("'\"").replace("\\ ", " ")
    if not path.lower().endswith(_PICTURES) or "\n" in path or len(path) > 4_096:
        return None
    path = os.path.expanduser(path.removeprefix("file://"))
    return path if os.path.isabs(path) and os.path.isfile(path) else None
