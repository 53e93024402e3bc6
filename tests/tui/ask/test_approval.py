"""What stands in a permission question: what, where, why, each part with its verdict, the risk, and where rules go."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.tui.faces import AnsweringFace

from holdfast.contract import Answer, Question, QuestionBrief, QuestionPart, QuestionStanding, RuleUpdate
from holdfast.permissions import Step
from holdfast.permissions.rules.grammar import Rule, RuleSource
from holdfast.tui.ask.asker import TerminalAsker
from holdfast.tui.ask.menu import Chosen, Menu

BRIEF = QuestionBrief(
    (QuestionPart("ls", "reads"), QuestionPart("rm -rf build", "ask", "it removes files")), True, "removes much"
)


class SilentFace(AnsweringFace):
    """Somebody sits there and says nothing."""

    async def choose(self, menu: Menu) -> Chosen:
        return await menu.answer


def question(place: Path, **more: Any) -> Question:
    basis = Question(
        "q",
        "t",
        "Bash",
        {"command": "ls && rm -rf build", "description": "Clean up"},
        "the rule Bash(rm *) asks about it",
        ("Bash(rm -rf build)",),
        cwd=str(place),
        agent="Explore",
        brief=lambda: BRIEF,
    )
    return basis._replace(**more)


def ask(face: AnsweringFace, asked: Question) -> Answer:
    async def run() -> Answer:
        return await TerminalAsker(face).ask(asked)

    return asyncio.run(run())


def test_it_says_what_where_why_and_how_risky(tmp_path: Path) -> None:
    face = AnsweringFace(5, columns=200)
    assert ask(face, question(tmp_path)) == Answer()
    assert face.text == (
        f"? Bash wants to run this command in {tmp_path}, for the agent Explore\n"
        "  Clean up\n"
        "  │ ls && rm -rf build\n"
        "    ✓ ls  only read\n"
        "    ? rm -rf build  it removes files\n"
        "  risk high: removes much\n"
        "  asked because the rule Bash(rm *) asks about it\n"
        "  ⎿ you: No"
    )


def test_the_rule_that_asks_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    face = AnsweringFace(5, columns=200)
    rule = Rule.parse("ask", "Bash(rm *)", RuleSource("project", f"{tmp_path}/settings.json", line=7))
    ask(face, question(tmp_path, trace=(Step("ask", "ask", "it is asked", rule),)))
    assert f"layer ask, the rule Bash(rm *) of {tmp_path}/settings.json:7" in face.text


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((1,), Answer("allow")),
        ((2,), Answer("allow", rules=("Bash(rm -rf build)",), destination="session")),
        ((3, 1), Answer("allow", rules=("Bash(rm -rf build)",), destination="localSettings")),
        ((3, 2), Answer("allow", rules=("Bash(rm -rf build)",), destination="projectSettings")),
        ((3, 3), Answer("allow", rules=("Bash(rm -rf build)",), destination="userSettings")),
        ((3, 4), Answer(updates=(RuleUpdate("deny", ("Bash(rm -rf build)",), "localSettings"),))),
        ((3, 5, 1), Answer("allow")),
        ((3, None, None), Answer()),
        (((4, "use git clean"),), Answer(message="use git clean")),
        ((None,), Answer()),
    ],
)
def test_every_answer_means_what_it_says(tmp_path: Path, answers: tuple[int], expected: Answer) -> None:
    face = AnsweringFace(*answers)
    assert ask(face, question(tmp_path)) == expected
    assert face.answers == []
    assert face.text.count("wants to run") == 1


def test_the_files_that_rules_go_to_are_named(tmp_path: Path) -> None:
    face = AnsweringFace(3, None, None)
    ask(face, question(tmp_path))
    labels = [option.label for option in face.menus[1].options]
    assert f"({tmp_path}/.holdfast/settings.local.json)" in labels[0]
    assert f"({tmp_path}/.holdfast/settings.json)" in labels[1]
    assert "settings.json)" in labels[2]


def test_words_with_a_yes_are_told(tmp_path: Path) -> None:
    async def run() -> tuple[Answer, list[str]]:
        told: list[str] = []
        asker = TerminalAsker(AnsweringFace((1, "and then the docs")))
        asker.on_word = told.append
        return await asker.ask(question(tmp_path)), told

    assert asyncio.run(run()) == (Answer("allow"), ["and then the docs"])


def test_a_long_command_shows_both_ends_and_its_size_and_opens_whole(tmp_path: Path) -> None:
    face = AnsweringFace(None)
    command = "\n".join(f"echo {number}" for number in range(1_000))
    ask(face, question(tmp_path, input={"command": command}))
    assert "│ echo 0" in face.text
    assert "│ echo 999" in face.text
    assert "920 more lines, Ctrl-O shows all" in face.text
    assert "1,000 lines" in face.text
    opened = face.menus[0].opens
    assert opened is not None
    assert sum("echo" in text for line in opened() for _, text in line) == 1_000


def test_a_question_that_is_withdrawn_says_so(tmp_path: Path) -> None:
    async def run() -> str:
        face = SilentFace()
        waiting = asyncio.create_task(TerminalAsker(face).ask(question(tmp_path)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        assert waiting.cancelled()
        return face.text

    assert asyncio.run(run()) == "  ⎿ no longer asked: Let Bash do this? ls && rm -rf build"


class WaitingFace(SilentFace):
    """Somebody sits there who answers later."""

    async def choose(self, menu: Menu) -> Chosen:
        self.menus.append(menu)
        return await menu.answer


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (QuestionStanding("allow", "the rule Bash(rm *) allows it"), Answer("allow", by_nobody=True)),
        (
            QuestionStanding("deny", "the rule Bash(rm *) denies it"),
            Answer(message="the rule Bash(rm *) denies it", by_nobody=True),
        ),
    ],
)
@pytest.mark.parametrize("is_keeping", [False, True])
def test_a_question_that_the_rights_have_settled_meanwhile_leaves(
    tmp_path: Path, standing: QuestionStanding, expected: Answer, *, is_keeping: bool
) -> None:
    async def run() -> tuple[Answer, str]:
        now = QuestionStanding("ask", "the rule Bash(rm *) asks about it", ("Bash(rm -rf build)",))
        face = WaitingFace(columns=200)
        asker = TerminalAsker(face)
        asked = asyncio.ensure_future(asker.ask(question(tmp_path, standing=lambda: now)))
        await turn()
        if is_keeping:
            face.menus[0].answer_with(2)
            await turn()
        asker.look_again()
        await turn()
        assert not asked.done()
        now = standing
        asker.look_again()
        async with asyncio.timeout(60):
            return await asked, face.text

    answer, shown = asyncio.run(run())
    assert answer == expected
    assert f"no longer asked: Let Bash do this? ls && rm -rf build: {standing.reason}" in shown


def test_other_rules_are_offered_where_some_hold_already_and_only_these_are_kept(tmp_path: Path) -> None:
    async def run() -> Answer:
        now = QuestionStanding("ask", "it creates files", ("Bash(curl *)",))
        face = WaitingFace(columns=200)
        asker = TerminalAsker(face)
        asked = asyncio.ensure_future(
            asker.ask(question(tmp_path, suggestions=("Bash(touch *)", "Bash(curl *)"), standing=lambda: now))
        )
        await turn()
        menu = face.menus[0]
        assert menu.options[1].label == "Yes, and for this session allow Bash(touch *), Bash(curl *)"
        menu.is_typing = True
        asker.look_again()
        assert "touch" in menu.options[1].label  # not under the fingers of who writes
        menu.is_typing = False
        asker.look_again()
        assert menu.options[1].label == "Yes, and for this session allow Bash(curl *)"
        assert menu.place == len(menu.options) - 1
        menu.answer_with(1)
        async with asyncio.timeout(60):
            return await asked

    assert asyncio.run(run()) == Answer("allow", rules=("Bash(curl *)",), destination="session")
