"""Our own program lets no plugin of the validation library look into what is validated.

Such a plugin is code of any installed package, found by reading the metadata of all of them. That takes longer than a
first call, holds two megabytes, and would show every call to a program that nobody asked for. A program that uses the
library keeps its plugins: only the front door calls this, before the validation library is loaded.
"""

import sys
from types import ModuleType

__all__ = ["leave_out_plugins"]

_LOADER = "pydantic.plugin._loader"
"""The module that looks for them. Should another version have none, they are looked for as always."""


def leave_out_plugins() -> None:
    """Put a loader that knows of none in its place, unless it was loaded before."""
    loader = ModuleType(_LOADER)
    loader.__dict__["get_plugins"] = tuple
    sys.modules.setdefault(_LOADER, loader)
