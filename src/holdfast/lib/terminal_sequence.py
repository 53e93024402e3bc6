"""Which sequences of characters a terminal may be sent for somebody else: a bell, a notification, a title."""

import re
from typing import Final

__all__ = ["harmless_sequence"]

_HARMLESS: Final = re.compile(r"(?:\x07|\x1b\](?:0|1|2|9|99|777);[^\x00-\x1f\x7f-\x9f]{0,500}(?:\x07|\x1b\\)){1,8}")


def harmless_sequence(given: object) -> str | None:
    """The sequence, if it does nothing but ring, notify (OSC 9, 99, 777) or set a title (OSC 0, 1, 2)."""
    return given if isinstance(given, str) and _HARMLESS.fullmatch(given) else None
