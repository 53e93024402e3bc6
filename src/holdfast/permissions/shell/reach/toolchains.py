"""Do files of the project choose a program that a harmless command starts? Read from them, nothing runs (law L9).

`cargo --version` starts whatever `rust-toolchain.toml` names when cargo is the stand-in of rustup, and fetches it when
it is missing; a stand-in of asdf does the same with a `path:` in `.tool-versions`, one of jenv takes options from
`.java-options`. `tar tf x.tar` starts a decompressor when the file is compressed, whatever its name.
"""

import os
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.program import family, words_told
from holdfast.permissions.shell.words.parts import SHELL_CWD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.permissions.shell.text.analysis import Analysis

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
    for here in _and_above(os.path.realpath(directory)):
        for file in sorted(_FILES.get(name, ())):
            if os.path.lexists(os.path.join(here, file)):
                return f"{os.path.join(here, file)!r} chooses which {name} runs"
        for file, mark in _MARKED:
            path = os.path.join(here, file)
            if os.path.lexists(path) and _names_a_path(path, mark):
                return f"{path!r} chooses which {name} runs"
    return None


def _and_above(directory: str) -> "Iterator[str]":
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _names_a_path(path: str, mark: str) -> bool:
    """Whether the file may name a program by its path; what cannot be read may."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_FILE:
            return True
        with open(path, encoding="utf-8", errors="replace") as file:
            return mark in file.read()
    except OSError:
        return True
