"""What the disk tells about a text that its words do not prove to read, and what chooses the programs it starts.

`cd src && git status` may run what a repository in `src` is configured to run. Where the disk shows that `src` is a
part of the repository at the start, it is judged like `git status`. `cargo --version` starts whatever
`rust-toolchain.toml` names when cargo is the stand-in of rustup; a stand-in of asdf does the same with a `path:` in
`.tool-versions`, one of jenv takes options from `.java-options`, and `tar tf x.tar` starts a decompressor when the file
is compressed, whatever its name. Files are read, nothing runs (law L9).
"""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.permissions.paths import and_above
from holdfast.permissions.shell.programs.inspect import HERE
from holdfast.permissions.shell.programs.program import family, words_told
from holdfast.permissions.shell.programs.runners import GIT_MOVES
from holdfast.permissions.shell.text.analysis import Analysis, analyse
from holdfast.permissions.shell.words.parts import SHELL_CWD

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
    for here in and_above(os.path.realpath(directory)):
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        if os.path.lexists(os.path.join(here, "HEAD")):
            return None
    return _NO_REPOSITORY


_FILES: Final = words_told("chosen-by")
"""Files that choose a program by being there."""
_TAR_MARK: Final = (257, b"ustar")
_MARKED: Final = ((".tool-versions", "path:"), (".java-version", "/"))
"""Files that choose a program when they hold this text."""
_LONGEST_FILE: Final = 100_000


def toolchain_refusal(analysis: "Analysis", cwd: str) -> str | None:
    """Return why a version query or a listing in this text must not run unasked in this directory, or None."""
    for part in analysis.parts:
        if part.kind != "version" and family(part.name) != "tar":
            continue
        if part.cwds is None:
            return f"what {part.name} starts may be chosen by a directory that is not known"
        for directory in part.cwds:
            place = cwd if directory == SHELL_CWD else os.path.join(cwd, directory)
            reason = _compressed(part.reads, place) if family(part.name) == "tar" else _chosen_by(part.name, place)
            if reason is not None:
                return reason
    return None


def _compressed(names: "Sequence[str]", directory: str) -> str | None:
    """Say which archive is not a plain one, or None; a missing one starts nothing."""
    at, mark = _TAR_MARK
    for name in names:
        path = os.path.join(directory, name)
        if not os.path.lexists(path):
            continue
        try:
            # A FIFO would wait for a writer.
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                plain = file.read(at + len(mark))[at:] == mark
        except OSError:
            plain = False
        if not plain:
            return f"{path!r} is not a plain archive, tar may start a decompressor"
    return None


def _chosen_by(name: str, directory: str) -> str | None:
    for here in and_above(os.path.realpath(directory)):
        for file in sorted(_FILES.get(name, ())):
            if os.path.lexists(os.path.join(here, file)):
                return f"{os.path.join(here, file)!r} chooses which {name} runs"
        for file, mark in _MARKED:
            path = os.path.join(here, file)
            if os.path.lexists(path) and _names_a_path(path, mark):
                return f"{path!r} chooses which {name} runs"
    return None


def _names_a_path(path: str, mark: str) -> bool:
    """Whether the file may name a program by its path; what cannot be read may."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_FILE:
            return True
        with open(path, encoding="utf-8", errors="replace") as file:
            return mark in file.read()
    except OSError:
        return True
