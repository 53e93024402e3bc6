"""What the disk tells about a text that is not proven to read by its words alone: which repository git would find.

`cd src && git status` may run what a repository in `src` is configured to run. Where the disk shows that `src` is a
part of the repository at the start, it is judged like `git status`. The verdict on the text alone stays what it is.
"""

import os
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.inspect import HERE
from holdfast.permissions.shell.programs.runners import GIT_MOVES
from holdfast.permissions.shell.text.analysis import Analysis, analyse
from holdfast.permissions.shell.words.parts import SHELL_CWD

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["may_be_known_here", "with_facts"]

_NAMES: Final = frozenset(name.partition(" ")[0] for name in HERE)
_NO_REPOSITORY: Final = ""


def with_facts(analysis: Analysis, cwd: str) -> Analysis:
    """The same text that would start in this directory, judged with what the disk says about it.

    Only a verdict that it reads is taken over: everything else goes by the text alone.
    """
    if not may_be_known_here(analysis):
        return analysis
    known = analyse(analysis.command, cwd=cwd, here=frozenset(_same_repository(analysis, cwd)))
    return known if known.read_only else analysis


def may_be_known_here(analysis: Analysis) -> bool:
    """Whether the disk may show that a text only reads; what writes or is not understood stays as it is."""
    if analysis.read_only or analysis.doubt or analysis.redirect_writes:
        return False
    if not _NAMES.isdisjoint(analysis.names):
        return True
    moves = analysis.moves or any(part.refusal == GIT_MOVES for part in analysis.parts)
    return moves and "git" in analysis.names


def _same_repository(analysis: Analysis, cwd: str) -> "Iterator[str]":
    """The directories in which git would find the repository that it finds at the start."""
    yield SHELL_CWD
    start = os.path.realpath(cwd)
    home = _repository(start)
    for directory in {place for part in analysis.parts if part.name == "git" for place in part.cwds or ()}:
        path = os.path.join(start, directory)
        # Neither a link nor `..` behind one: the shell and the kernel then mean the same directory.
        is_plain = os.path.isdir(path) and os.path.realpath(path) == os.path.normpath(path)
        if is_plain and home is not None and _repository(path) == home:
            yield directory


def _repository(directory: str) -> str | None:
    """The directory whose `.git` git comes to first, "" without one; None where a bare repository may be on the way."""
    here = os.path.realpath(directory)
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        if os.path.lexists(os.path.join(here, "HEAD")):
            return None
        above = os.path.dirname(here)
        if above == here:
            return _NO_REPOSITORY
        here = above
