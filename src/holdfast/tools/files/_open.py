"""Open a file that a call is about, or say in helpful words why it cannot be opened."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager

from holdfast.contract import ToolFailed
from holdfast.lib.handles import NotRegularFileError, regular_file

Hidden = Callable[[str], bool]
"""Says whether a deny rule for Read hides a path from the caller."""

_MAX_SIBLINGS = 5_000


@contextmanager
def opened(real: str, shown_as: str, hidden: Hidden | None = None) -> Generator[int]:
    """Yield a read handle on a regular file at a judged place.

    Raises:
        ToolFailed: With code 1 if there is no such file, without a code if it is something else or not readable.
    """
    try:
        with regular_file(real) as handle:
            yield handle
    except FileNotFoundError as error:
        raise ToolFailed(_missing(real, shown_as, hidden), error_code=1) from error
    except NotRegularFileError as error:
        raise ToolFailed(_not_a_file(shown_as, error.kind)) from error
    except OSError as error:
        raise ToolFailed(f"cannot read {shown_as!r}: {error.strerror or error}") from error


def _missing(real: str, shown_as: str, hidden: Hidden | None) -> str:
    directory, name = os.path.split(real)
    names: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) == _MAX_SIBLINGS:
                    break
    except OSError:
        return f"there is no file {shown_as!r}, nor its directory; look for it with Glob"
    from difflib import get_close_matches  # noqa: PLC0415 - only for a name that is not there

    near = [
        near
        for near in get_close_matches(name, names, n=4)
        if hidden is None or not hidden(os.path.join(directory, near))
    ]
    if near:
        return f"there is no file {shown_as!r}; beside it there is {', '.join(map(repr, near[:3]))}"
    return f"there is no file {shown_as!r}; look for it with Glob"


def _not_a_file(shown_as: str, kind: str) -> str:
    if kind == "a directory":
        return f"{shown_as!r} is a directory; list what is in it with Glob, then Read a file"
    if kind == "a symbolic link":
        return f"{shown_as!r} became a symbolic link while it was being checked; try again"
    return f"{shown_as!r} is {kind}: reading it could wait forever, so only regular files are read"
