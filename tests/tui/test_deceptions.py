"""Whatever others write: every character of it is visible or spelled out, and nothing reaches the terminal raw."""

import asyncio
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from tests.tui.deceptions import strings
from tests.tui.faces import AnsweringFace

from holdfast.contract import Form, FormField, Question, QuestionBrief, QuestionPart
from holdfast.contract.forms import Choice
from holdfast.events import (
    CallFinished,
    CallQueued,
    CallStarted,
    Event,
    HookSpoke,
    PromptSubmitted,
    ReplyDiscarded,
    RunEnded,
    TaskChanged,
    TextStreamed,
)
from holdfast.lib.visible import visible
from holdfast.tui.ask.asker import TerminalAsker
from holdfast.tui.panels.outputs import output_page
from holdfast.tui.screen import Screen
from holdfast.tui.show.kept import Kept
from holdfast.tui.show.markdown import Piece, tail_lines
from holdfast.tui.show.recall import recall
from holdfast.tui.show.rich_text import render
from holdfast.tui.show.view import View
from holdfast.tui.show.words import as_ansi, as_text, fragments, prose
from holdfast.tui.status_command import safe_colours

DECEPTIONS = strings(500, seed=20)
_SPACE = re.compile(r"\s+")
_OURS = re.compile(r"\x1b\[[\d;]*[mABCDHKG]|\x1b\[0?J|\x1b\[\?(?:1|7|12|25|2004|2026)[hl]|\x1b\[0 q")
"""What the screen itself sends: looks, moves, erasing below, and a few modes. Never `2J` or `3J`."""
_LANGUAGE = re.compile(r"(```)\w+")
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"


class DrawnFace(AnsweringFace):
    """Keeps pieces of answers as they are drawn."""

    def commit_piece(self, piece: Piece) -> None:
        self.lines += render(piece, columns=self.columns, theme=None).split("\n")


def asked(text: str) -> Question:
    brief = QuestionBrief((QuestionPart("ls", "reads"), QuestionPart(text, "ask", text)), True, text)
    given = {"command": text, "description": text, "other": text}
    return Question("q", "t", text, given, text, (text,), cwd=f"/{text}", agent=text, brief=lambda: brief)


def changed(text: str) -> Question:
    diff = f"--- a\n+++ b\n@@ -1 +1 @@\n-{text.replace(chr(10), '')}\n+new\n"
    return Question("q", "t", "Edit", {"file_path": text}, "", preview=diff)


def form(text: str) -> Form:
    choices = (Choice(text, "a", text, text), Choice("b", "b"))
    fields = (FormField("x", "choice", title=text, description=text, choices=choices), FormField(text, title="word"))
    return Form("elicitation", text, text, fields)


def ask(face: Any, text: str) -> None:
    async def run() -> None:
        asker = TerminalAsker(face)
        await asker.ask(asked(text))
        await asker.ask(changed(text))

    asyncio.run(run())


def fill(face: Any, text: str) -> None:
    async def run() -> None:
        asker = TerminalAsker(face)
        await asker.fill(form(text))
        await asker.fill(Form("url", text, text, url=text))

    asyncio.run(run())


def plan(face: Any, text: str) -> None:
    asyncio.run(TerminalAsker(face).fill(Form("plan", "", "ExitPlanMode", text=text)))


def told(text: str) -> dict[str, list[Event]]:
    """Everything that happens in a run, told by somebody who deceives."""
    begun: list[Event] = [CallQueued("1", "Bash", {"command": "x"}), CallStarted("1", "Bash", read_only=False)]
    return {
        "prompt": [PromptSubmitted(text)],
        "answer": [TextStreamed(f"{text}\n")],
        "code": [TextStreamed(f"```\n{text.replace('`', '')}\n```\n")],
        "use": [CallQueued("1", "Bash", {"command": text}), CallFinished("1", "Bash", "", data={})],
        "output": [*begun, CallFinished("1", "Bash", "", data={"stdout": text})],
        "errors": [*begun, CallFinished("1", "Bash", "", data={"stderr": text})],
        "result": [*begun, CallFinished("1", "Other", text)],
        "display": [*begun, CallFinished("1", "Other", "", display=text)],
        "diff": [
            *begun,
            CallFinished("1", "Edit", "", display=f"--- a\n+++ b\n@@ -1 +1 @@\n-{one_line(text)}\n+new\n"),
        ],
        "failure": [*begun, CallFinished("1", "Other", text, is_error=True)],
        "task": [TaskChanged("b1", "bash", "running", text)],
        "hook": [HookSpoke("Stop", text)],
        "broken off": [ReplyDiscarded(text)],
        "error": [RunEnded("error_during_execution", "", 1, 1.0, 1.0, {}, error=text)],
    }


def one_line(text: str) -> str:
    return text.replace("\n", "").replace("\r", "")


def spelled_in(text: str, shown: str, *, spell: Callable[[str], str]) -> bool:
    return _SPACE.sub("", spell(text)) in _SPACE.sub("", shown)


def lines_of(text: str) -> list[str]:
    """Lines are lines in most places; what is left of them is to be seen."""
    return [part for part in text.split("\n") if part.strip()]


def flat(face: AnsweringFace) -> str:
    return "\n".join(face.lines)


def _tabs_are_blanks(text: str) -> str:
    return visible(text.expandtabs(4))


def is_whole(text: str, shown: str) -> bool:
    """Every line of it is there, spelled for dialogs or for prose; one that was cut says so."""
    return all(
        any(spelled_in(line, shown, spell=spell) for spell in (visible, prose, _tabs_are_blanks))
        for line in lines_of(text)
    )


def test_dialogs_show_every_character_of_what_they_ask_about() -> None:
    for text in DECEPTIONS:
        face = DrawnFace(1, 1, columns=60)
        ask(face, text)
        shown = flat(face) + "".join(as_text(line) for menu in face.menus for line in menu.lines(60))
        assert all(spelled_in(line, shown, spell=visible) for line in lines_of(text)), (text, shown)
        assert not hidden_in(shown), (text, shown)
        face = DrawnFace(1, (1, "w"), 1, 1, columns=60)
        fill(face, text)
        shown = flat(face) + "".join(as_text(line) for menu in face.menus for line in menu.lines(60))
        assert is_whole(text, shown), (text, shown)
        assert not hidden_in(shown), (text, shown)


def test_output_shows_every_character_of_what_was_written() -> None:
    for text in DECEPTIONS:
        for name, events in told(text).items():
            face = DrawnFace(columns=60)
            view = View(face)
            view.naming.use_of = lambda _name, raw: str(raw.get("command", ""))
            for event in [*events, RunEnded("success", "", 1, 1.0, 1.0, {})]:
                view.take(event)
            shown = flat(face)
            assert not hidden_in(shown), (name, text, shown)
            if name == "answer":  # marks of markdown are drawn, languages are colours; every other letter is there
                letters = filter(str.isalpha, prose(_LANGUAGE.sub("", text)))
                assert not Counter(letters) - Counter(shown), (text, shown)
            else:
                written = {"diff": one_line(text), "code": text.replace("`", "")}.get(name, text)
                assert is_whole(written, shown) or "…" in shown, (name, text, shown)


def test_what_is_opened_or_shown_again_shows_every_character() -> None:
    for text in DECEPTIONS:
        face = DrawnFace(5, columns=60)
        plan(face, text)
        history = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
        recall(face, View(face).naming, history)
        face.commit(tail_lines(text, 60, 20))
        assert not hidden_in(flat(face)), (text, flat(face))
        face.lines.clear()
        face.commit(output_page([Kept("x", text)]).all_lines())
        assert is_whole(text, flat(face)), (text, flat(face))
        assert not hidden_in(flat(face)), (text, flat(face))


def test_a_text_that_nobody_made_safe_is_harmless_all_the_same() -> None:
    kept = dict.fromkeys(map(ord, f"{_JOINERS}\t\n"))
    for text in DECEPTIONS:
        drawn = "".join(part for _, part, *_ in fragments([[("", text)]]))
        assert not hidden_in(as_ansi([("", text)], None).translate(kept)), text
        assert not hidden_in(drawn.translate(kept)), text


def hidden_in(shown: str) -> list[str]:
    """Characters that a terminal would obey, or nobody would see."""
    found: list[str] = []
    for place, char in enumerate(shown):
        if char == "\n" or (
            char in _JOINERS
            and place
            and ord(shown[place - 1]) > 0xFF
            and visible(shown[place - 1]) == shown[place - 1]
        ):
            continue
        if unicodedata.category(char) == "Zs":
            continue
        if visible(char) != char:
            found.append(repr(char))
    return found


def test_nothing_raw_reaches_the_terminal() -> None:
    out = io.StringIO()

    async def run() -> None:
        with create_pipe_input() as given:
            output = Vt100_Output(out, lambda: Size(rows=30, columns=80), term="xterm-256color", enable_cpr=False)
            screen = Screen(given_input=given, output=output)
            view = View(screen)
            screen.actions.live = view.live
            screen.actions.own_status = lambda: safe_colours(DECEPTIONS[len(out.getvalue()) % 500].split("\n")[0])
            has_begun = asyncio.Event()
            app = asyncio.ensure_future(screen.app.run_async(pre_run=has_begun.set, handle_sigint=False))
            async with asyncio.timeout(60):
                await has_begun.wait()
            for text in DECEPTIONS:
                for event in [one for events in told(text).values() for one in events]:
                    view.take(event)
                question = asyncio.ensure_future(TerminalAsker(screen).ask(asked(text)))
                await asyncio.sleep(0)
                screen.paper.flush()
                screen.menus[0].withdraw()
                await question
            screen.leave()
            await app

    with create_app_session():
        asyncio.run(run())
    sent = _OURS.sub("", out.getvalue()).replace(" \b", "")  # how the library draws an empty place
    assert "\x1b" not in sent
    raw = {
        char
        for char in sent
        if char not in "\r\n" and char not in _JOINERS and visible(char) != char and unicodedata.category(char) != "Zs"
    }
    assert not raw
