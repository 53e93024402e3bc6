"""Does the project choose the program behind a version query? Read from files, the program itself never runs.

`cargo --version` starts whatever `rust-toolchain.toml` names when cargo is the stand-in of rustup, and fetches it when
it is missing; a stand-in of asdf does the same with a `path:` in `.tool-versions` (law L9).
"""

import os
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.parts import SHELL_CWD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.permissions.shell.analysis import Analysis

_RUST: Final = frozenset({"cargo", "rustc", "rustfmt"})
_RUST_FILES: Final = ("rust-toolchain", "rust-toolchain.toml")
_ANY_FILE: Final = ".tool-versions"
_LONGEST_FILE: Final = 100_000


def toolchain_refusal(analysis: "Analysis", cwd: str) -> str | None:
    """Return why the version queries in this text must not run unasked in this directory, or None."""
    for part in analysis.parts:
        if part.kind != "version":
            continue
        if part.cwds is None:
            return f"{part.name} may be chosen by a directory that is not known"
        for directory in part.cwds:
            place = cwd if directory == SHELL_CWD else os.path.join(cwd, directory)
            if reason := _chosen_by(part.name, place):
                return reason
    return None


def _chosen_by(name: str, directory: str) -> str | None:
    for here in _and_above(os.path.realpath(directory)):
        for file in _RUST_FILES if name in _RUST else ():
            if os.path.lexists(os.path.join(here, file)):
                return f"{os.path.join(here, file)!r} chooses which {name} runs"
        path = os.path.join(here, _ANY_FILE)
        if os.path.lexists(path) and _names_a_path(path):
            return f"{path!r} chooses which {name} runs"
    return None


def _and_above(directory: str) -> "Iterator[str]":
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _names_a_path(path: str) -> bool:
    """Whether the file may name a program by its path; what cannot be read may."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_FILE:
            return True
        with open(path, encoding="utf-8", errors="replace") as file:
            return "path:" in file.read()
    except OSError:
        return True
