"""The demo as a session at the terminal: a person answers its questions, or watches them answer themselves."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from holdfast.app.begin import SessionChoice
from holdfast.app.options import AgentOptions, Options
from holdfast.app.results import RunResult
from holdfast.events import Event, RunEnded
from holdfast.tui.launch import ENDS_FOR_THE_PERSON

if TYPE_CHECKING:
    from holdfast.cli.demo_view import DemoView
    from holdfast.models.scripted import ScriptedModel
    from holdfast.tui.ask.menu import Menu
    from holdfast.tui.launch import Launch

__all__ = ["can_be_steered", "demo_launch", "steer"]

_READING_S = 2.0
_YES = ("done", "session", "yes", "once")
_HEAD = (
    "The model's words come from a script. Everything else is real: the agent loop, the tools, the permission rules, "
    "the tests. It works on a copy of a small shop; nothing outside of it is touched."
)


_HOW = "It is yours: answer its questions as you like, stop it with Esc, look around with /help."
_HOW_WATCHED = "The questions answer themselves; Esc stops it."


def can_be_steered() -> bool:
    """A person sits at a terminal with a screen."""
    from holdfast.tui.start import is_terminal  # noqa: PLC0415 - only where it may be

    return is_terminal()


def steer(story: str, *, watch: bool) -> int:
    """Run the session on the screen, then say what happened in figures. 0 when the tests pass in the end."""
    from holdfast.cli.demo import TESTS  # noqa: PLC0415 - it starts us
    from holdfast.cli.demo_agents import TESTS as TESTS_OF_AGENTS  # noqa: PLC0415 - the same
    from holdfast.cli.demo_agents_view import AgentsView  # noqa: PLC0415 - the same
    from holdfast.cli.demo_view import DemoView  # noqa: PLC0415 - the same
    from holdfast.tui.start import run_session  # noqa: PLC0415 - only here

    view: DemoView = AgentsView() if story == "agents" else DemoView()
    view.is_quiet = True
    ended: list[RunEnded] = []

    def hear(event: Event) -> None:
        view.take(event)
        if isinstance(event, RunEnded):
            ended.append(event)

    click.echo(click.style("Holdfast: a whole agent session without a key", bold=True))
    click.echo(fill(_HEAD, shutil.get_terminal_size().columns - 1))
    click.echo(fill(_HOW_WATCHED if watch else _HOW, shutil.get_terminal_size().columns - 1))
    try:
        with demo_launch(story, watch=watch) as launch:
            code = run_session(launch._replace(on_event=hear, farewell=""))
    except OSError as error:
        click.echo(f"holdfast: this demo cannot be shown: {error}", err=True)
        return 1
    if code:
        return code
    if not ended:
        click.echo("You left before the story began.")
        return 0
    return _figures(view, ended[-1], TESTS_OF_AGENTS if story == "agents" else TESTS)


def _figures(view: "DemoView", last: RunEnded, tests: str) -> int:
    view.is_quiet = False
    is_green = last.outcome == "success" and view.is_green(tests)
    is_elsewhere = not is_green and (view.was_refused_by_person or last.outcome in ENDS_FOR_THE_PERSON)
    result = RunResult(
        text=last.text,
        outcome=last.outcome,
        session_id="",
        turns=last.turns,
        duration_ms=last.duration_ms,
        usage=last.usage,
        cost_usd=last.cost_usd,
        output=last.text,
        error=last.error,
    )
    view.close(result, is_green=is_green, is_elsewhere=is_elsewhere)
    return 0 if is_green or is_elsewhere else 1


@contextmanager
def demo_launch(story: str = "fix", *, watch: bool = False) -> Generator["Launch"]:
    """What starts the demo in a terminal; its project goes in the end.

    Raises:
        OSError: It cannot be prepared.
    """
    from holdfast.cli import demo, demo_agents  # noqa: PLC0415 - one starts us
    from holdfast.cli.demo_view import NEXT  # noqa: PLC0415 - the same
    from holdfast.tui.launch import Launch  # noqa: PLC0415 - only here

    with demo.sample_project() as project, demo.demo_script() as script:
        if story == "agents":
            demo_agents.prepare(project)
        model = demo_agents.Cast(fast=False, is_steered=True) if story == "agents" else _fix(script)
        yield Launch(
            Options(
                cwd=str(project),
                permission_mode="acceptEdits",
                setting_sources="project",  # the same everywhere, whatever the user has set
                trust=story == "agents",  # it is our own sample; the other story shows what holds without trust
            ),
            AgentOptions(model=model),
            SessionChoice(is_kept=False),
            prompt=demo_agents.PROMPT if story == "agents" else demo.PROMPT,
            ends=True,
            watched_s=_READING_S,
            answers=_answer if watch else None,
            farewell="\n  ".join(["Now with a real model", *NEXT]),
        )


def _fix(script: Path) -> "ScriptedModel":
    from holdfast.cli.demo_steered import FIX, steered  # noqa: PLC0415 - only here
    from holdfast.models.script import read_script  # noqa: PLC0415 - the same
    from holdfast.models.scripted import ScriptedModel  # noqa: PLC0415 - the same

    found = read_script(script)
    return ScriptedModel(steered(found.turns, FIX), name="scripted:demo", is_timed=True, chunk=found.chunk)


def _answer(menu: "Menu") -> int:
    """What the person at the keyboard would say: yes where there is one, and do not ask again."""
    places = {option.value: place for place, option in enumerate(menu.options)}
    return next((places[value] for value in _YES if value in places), 0)
