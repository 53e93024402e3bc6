"""What comes while a question is open waits for its answer, in its order."""

import asyncio

from holdfast.tui.holding import Holding


def test_what_comes_meanwhile_stands_behind_what_is_told_of_the_answer() -> None:
    done: list[str] = []

    async def run() -> None:
        holding = Holding()

        def say(text: str) -> None:
            holding.do(lambda: done.append(text))

        async def ask() -> None:
            say("question")
            holding.hold()
            await answer
            holding.answered()
            say("told")

        async def other() -> None:
            await answer
            say("late")

        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asking, beside = asyncio.ensure_future(ask()), asyncio.ensure_future(other())
        await asyncio.sleep(0)
        say("meanwhile")
        answer.set_result(None)
        await asyncio.gather(asking, beside)
        await asyncio.sleep(0)
        say("after")

    asyncio.run(run())
    assert done == ["question", "told", "meanwhile", "late", "after"]


def test_it_waits_on_where_the_answer_leads_to_another_question() -> None:
    done: list[str] = []

    async def run() -> None:
        holding = Holding()
        holding.hold()
        holding.do(lambda: done.append("meanwhile"))
        holding.answered()
        holding.hold()
        await asyncio.sleep(0)
        assert done == []
        holding.release()

    asyncio.run(run())
    assert done == ["meanwhile"]
