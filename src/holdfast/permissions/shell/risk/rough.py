"""A rough look for removals in text that the analysis did not follow to its end: words anywhere, in linear time."""

import re
from typing import Final

from holdfast.permissions.shell.programs.program import having

_QUOTING: Final = b"'\"\\"
_NAMES: Final = (
    *sorted(having("deletes"), key=len),
    *("wipe", "wipefs", "mkfs", "-delete", "--delete", "removedirs", "rmtree", "remove_tree", "rm_r", "rm_rf"),
    *("rmSync", "rmdirSync", "unlinkSync"),
)
_FOLLOWED: Final = {"del": rb"(?=\s+[-/~.$*{])"}  # it is a word of programming languages too
_LOOKS: Final = tuple(
    # The name first: a pattern that begins with letters is searched for many times as fast.
    (name.encode(), re.compile(b"%b(?<![\\w-]%b)(?![\\w-])%b" % (*(name.encode(),) * 2, _FOLLOWED.get(name, b""))))
    for name in _NAMES
)
_GIT: Final = re.compile(rb"git(?<![\w-]git)(?![\w-])|clean(?<![\w-]clean)(?![\w-])")
_GIT_OPTIONS: Final = 300
"""How far in front of `clean` the `git` may stand."""


def rough_removal(command: str) -> str | None:
    """Give a word of the text that may remove files, wherever and however quoted it stands, or None.

    For text of which nobody knows what it runs: the answer may be wrong, and nothing is allowed because of it.
    """
    data = command.encode("utf-8", "surrogatepass")
    found = _removal_in(data.translate(None, _QUOTING))
    if found is None and b"\\\n" in data:  # a line that goes on may be one word, or end in an escaped backslash
        found = _removal_in(data.replace(b"\\\n", b"").translate(None, _QUOTING))
    return found


def _removal_in(plain: bytes) -> str | None:
    for name, word in _LOOKS:
        if name in plain and word.search(plain):
            return name.decode()
    return "git clean" if b"git" in plain and b"clean" in plain and _cleans(plain) else None


def _cleans(plain: bytes) -> bool:
    git = -_GIT_OPTIONS
    for found in _GIT.finditer(plain):
        if found.group() == b"git":
            git = found.end()
        elif found.start() - git < _GIT_OPTIONS:
            return True
    return False
