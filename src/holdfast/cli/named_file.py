"""A file on the command line that is read line by line: `-` is standard input, a pipe without a writer is an error."""

from typing import IO, Any

import click

from holdfast.lib.guarded_read import open_named

__all__ = ["NamedFile"]


class NamedFile(click.File):
    """Like click's own type for bytes, but never waits for a writer that does not come, and opens no device."""

    def __init__(self) -> None:
        super().__init__("rb")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> IO[Any]:
        """The open file; wrong use is told as click does."""
        if value == "-" or not isinstance(value, str):
            return super().convert(value, param, ctx)
        try:
            file = open_named(value)
            if ctx is not None:
                ctx.call_on_close(file.close)
            file.peek(1)  # whether a pipe has a writer shows when it is read
        except (OSError, ValueError) as error:  # ValueError: a path that no file can have
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            self.fail(f"{value!r}: {reason}", param, ctx)
        return file
