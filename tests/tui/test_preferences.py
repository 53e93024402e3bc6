"""How the terminal should be: the user's own settings count, a folder's never do. Themes can be read."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from tests.tui.talking import talking

from holdfast.settings import SettingsRoots
from holdfast.tui.notify import notification
from holdfast.tui.preferences import Preferences, early_preferences
from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.rich_text import render
from holdfast.tui.show.themes import THEMES, Look, choose_theme
from holdfast.tui.status_command import StatusCommand, safe_colours

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
            assert talk.talk.status_command._command == ""

    asyncio.run(run())


def is_at_rest(command: StatusCommand) -> bool:
    return command._job is None and command._again is None


def test_the_users_status_command_hears_of_the_session_and_its_line_is_made_safe(tmp_path: Path) -> None:
    roots = SettingsRoots.from_environment()
    Path(roots.user_existing).mkdir(parents=True)
    command = f"cat > {tmp_path}/heard.json; printf '\\033[32mgreen\\033[0m \\033[2J\\nsecond\\n3\\n4'"
    given = {"statusLine": {"type": "command", "command": command}}
    Path(roots.user_existing, "settings.json").write_text(json.dumps(given), encoding="utf-8")

    async def run() -> str:
        async with talking(tmp_path, "Done.") as talk:
            command = talk.talk.status_command
            is_drawn = asyncio.Event()
            talk.face.refresh = is_drawn.set
            assert command._job is not None  # it stands there from the beginning on
            await talk.say("go")
            async with asyncio.timeout(30):
                while not is_at_rest(command):
                    is_drawn.clear()
                    await is_drawn.wait()
            return talk.talk.own_status()

    assert asyncio.run(run()) == "\x1b[32mgreen\x1b[0m \\x1b[2J\nsecond\n3"
    heard = json.loads((tmp_path / "heard.json").read_text("utf-8"))
    assert heard["model"]["id"] == "scripted:memory"
    assert heard["workspace"]["current_dir"] == str(tmp_path)
    assert heard["context_window"]["total_output_tokens"] > 0  # it has seen the last change, too
    assert heard["context_window"]["used_percentage"] + heard["context_window"]["remaining_percentage"] == 100
    assert {"session_id", "version", "cost", "transcript_path"} <= set(heard)


def test_one_setting_of_the_terminal_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    roots = SettingsRoots.from_environment()
    Path(roots.user_existing).mkdir(parents=True)
    given = {"statusLine": {"command": "echo mine"}, "preferredNotifChannel": "terminal_bell", "theme": "light"}
    Path(roots.user_existing, "settings.json").write_text(json.dumps(given), encoding="utf-8")

    async def run() -> Preferences:
        async with talking(tmp_path) as talk:
            await talk.say("/config theme dark")
            return talk.talk._preferences

    assert asyncio.run(run()) == Preferences("dark", notify="bell", status_command="echo mine")


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


EVERYTHING = """# One
## Two
### Three
Words with `code`, **bold**, *other*, [a link](https://example.com) and ~~gone~~.

> quoted

1. one
- two

| a | b |
|---|---|
| 1 | 2 |

---
"""
CODE = """@decorated
class Thing(Base):
    \"\"\"Doc.\"\"\"
    def run(self, x: int = 3) -> None:  # comment
        raise ValueError(f"no {x!r}")
"""
on_backgrounds = pytest.mark.parametrize(
    ("name", "backgrounds"),
    [
        ("dark", [(0, 0, 0), (30, 30, 30), (40, 44, 52)]),
        ("dark-daltonized", [(0, 0, 0), (30, 30, 30), (40, 44, 52)]),
        ("light", [(255, 255, 255), (250, 250, 250), (253, 246, 227)]),
        ("light-daltonized", [(255, 255, 255), (250, 250, 250), (253, 246, 227)]),
    ],
)


@on_backgrounds
@pytest.mark.parametrize("piece", [Piece(EVERYTHING), Piece(CODE, "python"), Piece("- old\n+ new", "diff")])
def test_every_colour_of_an_answer_is_one_of_the_theme_and_on_no_background(
    name: str, backgrounds: list[tuple[int, int, int]], piece: Piece
) -> None:
    drawn = render(piece, columns=80, theme=THEMES[name])
    colours: set[int] = set()
    for found in re.findall(r"\x1b\[([\d;]*)m", drawn):
        codes = [int(code or 0) for code in found.split(";")]
        if 38 in codes:
            at = codes.index(38)
            assert codes[at + 1] == 5
            colours.add(codes[at + 2])
            codes[at : at + 3] = []
        assert set(codes) <= {
            0,
            1,
            3,
            4,
            9,
            22,
            23,
            24,
            29,
            39,
            49,
        }  # no colour of the terminal's choice, no background
    assert colours
    for colour in colours:
        rgb = Look(colour).rgb
        assert rgb is not None
        assert min(contrast(rgb, background) for background in backgrounds) >= 4.5, colour


@on_backgrounds
def test_every_colour_of_a_theme_can_be_read_on_its_background(
    name: str, backgrounds: list[tuple[int, int, int]]
) -> None:
    for style, look in THEMES[name].items():
        if look.rgb is not None:
            assert min(contrast(look.rgb, background) for background in backgrounds) >= 4.5, (name, style)


def test_the_theme_goes_by_the_terminal_where_nobody_chose() -> None:
    assert choose_theme("auto", {"TERM": "xterm-256color"}) is THEMES["dark"]
    assert choose_theme("auto", {"TERM": "xterm-256color", "COLORFGBG": "0;15"}) is THEMES["light"]
    assert choose_theme("auto", {"TERM": "xterm-256color"}, background="light") is THEMES["light"]
    assert choose_theme("auto", {"TERM": "xterm-256color", "COLORFGBG": "0;15"}, background="dark") is THEMES["dark"]
    assert choose_theme("dark", {"TERM": "xterm-256color"}, background="light") is THEMES["dark"]
    assert choose_theme("light", {"TERM": "linux"}) is THEMES["ansi"]
    assert choose_theme("light", {"TERM": "tmux-256color"}) is THEMES["light"]
    assert choose_theme("no such", {"TERM": "xterm-256color"}) is THEMES["dark"]
    assert all(set(theme) == set(THEMES["ansi"]) for theme in THEMES.values())
