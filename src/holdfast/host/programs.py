"""Where the programs are that we start ourselves: never one that the project or a relative PATH entry brings along.

The folder we work in may hold a `git` or `rg` of its own, and PATH may lead there: by a relative or empty entry, by
`node_modules/.bin`, by an activated environment. What the user runs by name is the user's choice; what we run unasked
comes from elsewhere.
"""

import os
import sys
from collections.abc import Iterable, Mapping

__all__ = ["current_folder", "find_program", "own_places", "own_programs", "paths_outside"]

# Even where somebody works in `/` itself, these are the system's and not the project's.
_SYSTEM = frozenset(
    ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin")
)


def find_program(name: str, *, outside: Iterable[str], path: str | None = None) -> str | None:
    """The first program of this name in an absolute PATH entry outside some directories; None when there is none.

    Args:
        name: The program's name, without a directory.
        outside: The directories that do not count: where we work. Neither the entry nor the program may lead there.
        path: What to look through; our own PATH when omitted.
    """
    places = _roots(outside)
    for entry in paths_outside(places, _own_path() if path is None else path):
        candidate = os.path.join(entry, name)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            real = os.path.realpath(candidate)
            if os.path.dirname(real) in _SYSTEM or not _is_below(real, places):
                return candidate
    return None


def paths_outside(outside: Iterable[str], path: str, *, but: str = "") -> list[str]:
    """The absolute entries of a PATH that neither lie in one of these directories nor lead into one.

    Args:
        outside: The directories that do not count.
        path: What to look through.
        but: An entry that counts wherever it lies.
    """
    places = _roots(outside)
    entries = path.split(os.pathsep)
    return [entry for entry in entries if os.path.isabs(entry) and (entry == but or _counts(entry, places))]


def current_folder() -> tuple[str, ...]:
    """Where this process stands, as directories that do not count; none when that directory is gone."""
    try:
        return (os.getcwd(),)
    except FileNotFoundError:
        return ()


def own_programs() -> str:
    """Where the programs of this Python lie; they are protected as we are (see `own_places`)."""
    return os.path.dirname(sys.executable)


def own_places(environ: Mapping[str, str] | None = None) -> list[str]:
    """What we ourselves run from: our package, the environment or the programs of this Python, the chosen ripgrep."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # All of a virtual environment is loaded by us sooner or later; a system's Python brings only its programs.
    own = sys.prefix if sys.prefix != sys.base_prefix else own_programs()
    named = (os.environ if environ is None else environ).get("HOLDFAST_RG")
    return [package, own, *([named] if named and os.path.isabs(named) else [])]


def _own_path() -> str:
    return os.environ.get("PATH") or os.defpath


def _roots(directories: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(form for place in directories for form in (os.path.normpath(place), _real(place))))


def _real(path: str) -> str:
    return os.path.realpath(path)


def _counts(entry: str, roots: tuple[str, ...]) -> bool:
    real = _real(entry)
    if real in _SYSTEM:
        return real not in roots
    return not _is_below(real, roots) and not _is_below(os.path.normpath(entry), roots)


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root if root.endswith("/") else f"{root}/") for root in roots)
