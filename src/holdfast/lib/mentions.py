"""What a person's text names by `@`: a file, a directory, or what a server holds."""

import re
from collections.abc import Iterator

__all__ = ["names_behind_at"]

_AT = re.compile(r'(?:^|(?<=[\s(]))@(?:"([^"\n]+)"|([^\s"]+))')
_PUNCTUATION = ".,;:!?)]}'"


def names_behind_at(text: str) -> Iterator[tuple[str, ...]]:
    """Each name with the ways to read it: as it is written, and without the punctuation behind it."""
    for quoted, bare in _AT.findall(text):
        yield (quoted,) if quoted else tuple(dict.fromkeys((bare, bare.rstrip(_PUNCTUATION))))
