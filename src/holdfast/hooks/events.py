"""Every event that a hook may be about, by its name."""

from types import MappingProxyType
from typing import Final

from holdfast.hooks import inputs, session_inputs
from holdfast.hooks.inputs import HookInput

__all__ = ["EVENTS"]

EVENTS: Final = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (*vars(inputs).values(), *vars(session_inputs).values())
        if isinstance(kind, type) and issubclass(kind, HookInput) and kind.about
    }
)
"""The declaration of each event."""
