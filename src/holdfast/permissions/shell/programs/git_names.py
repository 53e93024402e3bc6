"""How git words name files: `REV:path`, `:2:path`, `:/path`, `:(magic)path`."""

import re
from collections.abc import Iterator

EXCLUDES = (":!", ":^", ":(exclude")
"""How a path starts that is left out."""
_SIGNATURE = re.compile(r"%[-+ ]?G|signature")


def starts_gpg(form: str) -> bool:
    """Whether a format asks for a signature: `%G?`, also with the sign that `%+G?` may hold, or `%(signature)`."""
    return _SIGNATURE.search(form) is not None


def behind_colons(word: str) -> Iterator[str]:
    """What may be the path in a word with colons; a revision may hold colons itself."""
    if ":" not in word or word.startswith(EXCLUDES):
        return
    if word.startswith(":("):
        yield word.partition(")")[2]
        return
    at = word.find(":")
    while at >= 0:
        path = word[at + 1 :].removeprefix("/") if at == 0 else word[at + 1 :]
        if path:
            yield path
        at = word.find(":", at + 1)
