"""Where a search happens: a directory held by its handle, and how its names look from the working directory."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager

import msgspec

from holdfast.contract import ArgumentsInvalid, ToolFailed
from holdfast.host.ripgrep import Searched
from holdfast.lib.handles import directory_handle
from holdfast.lib.names import show_name

_MAX_ARGUMENT_BYTES = 100_000
_NAMED_UNREAD = 3
_NAME_CHARS = 200


class Place(msgspec.Struct, frozen=True):
    """A directory to search, or one file in it."""

    handle: int
    directory: str
    operand: str
    """What to search, relative to the directory."""
    prefix: str
    """What to put before a name found there to see it from the working directory."""

    def shown(self, name: str) -> str:
        """Return a found name as it looks from the working directory."""
        return show_name(self.prefix + name)

    def absolute(self, name: str) -> str:
        """Return the full path of a found name."""
        return f"{self.directory.rstrip('/')}/{name}"


def check_argument(text: str) -> None:
    """Refuse text that no program can be given.

    Raises:
        ArgumentsInvalid: It is too long, or holds a NUL or a lone surrogate.
    """
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise ArgumentsInvalid("the text holds a lone surrogate, which no file contains") from error
    if b"\0" in encoded:
        raise ArgumentsInvalid("the text holds a NUL character, which cannot be searched for")
    if len(encoded) > _MAX_ARGUMENT_BYTES:
        raise ArgumentsInvalid(
            f"the text has {len(encoded):,} bytes; at most {_MAX_ARGUMENT_BYTES:,} can be searched for"
        )


@contextmanager
def searched(real: str, shown_as: str, cwd: str, *, only_directory: bool = False) -> Generator[Place]:
    """Hold the directory of a judged place; a file is searched from its parent.

    Raises:
        ToolFailed: With code 1 if it is not there, or is neither a file nor a directory.
    """
    is_file = os.path.isfile(real) and not only_directory
    directory, operand = os.path.split(real) if is_file else (real, ".")
    try:
        with directory_handle(directory) as handle:
            operand = operand if operand == "." else f"./{operand}"
            yield Place(handle, directory, operand, _prefix(directory, os.path.realpath(cwd)))
    except FileNotFoundError as error:
        raise ToolFailed(f"there is no {shown_as!r}; give an existing path", error_code=1) from error
    except NotADirectoryError as error:
        raise ToolFailed(f"{shown_as!r} is not a directory; give one in `path`", error_code=1) from error
    except OSError as error:
        raise ToolFailed(f"cannot search {shown_as!r}: {error.strerror or error}") from error


def unread_note(
    went: Searched, place: Place, *, hidden: Callable[[str], bool] | None, shown_as: str
) -> tuple[str, ...]:
    """A line about the places that could not be read, if there are some; what is hidden is counted, not named.

    Raises:
        ToolFailed: What should be searched could itself not be read.
    """
    if not went.unread:
        return ()
    told: list[str] = []
    for name, words in went.unread:
        if name == place.operand:
            raise ToolFailed(f"cannot search {shown_as!r}: {words}")
        found = name.removeprefix("./")
        if len(told) < _NAMED_UNREAD and not (hidden is not None and hidden(place.absolute(found))):
            told.append(f"{_short(place.shown(found))}: {words}")
    count = went.unread_count
    more = ["…"] if count > len(told) else []
    places = "1 place" if count == 1 else f"{count:,} places"
    return (f"[{places} could not be read: {'; '.join([*told, *more])}]",)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"


def _prefix(directory: str, cwd: str) -> str:
    if directory == cwd:
        return ""
    inside = cwd.rstrip("/") + "/"
    return directory[len(inside) :] + "/" if directory.startswith(inside) else directory.rstrip("/") + "/"
