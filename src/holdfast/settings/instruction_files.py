"""The files in which people tell agents what to do, by name; what they say is read elsewhere, and only after trust."""

import os
from collections.abc import Iterable
from typing import Final

from holdfast.settings.sources import EXISTING_FOLDER, NATIVE_FOLDER

__all__ = ["EXISTING_NAME", "LOCAL_NAME", "NATIVE_NAME", "OVERRIDE_NAME", "RULES", "instruction_paths"]

EXISTING_NAME: Final = "CLAUDE.md"
NATIVE_NAME: Final = "AGENTS.md"
OVERRIDE_NAME: Final = "AGENTS.override.md"
LOCAL_NAME: Final = "CLAUDE.local.md"
RULES: Final = "rules"


def instruction_paths(places: Iterable[str], *, home: str, fallback_names: Iterable[str] = ()) -> list[str]:
    """Return the files and rule directories of these directories that are there; nothing is opened.

    Args:
        places: Directories of a folder, from its root down to where the work is.
        home: The user's home directory, whose `.claude` is the user's own.
        fallback_names: File names that stand in for AGENTS.md.
    """
    names = (EXISTING_NAME, f"{EXISTING_FOLDER}/{EXISTING_NAME}", OVERRIDE_NAME, NATIVE_NAME, LOCAL_NAME)
    more = (f"{NATIVE_FOLDER}/{NATIVE_NAME}", f"{EXISTING_FOLDER}/{RULES}", f"{NATIVE_FOLDER}/{RULES}")
    candidates = [os.path.join(place, name) for place in places for name in (*names, *more, *fallback_names)]
    own = os.path.join(home, EXISTING_FOLDER, "")
    return [path for path in dict.fromkeys(candidates) if os.path.lexists(path) and not path.startswith(own)]
