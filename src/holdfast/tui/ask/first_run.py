"""The first time: which model, whether it answers, and what this machine's sandbox can promise."""

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from holdfast.contract import HoldfastError
from holdfast.lib.visible import visible
from holdfast.settings.directories import user_directories
from holdfast.tui.ask.menu import Menu, Option
from holdfast.tui.face import Face
from holdfast.tui.show.words import Line, prose, wrapped

if TYPE_CHECKING:
    from contextlib import ExitStack

    from holdfast.app.rights import Rights
    from holdfast.app.running import RunningAgent
    from holdfast.tui.launch import Launch

__all__ = ["DEMO", "set_up_model", "tell_sandbox", "with_model"]

DEMO = "demo"
"""What `set_up_model` gives for who wants the demo instead."""
_KEYS = {"anthropic": ("ANTHROPIC_API_KEY", "anthropic:sonnet"), "openai": ("OPENAI_API_KEY", "openai:gpt-6-sol")}
_WELCOMED = "welcomed"


async def with_model(face: Face, launch: "Launch", until_the_end: "ExitStack") -> "Launch | None":
    """The session with a model that the person sets up; none where nobody sits there, or nobody wants one."""
    if not sys.stdin.isatty():
        return None
    from holdfast.app.rights import load_rights  # noqa: PLC0415 - loaded by now

    name = await set_up_model(face, load_rights(launch.options), has_demo=launch.demo is not None)
    if name == DEMO and launch.demo is not None:
        return until_the_end.enter_context(launch.demo())
    return None if name is None else launch._replace(agent=launch.agent._replace(model=name))


async def set_up_model(face: Face, rights: "Rights", *, has_demo: bool) -> str | None:
    """Ask until a model answers; its name, or `DEMO`, or none when the person gives up."""
    _say(face, "bold", "No model is set up yet.")
    while True:
        menu = _model_menu(has_demo=has_demo)
        chosen = await face.choose(menu)
        face.commit(wrapped(menu.told(chosen), face.columns - 1))
        if chosen.value in (DEMO, None, "leave"):
            return DEMO if chosen.value == DEMO else None
        name = chosen.text.strip() if chosen.value in ("ollama", "other") else _KEYS[chosen.value or ""][1]
        if chosen.value == "ollama" and name:
            name = name if name.startswith("ollama:") else f"ollama:{name}"
        typed = await _take_key(face, _KEYS[chosen.value][0]) if chosen.value in _KEYS else ""
        if typed is None:
            continue
        if name and await _answers(face, name, rights):
            await _keep(face, name, rights.settings.cwd)
            return name
        if typed:  # whoever tries again is asked again
            del os.environ[typed]


def _model_menu(*, has_demo: bool) -> Menu:
    demo = [Option("None yet: show me the demo, without a key", DEMO)] if has_demo else []
    options = [
        *demo,
        Option("Anthropic, with a key", "anthropic"),
        Option("OpenAI, with a key", "openai"),
        Option("One on this machine, by Ollama: its name, such as qwen3", "ollama", wants_text=True),
        Option("Another, as provider:name", "other", wants_text=True),
        Option("Leave (Esc)", "leave"),
    ]
    return Menu("Which model should work here?", options)


async def _take_key(face: Face, variable: str) -> str | None:
    """The variable that now holds what was typed; empty where it was set before, none where nobody gave a key."""
    if os.environ.get(variable, "").strip():
        return ""
    menu = Menu(
        f"Type or paste the key, as {variable} would hold it; it is not shown",
        [Option("Write it", "key", wants_text=True)],
    )
    menu.is_secret = True
    chosen = await face.choose(menu)
    if not chosen.text.strip():
        return None
    os.environ[variable] = chosen.text.strip()
    _say(
        face,
        "dim",
        f"It holds for this session and is written nowhere; put `export {variable}=…` where your shell "
        "reads it to keep it.",
    )
    return variable


async def _answers(face: Face, name: str, rights: "Rights") -> bool:
    from holdfast.app.check_model import why_no_answer  # noqa: PLC0415 - only here

    _say(face, "dim", f"asking {visible(name)} for a word …")
    problem = await why_no_answer(name, rights)
    if problem:
        _say(face, "bad", problem)
        return False
    _say(face, "ok", f"✓ {visible(name)} answers")
    return True


async def _keep(face: Face, name: str, cwd: str) -> None:
    from holdfast.app.belongings import save_setting  # noqa: PLC0415 - only here

    options = [Option("No, only for this session", "no"), Option("Yes, in my settings", "yes")]
    chosen = await face.choose(Menu("Use it from now on?", options))
    if chosen.value == "yes":
        try:
            _say(face, "dim", f"kept in {save_setting('model', name, cwd)}")
        except HoldfastError as error:
            _say(face, "warn", str(error))


async def tell_sandbox(face: Face, agent: "RunningAgent") -> None:
    """Once for each user: what the sandbox of this machine can promise."""
    from holdfast.app.standing import sandbox_standing  # noqa: PLC0415 - only the first time

    mark = os.path.join(user_directories().state, _WELCOMED)
    if os.path.exists(mark):
        return
    (is_on, _), (can_be, detail), *_rest = await asyncio.to_thread(sandbox_standing, agent)
    if can_be and is_on:
        _say(face, "dim", "commands run in the sandbox; /status says what that promises")
    elif can_be:
        _say(face, "dim", "commands could run in a sandbox here: set sandbox.enabled; /status says what that promises")
    else:
        _say(face, "dim", f"there is no sandbox for commands on this machine: {detail}")
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    except OSError:
        return


def _say(face: Face, style: str, text: str) -> None:
    lines: list[Line] = [[(style, line)] for line in prose(text).split("\n")]
    face.commit([part for line in lines for part in wrapped(line, face.columns - 1)])
