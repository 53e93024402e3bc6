"""A command that only shows one file counts as reading it: Edit is allowed afterwards."""

import os
from typing import NamedTuple

from holdfast.contract import FileRead, FileStamp, ToolContext
from holdfast.lib.handles import regular_file
from holdfast.lib.resolve import resolve_path
from holdfast.lib.stamp import Stamp, hash_fd
from holdfast.permissions.shell.text.analysis import Analysis

__all__ = ["ShownFile"]

_LIMIT_BYTES = 8 << 20
_SHOWS_ALL = frozenset({"cat", "nl", "tac"})


class ShownFile(NamedTuple):
    """The file before the command ran."""

    path: str
    stamp: Stamp
    shows_all: bool

    @classmethod
    def of(cls, analysis: Analysis, ctx: ToolContext) -> "ShownFile | None":
        """The one regular file that the command would show."""
        name = analysis.single_file_read
        if name is None:
            return None
        try:
            resolved = resolve_path(str(ctx.resolve(name)))
            if resolved.kernel is not None:
                return None
            with regular_file(resolved.path) as handle:
                found = os.fstat(handle)
        except (OSError, UnicodeEncodeError):
            return None
        if found.st_size > _LIMIT_BYTES:
            return None
        part = analysis.parts[0]
        plain = part.name in _SHOWS_ALL and not analysis.redirects
        return cls(resolved.path, Stamp.of(found), plain)

    def read(self, ctx: ToolContext, *, whole_output: bool) -> tuple[FileRead, ...]:
        """What the model has seen, if the file stayed the same while the command ran."""
        try:
            with regular_file(self.path) as handle:
                found = os.fstat(handle)
                if not self.stamp.same_state(found):
                    return ()
                digest = hash_fd(handle)
        except OSError:
            return ()
        known = ctx.file_reads.get(self.path)
        if known is not None and known.whole and known.sha256 == digest:
            return ()  # the model has seen all of it already
        whole = self.shows_all and whole_output
        stamp = FileStamp(
            found.st_dev,
            found.st_ino,
            found.st_size,
            found.st_mtime_ns,
            digest if whole else "",
            whole,
            ctime_ns=found.st_ctime_ns,
            content_sha256=digest,
            shown=(0, found.st_size) if whole else (0, 0),
        )
        return (FileRead(self.path, stamp),)
