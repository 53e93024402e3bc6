"""How the terminal should be: the user's own settings count, a folder's never do. Themes can be read."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.tui.talking import talking

from holdfast.settings import SettingsRoots
from holdfast.tui.notify import notification
from holdfast.tui.preferences import Preferences, early_preferences
from holdfast.tui.show.themes import THEMES, choose_theme
from holdfast.tui.status_command import safe_colours

SETTINGS = {
    "theme": "light",
    "axScreenReader": True,
    "preferredNotifChannel": "iterm2_with_bell",
    "statusLine": {"type": "command", "command": "echo mine"},
}


def test_the_users_own_files_are_read_before_anything_else() -> None:
    roots = SettingsRoots.from_environment()
    assert early_preferences() == Preferences()
    Path(roots.user_existing).mkdir(parents=True)
    Path(roots.user_existing, "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    assert early_preferences() == Preferences("light", True, "osc9 bell", "echo mine")
    Path(roots.user_existing, "settings.json").write_text("{broken", encoding="utf-8")
    assert early_preferences() == Preferences()


def test_a_folder_cannot_bring_a_command_or_a_theme(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")

    async def run() -> None:
        async with talking(tmp_path, "Done.") as talk:
            assert talk.talk.status_command is None

    asyncio.run(run())


def test_the_users_status_command_hears_of_the_session_and_its_line_is_made_safe(tmp_path: Path) -> None:
    roots = SettingsRoots.from_environment()
    Path(roots.user_existing).mkdir(parents=True)
    command = f"cat > {tmp_path}/heard.json; printf '\\033[32mgreen\\033[0m \\033[2J\\nsecond'"
    given = {"statusLine": {"type": "command", "command": command}}
    Path(roots.user_existing, "settings.json").write_text(json.dumps(given), encoding="utf-8")

    async def run() -> str:
        async with talking(tmp_path, "Done.") as talk:
            await talk.say("go")
            command = talk.talk.status_command
            assert command is not None
            if command._job is not None:
                await asyncio.wait({command._job}, timeout=30)
            return talk.talk.own_status()

    assert asyncio.run(run()) == "\x1b[32mgreen\x1b[0m \\x1b[2J"
    heard = json.loads((tmp_path / "heard.json").read_text("utf-8"))
    assert heard["model"]["id"] == "scripted:memory"
    assert heard["workspace"]["current_dir"] == str(tmp_path)
    assert {"session_id", "version", "cost"} <= set(heard)


def test_only_colours_of_a_status_line_reach_the_terminal() -> None:
    red = "\x1b[1;31mred\x1b[0m"
    assert safe_colours(f"{red}\x07\x1b]0;t\x07\x01\x02") == red + r"\x07\x1b]0;t\x07\x01\x02"


def test_a_call_for_attention_holds_nothing_that_others_wrote_raw() -> None:
    sent: list[str] = []
    notification("Bash \x1b]0;evil\x07 waits; now", "osc9 bell", sent.append)
    assert sent == ["\x1b]9;Bash \\x1b]0,evil\\x07 waits, now\x1b\\", "\x07"]
    notification("x", "", sent.append)
    assert len(sent) == 2


def luminance(rgb: tuple[int, int, int]) -> float:
    parts = [value / 255 for value in rgb]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("name", "backgrounds"),
    [
        ("dark", [(0, 0, 0), (30, 30, 30), (40, 44, 52)]),
        ("dark-daltonized", [(0, 0, 0), (30, 30, 30), (40, 44, 52)]),
        ("light", [(255, 255, 255), (250, 250, 250), (253, 246, 227)]),
        ("light-daltonized", [(255, 255, 255), (250, 250, 250), (253, 246, 227)]),
    ],
)
def test_every_colour_of_a_theme_can_be_read_on_its_background(
    name: str, backgrounds: list[tuple[int, int, int]]
) -> None:
    for style, look in THEMES[name].items():
        if look.rgb is not None:
            assert min(contrast(look.rgb, background) for background in backgrounds) >= 4.5, (name, style)


def test_the_theme_goes_by_the_terminal_where_nobody_chose() -> None:
    assert choose_theme("auto", {"TERM": "xterm-256color"}) is THEMES["dark"]
    assert choose_theme("auto", {"TERM": "xterm-256color", "COLORFGBG": "0;15"}) is THEMES["light"]
    assert choose_theme("light", {"TERM": "linux"}) is THEMES["ansi"]
    assert choose_theme("light", {"TERM": "tmux-256color"}) is THEMES["light"]
    assert choose_theme("no such", {"TERM": "xterm-256color"}) is THEMES["dark"]
    assert all(set(theme) == set(THEMES["ansi"]) for theme in THEMES.values())
