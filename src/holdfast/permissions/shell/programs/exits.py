"""Exit codes that are answers, not failures."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.permissions.shell.words.word import Word

_NO_MATCHES = "no matches"
_DIFFERENT = "files differ"
_FALSE = "the condition is false"

MEANINGS: "Mapping[tuple[str, int], str]" = {
    **{(name, 1): _NO_MATCHES for name in ("grep", "egrep", "fgrep", "rg", "ag", "pgrep", "pidof")},
    ("diff", 1): _DIFFERENT,
    ("cmp", 1): _DIFFERENT,
    ("diff3", 1): "the files conflict",
    ("test", 1): _FALSE,
    ("[", 1): _FALSE,
    ("[[", 1): _FALSE,
    ("find", 1): "some directories could not be read",
    ("which", 1): "not found",
    ("command", 1): "not found",
    ("type", 1): "not found",
    ("expr", 1): "the result is empty or zero",
    ("mountpoint", 1): "not a mount point",
    ("printenv", 1): "the variable is not set",
}
"""Program and exit code to its plain meaning."""

GIT_MEANINGS: "Mapping[str, str]" = {
    "diff": _DIFFERENT,
    "diff-index": _DIFFERENT,
    "diff-files": _DIFFERENT,
    "diff-tree": _DIFFERENT,
    "grep": _NO_MATCHES,
    "merge-base": _FALSE,
    "check-ignore": "not ignored",
    "show-ref": _NO_MATCHES,
    "rev-parse": "no such object",
    "config": "the key is not set",
    "symbolic-ref": "not a symbolic reference",
}
"""git subcommand to what exit code 1 says."""


def exit_meaning(name: str, args: "Sequence[Word]", code: int) -> str | None:
    """Return what an exit code other than 0 says when it is no failure, or None."""
    if name != "git":
        return MEANINGS.get((name, code))
    if code != 1:
        return None
    subcommand = next((word.text for word in args if word.static and not word.text.startswith("-")), "")
    return GIT_MEANINGS.get(subcommand)
