"""A look at the analysis itself before it is trusted: on this Python, are a few texts judged as they must be?"""

import logging
from typing import TYPE_CHECKING, Final

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.shell.words.braces import brace_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.permissions.shell.text.analysis import Analysis

__all__ = ["UNSOUND", "distrusted", "is_sound"]

UNSOUND: Final = "the shell analysis gives wrong answers on this Python, so nothing counts as read-only"
_KNOWN: Final = (
    ("ls -la src", True, ("ls",)),
    ("git log --oneline -5 2>/dev/null | head -3; echo 'a; b'", True, ("git", "head", "echo")),
    ("awk '{ print $1, $2 }' x | sort -u", True, ("awk", "sort")),
    ('for f in a b; do wc -l "$f"; done', True, ("wc",)),
    ('echo ${x#a"} "} ; ./evil #"', False, None),
    ("cat x 22>y", False, ("cat",)),
    ("ls | sort | head\nrm x 2>y", False, ("ls", "sort", "head", "rm")),
    ("php -r 'echo 1;'", False, ("php",)),
    ("echo $(rm x)", False, None),
    ("cat <<E\n$(rm x)\nE", False, None),
)
"""Texts, whether each only reads, and which programs it runs where that is certain."""
_NAMES: Final = ((".env", ".e*v", True), (".env", "*x*.env", False), ("abab", "a*b*b", True), ("b", "[!a]", True))
_log = logging.getLogger(__name__)
_sound: bool | None = None


def is_sound(read: "Callable[[str, str | None], Analysis]") -> bool:
    """Whether the known texts get their answers; looked at once, and told once when they do not.

    Args:
        read: the analysis of a text that starts in a directory.
    """
    global _sound  # noqa: PLW0603 - one look for the whole process
    if _sound is None:
        _sound = _answers(read)
        if not _sound:
            _log.warning("%s; every command is asked about. Install a newer Python.", UNSOUND)
    return _sound


def _answers(read: "Callable[[str, str | None], Analysis]") -> bool:
    try:
        for text, read_only, programs in _KNOWN:
            found = read(text, None)
            if found.read_only is not read_only or (programs is not None and found.names != programs):
                return False
        names = all(fnmatchcase(name, pattern) is fits for name, pattern, fits in _NAMES)
    except Exception:  # noqa: BLE001 - an interpreter that fails here fails elsewhere too: nothing of it is trusted
        return False
    return names and brace_words("{x}b,.env}") == ["x}b", ".env"]


def distrusted(found: "Analysis") -> "Analysis":
    """The same analysis with nothing in it that counts as read-only."""
    parts = tuple([part._replace(refusal=part.refusal or UNSOUND) for part in found.parts])
    return found._replace(read_only=False, reason=found.reason or UNSOUND, parts=parts)
