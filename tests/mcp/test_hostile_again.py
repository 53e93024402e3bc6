"""More servers that lie, flood and break, and some of earlier years: one reply each, and nothing stays."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.app import elicitation
from holdfast.contract import Form, FormAnswer
from holdfast.host import tree
from holdfast.mcp import session
from holdfast.mcp.wire import McpError, read_line
from holdfast.models.scripted import ScriptedModel
from holdfast.settings.mcp_servers import ServerEntry

SCENE = str(Path(__file__).parents[1] / "data" / "mcp" / "scene_again.py")
ANSWERED = {
    "flapping": "list 1",
    "twins": "list 1",
    "laughs": "list 1",
    "mutual": "list 1",
    "takes-a-name": "list 1",
    "odd-greeting": "list 1",
    "twice": "list 1",
    "too-soon": "list",
    "same-keys": "nothing",
    "too-early": "now",
    "long-number": '{"x":1',
    "cancels-us": "kept",
    "pings": "after the pings",
    "mark-first": "behind a mark",
    "way-out": "etc/passwd",
    "fence": "obey",
    "never-ends": "list 1",
    "dies-at-questions": "list 1",
}
REFUSED = {
    "both": "and an error",
    "no-number": "cannot be read",
    "over-lines": "cannot be read",
    "two-in-a-line": "cannot be read",
    "error-flag": "protocol",
    "wants-much": "not supported",
    "bad-places": "not supported",
    "deep-error": "cannot be read",
    "huge-code": "[31m",
    "redos": "does not match",
}


def entry(scene: str, *more: str, **config: Any) -> ServerEntry:
    return ServerEntry("scene", {"command": sys.executable, "args": [SCENE, scene, *more], **config}, "user")


@pytest.mark.parametrize("scene", [*ANSWERED, *REFUSED])
async def test_each_call_has_one_reply_and_so_has_the_next(kit: Any, scene: str) -> None:
    async with kit.hub(entry(scene, timeout=30_000)) as hub:
        executor = await kit.connected(hub)
        for _ in range(2):
            reply = await kit.call(executor, "mcp__scene__echo", {"text": "a" * 40 + "!"})
            assert {**ANSWERED, **REFUSED}[scene] in str(reply.content)
            assert reply.is_error == (scene in REFUSED)
            assert len(str(reply.content)) < 3_000


async def test_halves_of_letters_become_the_letter_for_unknown_ones_and_whole_ones_stay(kit: Any) -> None:
    async with kit.hub(entry("half-letters")) as hub:
        reply = await kit.call(await kit.connected(hub), "mcp__scene__echo")
        assert reply.content == "\U0001f600 a\ufffdb \\ud800 \ufffd"
        assert [tool.listed.name for tool in hub.tools()] == ["a\ufffd", "echo"]
    with pytest.raises(ValueError, match="malformed"):
        read_line(b'{"id":1,"result":"\\u12"}')


async def test_a_server_that_lists_without_measure_is_cut_and_one_that_lists_nonsense_is_told(kit: Any) -> None:
    async with kit.hub(entry("many")) as hub:
        await hub.servers["scene"].ensure()
        assert len(hub.tools()) == 20_000
    for scene, said in (("no-list", "broken way"), ("dies-twice", "no licence")):
        async with kit.hub(entry(scene)) as hub:
            with pytest.raises(McpError, match=said):
                await hub.servers["scene"].ensure()
    async with kit.hub(entry("odd-capabilities")) as hub:
        await hub.servers["scene"].ensure()
        assert hub.tools() == []


async def test_a_server_that_died_of_a_new_question_is_not_asked_it_again(kit: Any) -> None:
    async with kit.hub(entry("dies-at-questions")) as hub:
        await hub.servers["scene"].ensure()
        assert hub.servers["scene"].greeting.version == "2025-11-25"
    async with kit.hub(entry("dies-at-questions")) as hub:
        assert hub.servers["scene"].record.is_older
        await hub.servers["scene"].ensure()


async def test_a_server_that_hears_nothing_any_more_is_started_again(kit: Any) -> None:
    async with kit.hub(entry("deaf", timeout=30_000)) as hub:
        executor = await kit.connected(hub)
        assert (await kit.call(executor, "mcp__scene__echo")).content == "deaf now"
        assert "closed its output" in str((await kit.call(executor, "mcp__scene__echo")).content)
        assert (await kit.call(executor, "mcp__scene__echo")).content == "deaf now"


async def test_what_a_server_left_behind_in_a_session_of_its_own_ends_with_it(kit: Any, tmp_path: Path) -> None:
    async with kit.hub(entry("stays", str(tmp_path / "pid"))) as hub:
        await kit.call(await kit.connected(hub), "mcp__scene__echo")
        left = tree.read_entry(int((tmp_path / "pid").read_text()))
        assert left is not None
    async with asyncio.timeout(10):
        await kit.until(lambda: not _runs(left.pid, left.start_ticks))


def _runs(pid: int, start_ticks: int) -> bool:
    found = tree.read_entry(pid)
    return found is not None and found.is_running and found.start_ticks == start_ticks


async def test_questions_that_nobody_reads_the_answers_to_do_not_pile_up() -> None:
    class Deaf:
        """Takes nothing."""

        async def send(self, message: bytes, **more: Any) -> None:
            await asyncio.get_running_loop().create_future()

        async def close(self) -> None:
            """It is closed."""

    one = session.Session("s")
    one.transport = Deaf()  # type: ignore[assignment]
    for number in range(10_000):
        one.take(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number)
    assert len(one._answering) <= session._MOST_ANSWERS
    await one.close()


async def test_who_takes_no_notification_is_given_up() -> None:
    class Deaf:
        """Takes nothing."""

        async def send(self, message: bytes, **more: Any) -> None:
            await asyncio.get_running_loop().create_future()

    one = session.Session("s")
    one.transport = Deaf()  # type: ignore[assignment]
    with pytest.raises(McpError, match="did not take notifications/initialized"):
        await one.notify("notifications/initialized", limit_s=0.01)


def asked(place: Path, fill: Any, *more: str, **config: Any) -> str:
    """What the server says that it asked for and got."""
    servers = {"scene": {"command": sys.executable, "args": [SCENE, "asks-for-ever", *more], **config}}
    call: list[dict[str, Any]] = [{"type": "tool_use", "id": "t1", "name": "mcp__scene__echo", "input": {}}]
    replies: list[Any] = []

    async def run() -> None:
        model = ScriptedModel([call, "done"])
        given = json.dumps({"mcpServers": servers})
        async with Agent(
            model,
            cwd=str(place),
            on_event=replies.append,
            on_form=fill,
            mcp_config=given,
            strict_mcp_config=True,
            allowed_tools="mcp__scene",
        ) as agent:
            await asyncio.wait_for(agent.run("go"), 60)

    asyncio.run(run())
    return next(event.content for event in replies if type(event).__name__ == "CallFinished")


def test_after_three_refusals_in_a_row_a_server_has_to_wait(tmp_path: Path) -> None:
    seen: list[Form] = []

    def refuse(form: Form) -> FormAnswer:
        seen.append(form)
        return FormAnswer("cancel")

    assert asked(tmp_path, refuse, "30").split() == ["cancel"] * 3 + ["decline"] * 27
    assert len(seen) == 3


def test_the_wait_ends_and_an_answer_ends_the_row() -> None:
    now = [0.0]
    patience = elicitation._Patience(lambda: now[0])
    for refused in (True, True, False, True, True):
        patience.answered(refused=refused)
        assert not patience.is_over()
    patience.answered(refused=True)
    assert patience.is_over()
    now[0] = 61.0
    assert not patience.is_over()


def test_the_time_in_which_a_person_thinks_is_not_the_calls(tmp_path: Path) -> None:
    async def fill(form: Form) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        loop.call_later(0.6, over.set_result, None)
        await over
        return {"p": "x"}

    assert asked(tmp_path, fill, "2", timeout=400) == "accept accept"
