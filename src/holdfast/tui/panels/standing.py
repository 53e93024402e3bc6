"""Where the session stands: model, folder, trust, sandbox, settings."""

from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.app.standing import sandbox_standing, trust_standing
from holdfast.lib.visible import visible
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.panels.pages import Page, TextPage
from holdfast.tui.show.words import Line

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["standing_page"]


def standing_page(agent: "RunningAgent") -> Page:
    """All of it, looked at once."""
    settings = agent.rights.settings
    facts = [
        ("version", f"holdfast {__version__}"),
        ("session", agent.session_id),
        ("model", f"{agent.model.name}, window of {agent.model.context_window:,} tokens"),
        ("folder", home_relative(agent.cwd)),
        ("mode", agent.mode),
        ("settings", ", ".join(home_relative(path) for path in settings.files) or "none found"),
        ("servers", ", ".join(f"{one['name']} {one['status']}" for one in agent.server_states) or "none"),
    ]
    lines: list[Line] = [[("dim", f"{name:<10}"), ("", visible(text))] for name, text in facts]
    lines += [[], [("bold", "trust")], *_marked(trust_standing(agent))]
    lines += [[], [("bold", "sandbox")], *_marked(sandbox_standing(agent))]
    notices = agent.notices()
    if notices:
        lines += [[], [("bold", "what is ignored")], *([("warn", f"  {visible(text)}")] for text in notices)]
    return TextPage("State of this session", lambda: lines)


def _marked(rows: list[tuple[bool, str]]) -> list[Line]:
    return [[("ok", "  ✓ ") if holds else ("warn", "  ✗ "), ("", visible(text))] for holds, text in rows]
