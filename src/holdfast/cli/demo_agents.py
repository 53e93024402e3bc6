"""`holdfast demo agents`: explorers side by side, a plan that is approved, and the work in a worktree, on a list."""

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from holdfast.app.agent import Agent
from holdfast.app.results import RunResult
from holdfast.cli.demo_agents_view import AgentsView
from holdfast.cli.demo_steered import WITH_AGENTS, steered
from holdfast.contract import Answer, Form, FormAnswer, Question
from holdfast.host.programs import find_program
from holdfast.models.interface import ModelRequest, StreamEvent, Usage, Wire
from holdfast.models.playback import newest_text
from holdfast.models.scripted import ScriptedModel

__all__ = ["PROMPT", "TESTS", "play", "prepare"]

PROMPT: Final = "The tests fail since we changed the prices. Look into it, plan the fix, and do it in a worktree."
TESTS: Final = "python3 -m unittest"
_COMMIT: Final = "git commit -qam 'orders: Take the discount of large orders once'"
_QUESTION: Final = "Which function should take the discount?"
_THINKING_S: Final = 1.2
_YES: Final = {"EnterWorktree": "", "Bash": _COMMIT}
"""What the person at the keyboard would say yes to."""
_SKILL: Final = """---
name: commit-style
description: How commits are written in this project. Use it before a commit.
---
One commit for one change. The first line is `room: What is different now`, at most 72 characters, as an order.
Run the tests before, and say nothing about how it was found.
"""
_PLAN: Final = """# Take the discount once

1. `total` in `shop/orders.py` uses `subtotal` as it is, which has the discount already.
2. Run the tests: `python3 -m unittest`.
3. Commit on the worktree's branch.
"""
_OLD: Final = """    amount = subtotal(items)
    if amount >= DISCOUNT_FROM:
        amount -= amount * DISCOUNT
    return round(amount + shipping_for(items), 2)
"""
_NEW: Final = "    return round(subtotal(items) + shipping_for(items), 2)\n"


def prepare(project: Path) -> None:
    """Make the sample a repository with one commit, and give it a skill.

    Raises:
        OSError: There is no git, or it does not work.
    """
    place = project / ".holdfast" / "skills" / "commit-style"
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(_SKILL, encoding="utf-8")
    git = find_program("git", outside=(str(project),))
    if git is None:
        raise OSError("git is needed for worktrees, and is not installed")
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Demo"),
        ("config", "user.email", "demo@example.com"),
        ("add", "-A"),
        ("commit", "-q", "-m", "Everything so far"),
    ):
        done = subprocess.run(
            [git, *words], cwd=project, env=own, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            raise OSError(f"git {words[0]} failed: {done.stderr.strip()}")


async def play(view: AgentsView, project: Path, *, fast: bool) -> RunResult:
    """Run the whole session."""
    pause_s = 0.0 if fast else _THINKING_S

    async def answer(question: Question) -> Answer:
        is_expected = question.input.get("command", "") == _YES.get(question.tool)
        view.ask(question)
        await asyncio.sleep(pause_s)
        view.say_yes() if is_expected else view.answer(rule=None)
        return Answer("allow") if is_expected else Answer(message="the demo says yes only to its own steps")

    async def fill(form: Form) -> FormAnswer:
        view.show_form(form)
        await asyncio.sleep(pause_s)
        if form.kind == "questions":
            view.fill(f"{_QUESTION} subtotal")
            return FormAnswer("accept", {_QUESTION: "subtotal"})
        view.fill("yes to the plan, and to the command that it asks for")
        return FormAnswer("accept")

    agent = Agent(
        Cast(fast=fast),
        cwd=project,
        permission_mode="acceptEdits",
        setting_sources="project",
        trust=True,  # it is our own sample
        approver=answer,
        on_form=fill,
        persist=False,
        on_event=view.take,
    )
    async with agent:
        return await agent.run(PROMPT)


class Cast:
    """One model for several conversations: each agent speaks its own part."""

    wire: Wire = "anthropic"
    name = "scripted:demo"
    context_window = 200_000

    def __init__(self, *, fast: bool, is_steered: bool = False) -> None:
        """Speak the parts; `is_steered`: go along where the person wants something else than the story."""

        def part(turns: list[Any]) -> ScriptedModel:
            return ScriptedModel(turns, name=self.name, is_timed=not fast, chunk=7)

        story = [*_finding_out(), *_carrying_out()]
        self._main = part(steered(story, WITH_AGENTS) if is_steered else story)
        self._others: Mapping[str, ScriptedModel] = {key: part(turns) for key, turns in _EXPLORERS.items()}

    def _speaker(self, request: ModelRequest) -> ScriptedModel:
        first = str(request.messages[0]["content"])
        return next((model for key, model in self._others.items() if key in first), self._main)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """The next turn of whoever is asked."""
        async for event in self._speaker(request).stream(request):
            yield event

    async def count_tokens(self, request: ModelRequest) -> int:
        """An estimate."""
        return await self._main.count_tokens(request)

    def cost_usd(self, usage: Usage) -> float:
        """Nothing."""
        return self._main.cost_usd(usage)

    async def close(self) -> None:
        """Nothing to give back."""


def _say(text: str, *calls: dict[str, Any], expect: str | Sequence[str] = ()) -> dict[str, Any]:
    blocks: list[Any] = [{"text": text, "pace_s": 0.02}] if text else []
    return {"after_s": 0.3, "expect": expect, "blocks": [*blocks, *calls]}


def _use(tool: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "input": arguments, "chunk": 60}


def _explore(description: str, prompt: str) -> dict[str, Any]:
    return _use("Agent", description=description, prompt=prompt, subagent_type="Explore")


_PARTS: Final = {
    "prices": "Quick: what do prices.py and shipping.py of the shop compute? Write no code.",
    "orders": "Quick: where is the discount taken in orders.py? Write no code.",
    "tests": "Quick: what do the tests of the shop expect of large orders? Write no code.",
}
_EXPLORERS: Final[Mapping[str, list[Any]]] = {
    _PARTS["prices"]: [
        [_use("Read", file_path="shop/prices.py"), _use("Read", file_path="shop/shipping.py")],
        "Prices are plain numbers, shipping depends on the items. Neither knows of a discount.",
    ],
    _PARTS["orders"]: [
        [_use("Grep", pattern="DISCOUNT", path="shop", output_mode="content", **{"-n": True})],
        [_use("Read", file_path="shop/orders.py")],
        "`subtotal` takes 10 % of orders from 100 on, and `total` takes it once more from what is left.",
    ],
    _PARTS["tests"]: [
        [_use("Read", file_path="tests/test_orders.py")],
        "A large order costs 137.85, which is one discount. Shipping has none.",
    ],
}


def _finding_out() -> list[Any]:
    """What the main agent says until there is a plan, turn by turn."""
    return [
        _say(
            "Three explorers look at it side by side.",
            _explore("Look at prices", _PARTS["prices"]),
            _explore("Look at orders", _PARTS["orders"]),
            _explore("Look at tests", _PARTS["tests"]),
        ),
        _say(
            "The discount is taken twice. Where it belongs is your choice.",
            _use(
                "AskUserQuestion",
                questions=[
                    {
                        "question": _QUESTION,
                        "header": "Discount",
                        "options": [
                            {"label": "subtotal", "description": "as its documentation says"},
                            {"label": "total", "description": "subtotal would be a plain sum"},
                        ],
                    }
                ],
            ),
            expect=["once more from what is left", "137.85"],
        ),
        _say("Then I plan it before I touch anything.", _use("EnterPlanMode"), expect="subtotal"),
        _write_plan,
        _say("", _use("ExitPlanMode", allowedPrompts=[{"tool": "Bash", "prompt": TESTS}])),
    ]


def _carrying_out() -> list[Any]:
    """What it says then."""
    return [
        _say(
            "Approved. The steps go on a list, and the work into a worktree.",
            _use("TaskCreate", subject="Take the discount once", description="total uses subtotal as it is"),
            _use("TaskCreate", subject="Run the tests", description=TESTS),
            _use("TaskCreate", subject="Commit", description="on the worktree's branch"),
            _use("EnterWorktree", name="one-discount"),
            expect="approved the plan",
        ),
        _say("", _use("TaskUpdate", taskId="1", status="in_progress"), _use("Read", file_path="shop/orders.py")),
        _say("", _use("Edit", file_path="shop/orders.py", old_string=_OLD, new_string=_NEW), expect="def total"),
        _say(
            "",
            _use("TaskUpdate", taskId="1", status="completed"),
            _use("TaskUpdate", taskId="2", status="in_progress"),
            _use("Bash", command=TESTS, description="Run the test suite"),
        ),
        _say(
            "All green, and nobody was asked again: the plan had named that command.",
            _use("TaskUpdate", taskId="2", status="completed"),
            _use("TaskUpdate", taskId="3", status="in_progress"),
            _use("Skill", skill="commit-style"),
            expect="OK",
        ),
        _say("", _use("Bash", command=_COMMIT, description="Commit the fix"), expect="room: What is different now"),
        _say("", _use("TaskUpdate", taskId="3", status="completed"), _use("ExitWorktree", action="keep")),
        _say(
            "Done. The discount of large orders is taken once. The fix is on the branch `worktree-one-discount`; your "
            "checkout is as it was. Merge it with `git merge worktree-one-discount`.",
            expect="stays in",
        ),
    ]


def _write_plan(request: ModelRequest) -> dict[str, Any]:
    """The plan file has a name of its own in every session; the reply to EnterPlanMode tells it."""
    found = re.search(r"(/\S+plan\.md)", newest_text(request))
    return _say("", _use("Write", file_path=found[1] if found else "plan.md", content=_PLAN))
