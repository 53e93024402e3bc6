"""Calls the person when somebody waits for them: by the bell, or by a message that terminals know how to show."""

from collections.abc import Callable

from holdfast.lib.visible import visible

__all__ = ["notification"]


def notification(text: str, channel: str, write: Callable[[str], object]) -> None:
    """Send it by the channels that the person chose, as `osc9 bell`; what others wrote in it is made safe."""
    shown = visible(text, limit_chars=120).replace(";", ",")
    if "osc99" in channel:
        write(f"\x1b]99;;{shown}\x1b\\")
    elif "osc9" in channel:
        write(f"\x1b]9;{shown}\x1b\\")
    if "bell" in channel:
        write("\x07")
