"""`holdfast demo`: a whole agent session on a copied sample project, with real tools and a scripted model."""

import asyncio
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

import click

from holdfast.app.agent import Agent
from holdfast.app.results import RunResult
from holdfast.cli.demo_view import DemoView
from holdfast.contract import Answer, Question
from holdfast.models.scripted import ScriptedModel

__all__ = ["PROMPT", "TESTS", "command", "demo_script", "sample_project"]

PROMPT = "The tests fail since we changed the prices. Find out why and fix it."
TESTS = "python3 -m unittest"
_RULE = f"Bash({TESTS})"
_THINKING_S = 1.2
"""So that a person can read the question before the demo answers it."""


@click.command("demo")
@click.argument("story", type=click.Choice(["fix", "agents"]), default="fix")
@click.option("--fast", is_flag=True, help="Without the pauses of a model that writes, and without questions.")
@click.option("--watch", is_flag=True, help="In a terminal: the questions answer themselves.")
def command(story: str, *, fast: bool, watch: bool) -> int:
    """Show a whole agent session on a sample project, no key needed.

    STORY is `fix` (find a bug, fix it, prove it) or `agents` (explorers side by side, an approved plan, a worktree). In
    a terminal it is a session in which you answer the questions; anywhere else it answers them and writes lines.
    """
    from holdfast.cli.demo_session import can_be_steered, steer  # noqa: PLC0415 - with what it shows

    if can_be_steered() and not fast:
        return steer(story, watch=watch)
    if story == "agents":
        return _agents(fast=fast)
    view = DemoView()
    with sample_project() as project, demo_script() as script:
        view.open(str(project), PROMPT)
        result = asyncio.run(_play(view, project, ScriptedModel.from_file(script, is_timed=not fast), fast=fast))
    is_green = result.outcome == "success" and view.is_green(TESTS)
    view.close(result, is_green=is_green)
    return 0 if is_green else 1


def _agents(*, fast: bool) -> int:
    from holdfast.cli import demo_agents  # noqa: PLC0415 - the other story needs none of it
    from holdfast.cli.demo_agents_view import AgentsView  # noqa: PLC0415 - the same

    view = AgentsView()
    with sample_project() as project:
        try:
            demo_agents.prepare(project)
        except OSError as error:
            click.echo(f"holdfast: this demo cannot be shown: {error}", err=True)
            return 1
        view.open(str(project), demo_agents.PROMPT)
        result = asyncio.run(demo_agents.play(view, project, fast=fast))
    is_green = result.outcome == "success" and view.is_green(demo_agents.TESTS)
    view.close(result, is_green=is_green)
    return 0 if is_green else 1


async def _play(view: DemoView, project: Path, model: ScriptedModel, *, fast: bool) -> RunResult:
    async def answer(question: Question) -> Answer:
        """What the person at the keyboard would say: yes to the tests, and do not ask again."""
        is_expected = question.tool == "Bash" and question.input.get("command") == TESTS
        view.ask(question)
        await asyncio.sleep(0 if fast else _THINKING_S)
        view.answer(rule=_RULE if is_expected else None)
        if not is_expected:
            return Answer(message="the demo says yes only to its own tests")
        return Answer("allow", rules=(_RULE,))

    agent = Agent(
        model,
        cwd=project,
        permission_mode="acceptEdits",
        setting_sources="project",  # the same everywhere, whatever the user has set
        approver=answer,
        persist=False,
        on_event=view.take,
    )
    async with agent:
        return await agent.run(PROMPT)


@contextmanager
def sample_project() -> Generator[Path]:
    """A copy of the sample that goes when it is no longer needed."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as directory:
        project = Path(directory, "shop")
        with as_file(files("holdfast.cli").joinpath("demo_project")) as source:
            shutil.copytree(source, project, ignore=shutil.ignore_patterns("__pycache__"))
        yield project


@contextmanager
def demo_script() -> Generator[Path]:
    """What the model says."""
    with as_file(files("holdfast.cli").joinpath("demo_script.jsonl")) as path:
        yield path
