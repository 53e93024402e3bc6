"""What a person set for the terminal, under the names that existing settings have. A folder has no say in any of it."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

if TYPE_CHECKING:
    from holdfast.settings import Settings

__all__ = ["Preferences", "early_preferences", "preferences_of"]

_MOST_BYTES = 1 << 20
_CHANNELS = {
    "terminal_bell": "bell",
    "iterm2": "osc9",
    "iterm2_with_bell": "osc9 bell",
    "kitty": "osc99",
    "ghostty": "osc9",
    "bell": "bell",
    "osc9": "osc9",
    "both": "osc9 bell",
}


class Preferences(NamedTuple):
    """How the terminal should be."""

    theme: str = "auto"
    """`theme`: auto, dark, light, their `-daltonized` forms, ansi."""
    screen_reader: bool = False
    """`axScreenReader`: lines instead of a screen."""
    notify: str = ""
    """`preferredNotifChannel`: how to call when somebody waits; empty: not at all."""
    status_command: str = ""
    """`statusLine.command`: what it writes is shown above the status line."""

    def changed(self, key: str, value: str) -> "Preferences":
        """The same with one setting changed; those that count from the next session on stay as they are."""
        read = _read({key: value}.get)
        if key == "theme":
            return self._replace(theme=read.theme)
        return self._replace(notify=read.notify) if key == "preferredNotifChannel" else self


def early_preferences() -> Preferences:
    """What the user's own files say, read before anything else; broken ones are told about later."""
    from holdfast.settings.sources import SettingsRoots, user_candidates  # noqa: PLC0415 - with the first look

    found: dict[str, Any] = {}
    for candidate in user_candidates(SettingsRoots.from_environment()):
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if os.path.getsize(candidate.path) <= _MOST_BYTES:
                with open(candidate.path, "rb") as file:
                    read: Any = msgspec.json.decode(file.read())
                found |= cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    return _read(found.get)


def preferences_of(settings: "Settings") -> Preferences:
    """What all settings together say, without those that a folder brings."""

    def get(key: str) -> Any:
        origins = settings.origins(key) or settings.origins(f"{key}.command")
        return None if not origins or origins[-1].source.is_folder else settings.get(key)

    return _read(get)


def _read(get: Callable[[str], Any]) -> Preferences:
    status = get("statusLine")
    command = ""
    if isinstance(status, Mapping):
        given = cast("Mapping[str, Any]", status)
        if given.get("type", "command") == "command" and isinstance(given.get("command"), str):
            command = str(given["command"])
    theme, channel = get("theme"), get("preferredNotifChannel")
    return Preferences(
        theme=theme if isinstance(theme, str) else "auto",
        screen_reader=get("axScreenReader") is True,
        notify=_CHANNELS.get(channel, "") if isinstance(channel, str) else "",
        status_command=command,
    )
