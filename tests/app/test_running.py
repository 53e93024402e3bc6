"""The face of a running agent: what a terminal or a program at the other end sees of it and may do."""

import asyncio
from pathlib import Path

import pytest

from holdfast.app.begin import SessionChoice
from holdfast.app.options import AgentOptions, Options
from holdfast.app.running import RunningAgent
from holdfast.app.start_agent import start_agent
from holdfast.contract import Answer, Question, UsageError
from holdfast.engine import OpenQuestions
from holdfast.events import RunEnded
from holdfast.testing import ScriptedModel

NO_TRACE = SessionChoice(is_kept=False)


async def started(folder: Path, *turns: object, asker: OpenQuestions | None = None) -> RunningAgent:
    options = Options(cwd=str(folder), permission_mode="default")
    return await start_agent(options, AgentOptions(model=ScriptedModel(list(turns))), choice=NO_TRACE, asker=asker)


def test_a_face_knows_mode_directory_tools_and_model(tmp_path: Path) -> None:
    async def scene() -> None:
        async with await started(tmp_path, "Hello.") as agent:
            assert (agent.mode, agent.cwd, agent.is_running) == ("default", str(tmp_path), False)
            assert {"Read", "Bash"} <= {tool.name for tool in agent.tools}
            ended = [event async for event in agent.run("Hi.")][-1]
            assert isinstance(ended, RunEnded)
            assert (ended.text, len(agent.history)) == ("Hello.", 2)
            assert agent.model.name

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_a_face_changes_the_mode_and_cannot_enter_what_the_session_may_not(tmp_path: Path) -> None:
    async def scene() -> None:
        async with await started(tmp_path, "Hello.") as agent:
            assert agent.change_mode("plan") == agent.mode == "plan"
            with pytest.raises(UsageError, match="bypassPermissions"):
                agent.change_mode("bypassPermissions")
            with pytest.raises(UsageError, match="no permission mode 'plann'"):
                agent.change_mode("plann")
            assert agent.mode == "plan"

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_a_face_sees_which_questions_wait(tmp_path: Path) -> None:
    seen: list[tuple[Question, ...]] = []

    async def scene() -> None:
        def show(question: Question) -> None:
            def answer() -> None:
                seen.append(agent.questions)
                questions.answer(question.id, Answer("allow"))

            asyncio.get_running_loop().call_soon(answer)

        questions = OpenQuestions(show)
        write = {"tool": "Write", "input": {"file_path": str(tmp_path / "new"), "content": "x"}}
        agent = await started(tmp_path, [write], "Done.", asker=questions)
        async with agent:
            async for _ in agent.run("Go."):
                pass
            assert agent.questions == ()

    asyncio.run(asyncio.wait_for(scene(), 30))
    assert [[question.tool for question in asked] for asked in seen] == [["Write"]]
    assert (tmp_path / "new").read_text() == "x"
