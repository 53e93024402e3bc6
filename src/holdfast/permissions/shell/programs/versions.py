"""Questions for a version, word for word. Anything beyond the exact form is another question."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.facts import CommandFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.permissions.shell.words.word import Word

_LONG = ("--version",)
_SHORT_V = ("--version", "-v")
_SHORT_UPPER = ("--version", "-V")

VERSION_QUERIES: "Mapping[str, Sequence[str]]" = {
    "python": _SHORT_UPPER,
    "python2": _SHORT_UPPER,
    "python3": _SHORT_UPPER,
    **{f"python3.{minor}": _SHORT_UPPER for minor in range(8, 16)},
    "pip": _SHORT_UPPER,
    "pip3": _SHORT_UPPER,
    "node": _SHORT_V,
    "nodejs": _SHORT_V,
    "npm": _SHORT_V,
    "deno": _SHORT_UPPER,
    "bun": _SHORT_V,
    "go": ("version",),
    "cargo": ("--version", "-V", "version"),
    "rustc": ("--version", "-V"),
    "java": ("-version", "--version"),
    "javac": ("-version", "--version"),
    "gcc": ("--version", "-v", "-dumpversion", "-dumpmachine"),
    "g++": ("--version", "-v", "-dumpversion", "-dumpmachine"),
    "cc": ("--version",),
    "c++": ("--version",),
    "clang": ("--version", "-v"),
    "clang++": ("--version", "-v"),
    "ld": ("--version", "-v"),
    "make": _SHORT_V,
    "gmake": _SHORT_V,
    "cmake": _LONG,
    "ninja": _LONG,
    "ruby": _SHORT_V,
    "perl": _SHORT_V,
    "php": _SHORT_V,
    "lua": ("-v",),
    "uv": _SHORT_UPPER,
    "ruff": _SHORT_UPPER,
    "docker": _SHORT_V,
    "podman": _SHORT_V,
    "curl": _SHORT_UPPER,
    "wget": _SHORT_UPPER,
    "ssh": ("-V",),
    "rsync": _SHORT_UPPER,
    "openssl": ("version", "version -a"),
    "sqlite3": ("--version", "-version"),
    "psql": _SHORT_UPPER,
    "mysql": _SHORT_UPPER,
    "redis-cli": _SHORT_V,
    "redis-server": _SHORT_V,
    "nginx": ("-v", "-V"),
    "bash": _LONG,
    "zsh": _LONG,
    "fish": _SHORT_V,
    "vim": _LONG,
    "nvim": _SHORT_V,
    "nano": _SHORT_UPPER,
    "emacs": _LONG,
    "less": _SHORT_UPPER,
    "man": _SHORT_UPPER,
    "tmux": ("-V",),
    "ffmpeg": ("-version",),
    "gpg": _LONG,
    "strace": _SHORT_UPPER,
    "gdb": _SHORT_V,
    "systemctl": _LONG,
    "gzip": _SHORT_UPPER,
    "xz": _SHORT_UPPER,
    "zstd": _SHORT_UPPER,
    "zip": _SHORT_V,
    "patch": _SHORT_V,
    "rustfmt": _SHORT_UPPER,
    "protoc": _LONG,
    "autoconf": _SHORT_UPPER,
    "automake": _LONG,
    "pkg-config": _LONG,
    "bwrap": _LONG,
    "lua5.4": ("-v",),
    "ldd": _LONG,
    "as": _LONG,
    "pandoc": _SHORT_V,
    "htop": _SHORT_UPPER,
    "bat": _SHORT_UPPER,
    "shellcheck": _SHORT_UPPER,
    "clang-format": _LONG,
    "clang-tidy": _LONG,
    "ghc": _SHORT_UPPER,
    "R": _LONG,
    "julia": _SHORT_V,
    "zig": ("version",),
}
"""Program to the argument texts that only print its version."""


def inspect_version(name: str, args: "Sequence[Word]") -> CommandFacts | None:
    """Return the facts of an exact version query, or None when this is something else."""
    forms = VERSION_QUERIES.get(name)
    if not forms or not args or not all(word.static for word in args):
        return None
    if " ".join(word.text for word in args) in forms:
        return CommandFacts(None, kind="version")
    return None
