"""The demo's story where a person wants something else: it goes on sensibly, and no word of the script is wrong."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.agent import Agent
from holdfast.cli import demo, demo_agents
from holdfast.cli.demo_session import demo_launch
from holdfast.contract import Answer, Form, FormAnswer, Question


def played(story: str, answers: list[Answer], forms: list[FormAnswer]) -> str:
    """The last words of the story, told with these answers; the last one is given again and again."""

    async def answer(_question: Question) -> Answer:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def fill(_form: Form) -> FormAnswer:
        return forms.pop(0) if len(forms) > 1 else forms[0]

    async def run() -> str:
        with demo_launch(story) as launch:
            model: Any = launch.agent.model
            for turn in getattr(model, "_others", {}).values():
                turn._is_timed = False
            getattr(model, "_main", model)._is_timed = False
            agent = Agent(
                model,
                cwd=Path(launch.options.cwd or ""),
                permission_mode="acceptEdits",
                setting_sources="project",
                trust=story == "agents",
                approver=answer,
                on_form=fill,
                persist=False,
            )
            async with agent:
                return (await agent.run(launch.prompt or "")).text

    return asyncio.run(run())


YES = Answer("allow")
NO = Answer(message="not now")
CHOSEN = FormAnswer("accept", {demo_agents._QUESTION: "subtotal"})


@pytest.mark.parametrize(
    ("answers", "ends"),
    [
        ([YES], "all three tests pass"),
        ([NO], "I was not to run them"),
        ([YES, NO], "I was not to run them"),
    ],
)
def test_the_story_of_the_failing_test(answers: list[Answer], ends: str) -> None:
    assert ends in " ".join(played("fix", answers, [FormAnswer()]).split())


@pytest.mark.parametrize(
    ("answers", "forms", "ends"),
    [
        ([YES], [CHOSEN, FormAnswer("accept")], "The fix is on the branch"),
        ([YES], [FormAnswer("accept", {demo_agents._QUESTION: "total"}), FormAnswer("accept")], "The fix is on"),
        ([NO], [CHOSEN, FormAnswer("accept")], "You said no, so I leave it at that."),
        ([YES, NO], [CHOSEN, FormAnswer("accept")], "You said no, so I leave it at that."),
        ([YES], [CHOSEN, FormAnswer(message="think again")], "You said no, so I leave it at that."),
    ],
)
def test_the_story_with_agents(answers: list[Answer], forms: list[FormAnswer], ends: str) -> None:
    assert ends in " ".join(played("agents", answers, forms).split())


def test_whoever_goes_on_behind_the_end_is_told_that_it_is_one() -> None:
    async def run() -> list[str]:
        with demo_launch() as launch:
            model: Any = launch.agent.model
            model._is_timed = False
            agent = Agent(model, cwd=Path(launch.options.cwd or ""), approver=lambda _: YES, persist=False)
            async with agent:
                return [(await agent.run(text)).text for text in (demo.PROMPT, "and now?", "and now?")]

    assert asyncio.run(run())[-1].endswith("Ctrl-D leaves.")
