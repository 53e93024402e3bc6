"""Commands in the terminals of an editor: real processes, started by the editor as it likes."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.acp.conftest import Editor, Opener, choosing

from holdfast.app.options import Options
from holdfast.host.tree import read_entry

Fields = dict[str, Any]
Starter = Callable[[Fields], list[str]]
SHOWS: Fields = {"terminal": True}


def call(name: str, /, **given: Any) -> Fields:
    return {"tool": name, "input": given}


def directly(params: Fields) -> list[str]:
    return [params["command"], *params["args"]]


def by_a_shell(params: Fields) -> list[str]:
    return ["/bin/sh", "-c", " ".join((params["command"], *params["args"]))]


class Terminals:
    """What an editor does behind `terminal/*`: a process each, and its output as text."""

    def __init__(self, starter: Starter = directly, environ: dict[str, str] | None = None) -> None:
        self.starter = starter
        self.environ = {**os.environ, **(environ or {})}
        self.opened: dict[str, asyncio.subprocess.Process] = {}
        self.texts: dict[str, asyncio.Future[bytes]] = {}
        self.methods: list[str] = []
        self.created = asyncio.Event()

    @property
    def replies(self) -> dict[str, Callable[[Fields], Any]]:
        names = ("create", "output", "wait_for_exit", "kill", "release")
        return {f"terminal__{name}": self._told(name) for name in names}

    def _told(self, name: str) -> Callable[[Fields], Any]:
        def reply(params: Fields) -> Any:
            self.methods.append(name)
            return getattr(self, name)(params)

        return reply

    async def create(self, params: Fields) -> Fields:
        process = await asyncio.create_subprocess_exec(
            *self.starter(params),
            cwd=params["cwd"],
            env=self.environ,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        id_ = f"t{len(self.opened)}"
        assert process.stdout is not None
        self.opened[id_] = process
        self.texts[id_] = asyncio.ensure_future(process.stdout.read())
        self.created.set()
        return {"terminalId": id_}

    async def wait_for_exit(self, params: Fields) -> Fields:
        code = await asyncio.wait_for(self.opened[params["terminalId"]].wait(), 60)
        return {"exitCode": code} if code >= 0 else {"signal": signal.Signals(-code).name}

    async def output(self, params: Fields) -> Fields:
        return {"output": (await self.texts[params["terminalId"]]).decode(), "truncated": False}

    def kill(self, params: Fields) -> Fields:
        process = self.opened[params["terminalId"]]
        if process.returncode is None:
            process.kill()
        return {}

    def release(self, params: Fields) -> Fields:
        return {}


def results(one: Editor) -> list[Fields]:
    return [update for update in one.told("tool_call_update") if update.get("status") in ("completed", "failed")]


@pytest.mark.parametrize("starter", [directly, by_a_shell])
def test_a_command_runs_in_a_terminal_of_the_editor_as_it_was_judged(
    editor: Opener, project: Path, starter: Starter
) -> None:
    text = "echo \"it's $((40 + 2))\"; printf '%s|' a 'b  c' '$HOME'; cd sub; pwd; exit 3"
    (project / "sub").mkdir()

    async def main() -> None:
        shown = Terminals(starter)
        turns = [
            [call("Bash", command=text)],
            {"blocks": [call("Bash", command="pwd")], "expect": ["it's 42", "a|b  c|$HOME|", "Exit code 3"]},
            {"blocks": ["Done."], "expect": [str(project / "sub")]},
        ]
        async with editor(turns, options=Options(permission_mode="bypassPermissions"), **shown.replies) as one:
            session = await one.open(project, capabilities=SHOWS)
            assert await one.say(session, "go") == {"stopReason": "end_turn"}
            first, second = results(one)
            assert first["content"] == [{"type": "terminal", "terminalId": "t0"}]
            assert (first["status"], first["rawOutput"]["exitCode"]) == ("failed", 3)
            assert second["content"] == [{"type": "terminal", "terminalId": "t1"}]
            earlier = one.told("tool_call_update").index(first)
            live = [
                update.get("content") for update in (*one.told("tool_call"), *one.told("tool_call_update")[:earlier])
            ]
            assert first["content"] in live
            assert shown.methods == ["create", "wait_for_exit", "output", "release"] * 2
            programs = [asked["command"] for asked in one.asked if asked["method"] == "terminal/create"]
            assert [os.path.basename(program).partition("-")[0] for program in programs] == ["echo", "pwd"]
            assert not any(os.path.exists(os.path.dirname(program)) for program in programs)

    asyncio.run(main())


def test_of_the_editors_own_environment_a_command_sees_nothing(
    editor: Opener, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"touch {tmp_path / 'sprung'}\n", encoding="utf-8")
    monkeypatch.setenv("KEPT_FOR_COMMANDS", "two words")

    async def main() -> str:
        shown = Terminals(
            environ={"ANTHROPIC_API_KEY": "sk-secret", "BASH_ENV": str(trap), "ONLY_EDITOR": "1", "IFS": "x"}
        )
        turns = [[call("Bash", command="env; make --version")], "Done."]
        async with editor(turns, options=Options(permission_mode="bypassPermissions"), **shown.replies) as one:
            await one.say(await one.open(project, capabilities=SHOWS), "go")
            return results(one)[0]["rawOutput"]["stdout"]

    seen = asyncio.run(main())
    assert "KEPT_FOR_COMMANDS=two words" in seen
    assert "TERM=dumb" in seen
    assert "sk-secret" not in seen
    assert "ONLY_EDITOR" not in seen
    assert not (tmp_path / "sprung").exists()


def test_what_a_person_refuses_is_never_handed_to_the_editor(editor: Opener, project: Path) -> None:
    async def main() -> None:
        shown = Terminals()
        turns = [[call("Bash", command="make all")], "Done."]
        async with editor(turns, **shown.replies, session__request_permission=choosing("nothing")) as one:
            await one.say(await one.open(project, capabilities=SHOWS), "go")
            assert shown.methods == []

    asyncio.run(main())


def test_background_commands_stay_with_us(editor: Opener, project: Path) -> None:
    async def main() -> None:
        shown = Terminals()
        turns = [[call("Bash", command="true; :", run_in_background=True)], "Done.", "It ended."]
        async with editor(turns, options=Options(permission_mode="bypassPermissions"), **shown.replies) as one:
            await one.say(await one.open(project, capabilities=SHOWS), "go")
            assert shown.methods == []

    asyncio.run(main())


def never(_params: Fields) -> None:
    """No answer."""


def cannot(_params: Fields) -> Fields:
    return {"terminalId": 3}


@pytest.mark.parametrize("kind", ["refuses", "says nonsense", "does not reach the file"])
def test_what_the_editor_cannot_do_is_done_here_and_once(editor: Opener, project: Path, kind: str) -> None:
    async def main() -> None:
        shown = Terminals(lambda _params: ["/bin/false"])
        replies: dict[str, Any] = dict(shown.replies)
        if kind == "refuses":
            replies = {}
        elif kind == "says nonsense":
            replies["terminal__create"] = cannot
        turns = [[call("Bash", command="echo x >> made; echo here")], [call("Bash", command="echo y >> made")], "Done."]
        async with editor(turns, options=Options(permission_mode="bypassPermissions"), **replies) as one:
            await one.say(await one.open(project, capabilities=SHOWS), "go")
            assert (project / "made").read_text(encoding="utf-8") == "x\ny\n"
            assert "here" in json.dumps(results(one)[0])
            if kind == "does not reach the file":
                assert shown.methods.count("create") == 1

    asyncio.run(main())


def test_a_command_beyond_its_time_is_ended_with_all_that_it_started(editor: Opener, project: Path) -> None:
    text = "setsid tail -f /dev/null & echo $! > pid; echo begun; tail -f /dev/null"

    async def main() -> None:
        shown = Terminals()
        turns = [[call("Bash", command=text, timeout=700)], "Done."]
        async with editor(turns, options=Options(permission_mode="bypassPermissions"), **shown.replies) as one:
            await one.say(await one.open(project, capabilities=SHOWS), "go")
            assert results(one)[0]["rawOutput"]["timedOutAfterMs"] == 700
            assert "begun" in results(one)[0]["rawOutput"]["stdout"]
        left = read_entry(int((project / "pid").read_text(encoding="utf-8")))
        assert left is None or not left.is_running

    asyncio.run(main())


def test_cancelled_the_command_ends_and_nothing_waits_for_the_editor(editor: Opener, project: Path) -> None:
    async def main() -> None:
        shown = Terminals()
        replies = {**shown.replies, "terminal__kill": never}
        turns = [[call("Bash", command="echo $$ > pid; tail -f /dev/null")], "never"]
        async with editor(turns, options=Options(permission_mode="bypassPermissions"), **replies) as one:
            session = await one.open(project, capabilities=SHOWS)
            answer = one.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
            await asyncio.wait_for(shown.created.wait(), 60)
            one.send(method="session/cancel", params={"sessionId": session})
            assert await asyncio.wait_for(answer, 60) == {"stopReason": "cancelled"}
            await asyncio.wait_for(shown.opened["t0"].wait(), 60)

    asyncio.run(main())


def test_an_editor_that_hangs_up_hangs_no_command(editor: Opener, project: Path) -> None:
    async def main() -> None:
        shown = Terminals()
        turns = [[call("Bash", command="tail -f /dev/null")], "never"]
        async with editor(turns, options=Options(permission_mode="bypassPermissions"), **shown.replies) as one:
            session = await one.open(project, capabilities=SHOWS)
            one.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
            await asyncio.wait_for(shown.created.wait(), 60)
            await asyncio.wait_for(one.server.close(), 60)
            await asyncio.wait_for(shown.opened["t0"].wait(), 60)

    asyncio.run(main())


def test_without_the_capability_no_terminal_is_asked_for(editor: Opener, project: Path) -> None:
    async def main() -> None:
        shown = Terminals()
        turns = [[call("Bash", command="echo here")], "Done."]
        async with editor(turns, options=Options(permission_mode="bypassPermissions"), **shown.replies) as one:
            await one.say(await one.open(project), "go")
            assert shown.methods == []
            assert results(one)[0]["content"][0]["type"] == "content"

    asyncio.run(main())
