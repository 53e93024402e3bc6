"""The settings in force, each with the file and line that it comes from."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.lib.visible import visible
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.panels.pages import Page, TextPage
from holdfast.tui.show.words import Line

if TYPE_CHECKING:
    from holdfast.settings import Settings

__all__ = ["settings_page"]

_KEYS = (
    *("model", "fallbackModel", "permissions.defaultMode", "permissions.allow", "permissions.ask", "permissions.deny"),
    *("permissions.additionalDirectories", "sandbox.enabled", "sandbox.autoAllowBashIfSandboxed", "sandbox.network"),
    *("tools.taskList", "tools.siblingErrors", "agents.maxRunning", "tasks.maxRunning", "enableAllProjectMcpServers"),
)


def settings_page(settings: "Settings", own: Mapping[str, tuple[str, ...]]) -> Page:
    """What is set; the terminal's own settings with what they can be."""
    lines: list[Line] = [[("bold", "files")]]
    lines += [[("", f"  {visible(home_relative(path))}")] for path in settings.files] or [[("dim", "  none")]]
    lines += [[], [("bold", "of the terminal"), ("dim", "  (/config NAME VALUE sets one)")]]
    for key, values in own.items():
        lines.append([*_line(settings, key), ("dim", f"   one of {', '.join(values)}")])
    lines += [[], [("bold", "of the session")]]
    lines += [_line(settings, key) for key in _KEYS]
    return TextPage("Settings", lambda: lines)


def _line(settings: "Settings", key: str) -> Line:
    value: Any = settings.get(key)
    if value is None:
        return [("dim", f"  {key} is not set")]
    origin = settings.where(key)
    shown = visible(repr(value), limit_chars=200)
    return [("", f"  {key} = "), ("accent", shown), ("dim", f"   {visible(home_relative(str(origin)))}")]
