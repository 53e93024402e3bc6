"""An editor works with an agent: prompts, calls, questions, modes, sessions that go on."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict
from tests.acp.conftest import Editor, Opener, RequestFailedError, choosing

from holdfast.app.options import Options
from holdfast.testing import started

Fields = dict[str, Any]


def call(name: str, /, **given: Any) -> Fields:
    return {"tool": name, "input": given}


def test_a_prompt_is_answered_with_text_and_calls_that_the_person_was_asked_about(
    editor: Opener, project: Path
) -> None:
    async def main() -> None:
        turns = [["I write.", call("Write", file_path="a.txt", content="hi\n")], "Done."]
        async with editor(turns, session__request_permission=choosing("allow_once")) as one:
            session = await one.open(project)
            assert await one.say(session, "go") == {"stopReason": "end_turn"}
            assert one.said() == "I write.Done."
            assert (project / "a.txt").read_text(encoding="utf-8") == "hi\n"
            (asked,) = one.asked
            path = str(project / "a.txt")
            diff = {"type": "diff", "path": path, "oldText": None, "newText": "hi\n"}
            assert asked["toolCall"] == IsPartialDict(kind="edit", locations=[{"path": path}])
            assert {option["kind"] for option in asked["options"]} == {
                *("allow_once", "allow_always", "reject_once", "reject_always")
            }
            assert one.told("tool_call")[0] == IsPartialDict(status="pending", content=[diff])
            assert [update.get("status") for update in one.told("tool_call_update")] == ["in_progress", "completed"]
            assert one.told("usage_update")[-1]["size"] > 0

    asyncio.run(main())


@pytest.mark.parametrize("option", ["reject_once", "reject_always", "nothing"])
def test_a_no_of_the_person_is_a_no(editor: Opener, project: Path, option: str) -> None:
    async def main() -> None:
        turns = [[call("Write", file_path="a.txt", content="hi\n")], "Done."]
        async with editor(turns, session__request_permission=choosing(option)) as one:
            session = await one.open(project)
            await one.say(session, "go")
            assert not (project / "a.txt").exists()
            assert one.told("tool_call_update")[-1]["status"] == "failed"

    asyncio.run(main())


def test_an_editor_that_cannot_ask_lets_nothing_pass(editor: Opener, project: Path) -> None:
    async def main() -> None:
        turns = [[call("Write", file_path="a.txt", content="hi\n")], "Done."]
        async with editor(turns) as one:
            session = await one.open(project)
            await one.say(session, "go")
            assert not (project / "a.txt").exists()

    asyncio.run(main())


def test_always_holds_for_the_session(editor: Opener, project: Path) -> None:
    async def main() -> None:
        twice = [[call("Bash", command=f"make {target}")] for target in ("a", "a")]
        (project / "Makefile").write_text("a:\n\techo made\n", encoding="utf-8")
        async with editor([*twice, "Done."], session__request_permission=choosing("session")) as one:
            session = await one.open(project)
            await one.say(session, "go")
            assert len(one.asked) == 1

    asyncio.run(main())


def test_cancel_ends_the_prompt_and_what_it_runs(editor: Opener, project: Path) -> None:
    async def main() -> None:
        turns = [[call("Bash", command="echo $$ > pid; exec tail -f /dev/null")], "never"]
        async with editor(turns, options=Options(permission_mode="bypassPermissions")) as one:
            session = await one.open(project)
            begun = asyncio.Event()

            def hear(update: Fields) -> None:
                if update.get("status") == "in_progress":
                    begun.set()

            one.on_update = hear
            answer = one.start("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
            await asyncio.wait_for(begun.wait(), 60)
            with pytest.raises(RequestFailedError) as refused:
                await one.say(session, "another")
            assert "under way" in str(refused.value)
            one.send(method="session/cancel", params={"sessionId": session})
            assert await asyncio.wait_for(answer, 60) == {"stopReason": "cancelled"}
            assert one.told("tool_call_update")[-1]["status"] == "failed"

    asyncio.run(main())


def test_modes_and_models_are_chosen_and_told(editor: Opener, project: Path) -> None:
    async def main() -> None:
        turns = [[call("Write", file_path="a.txt", content="hi\n")], "Done.", "Again."]
        async with editor(turns) as one:
            await one.request("initialize", protocolVersion=1)
            made = await one.request("session/new", cwd=str(project), mcpServers=[])
            ids = [mode["id"] for mode in made["modes"]["availableModes"]]
            assert ids == ["default", "plan", "acceptEdits", "auto", "dontAsk"]
            session = made["sessionId"]
            await one.request("session/set_mode", sessionId=session, modeId="acceptEdits")
            await one.say(session, "go")
            assert (project / "a.txt").exists()
            with pytest.raises(RequestFailedError):
                await one.request("session/set_mode", sessionId=session, modeId="bypassPermissions")
            chosen = await one.request("session/set_config_option", sessionId=session, configId="mode", value="plan")
            assert chosen["configOptions"][0]["currentValue"] == "plan"
            assert one.told("current_mode_update")[-1]["currentModeId"] == "plan"
            with pytest.raises(RequestFailedError):
                await one.request("session/set_config_option", sessionId=session, configId="model", value="x")

    asyncio.run(main())


def test_the_list_of_work_is_the_plan_of_the_editor(editor: Opener, project: Path) -> None:
    async def main() -> None:
        create = [call("TaskCreate", subject=subject, description="d") for subject in ("one", "two")]
        turns = [create, [call("TaskUpdate", taskId="1", status="in_progress")], "Done."]
        async with editor(turns) as one:
            await one.say(await one.open(project), "go")
            entries = [{**entry, "priority": "medium"} for entry in one.told("plan")[-1]["entries"]]
            assert [(entry["content"], entry["status"]) for entry in entries] == [
                ("one", "in_progress"),
                ("two", "pending"),
            ]

    asyncio.run(main())


def test_sessions_are_listed_and_opened_again_with_their_conversation(editor: Opener, project: Path) -> None:
    (project / "f.txt").write_text("x\n", encoding="utf-8")

    async def main() -> None:
        turns = [["Look.", call("Read", file_path="f.txt")], "Done.", {"blocks": ["More."], "expect": ["again"]}]
        async with editor(turns) as one:
            session = await one.open(project)
            await one.say(session, "first words")
            await one.request("session/close", sessionId=session)
            with pytest.raises(RequestFailedError) as gone:
                await one.say(session, "too late")
            assert gone.value.code == -32002
            (listed,) = (await one.request("session/list", cwd=str(project)))["sessions"]
            assert listed == IsPartialDict(sessionId=session, title="first words", cwd=str(project))
            one.updates.clear()
            await one.request("session/load", sessionId=session, cwd=str(project), mcpServers=[])
            kinds = [update["sessionUpdate"] for update in one.updates]
            assert kinds[:5] == [
                *("user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk")
            ]
            one.updates.clear()
            await one.request("session/resume", sessionId=session, cwd=str(project))
            assert not one.told("user_message_chunk")
            with pytest.raises(RequestFailedError) as unknown:
                await one.request("session/resume", sessionId="01a00000-no", cwd=str(project))
            assert unknown.value.code == -32002

    asyncio.run(main())


def test_a_folder_is_trusted_by_its_person_before_its_instructions_count(editor: Opener, project: Path) -> None:
    (project / "CLAUDE.md").write_text("Always say please.\n", encoding="utf-8")

    async def main(option: str) -> list[Fields]:
        async with editor(["Hello."], session__request_permission=choosing(option)) as one:
            session = await one.open(project)
            await one.say(session, "hi")
            return one.asked

    asked = asyncio.run(main("no"))
    assert "CLAUDE.md" in json.dumps(asked[0]["toolCall"])
    asked = asyncio.run(main("yes"))
    assert len(asked) == 1
    assert asyncio.run(main("no")) == []


def test_servers_of_the_editor_start_after_a_yes_to_each(editor: Opener, project: Path, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    server: Fields = {"name": "mine", "command": "/bin/sh", "args": ["-c", f"echo x >> {marker}; exit 1"], "env": []}

    async def main(option: str, servers: list[Fields]) -> Editor:
        async with editor(["Hello."], session__request_permission=choosing(option)) as one:
            session = await one.open(project, servers=servers)
            await one.say(session, "hi")
            return one

    one = asyncio.run(main("no", [server]))
    assert "mine" in one.asked[0]["toolCall"]["title"]
    assert not marker.exists()
    assert len(asyncio.run(main("always", [server])).asked) == 1
    times = len(marker.read_text(encoding="utf-8"))
    assert times
    assert asyncio.run(main("no", [server])).asked == []  # as it is now it may always start
    assert len(marker.read_text(encoding="utf-8")) > times
    changed = {**server, "args": [*server["args"], "more"]}
    assert len(asyncio.run(main("no", [changed])).asked) == 1
    with pytest.raises(RequestFailedError):
        asyncio.run(main("no", [{"type": "ws", "name": "x", "url": "ws://127.0.0.1"}]))


def test_what_the_editor_holds_unsaved_is_read_and_not_overwritten(editor: Opener, project: Path) -> None:
    (project / "f.txt").write_text("saved\n", encoding="utf-8")
    held = {"text": "not saved\n"}

    async def main() -> None:
        edit = call("Edit", file_path="f.txt", old_string="saved", new_string="changed")
        turns = [[call("Read", file_path="f.txt")], [edit], "Done.", [call("Read", file_path="f.txt")], [edit], "Done."]
        options = Options(permission_mode="acceptEdits")

        def reads(params: Fields) -> Fields:
            assert params["path"] == str(project / "f.txt")
            return {"content": held["text"]}

        async with editor(turns, options=options, fs__read_text_file=reads) as one:
            session = await one.open(project, capabilities={"fs": {"readTextFile": True, "writeTextFile": True}})
            await one.say(session, "go")
            results = [json.dumps(update) for update in one.told("tool_call_update") if "content" in update]
            assert "not saved" in results[0]
            assert (project / "f.txt").read_text(encoding="utf-8") == "saved\n"
            held["text"] = "saved\n"
            await one.say(session, "now it is saved")
            assert (project / "f.txt").read_text(encoding="utf-8") == "changed\n"

    asyncio.run(main())


def test_a_question_of_the_model_is_a_form_or_choices(editor: Opener, project: Path) -> None:
    options = [{"label": "Red"}, {"label": "Blue"}]
    question = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
    turns = [[call("AskUserQuestion", questions=[question])], {"blocks": ["Thanks."], "expect": ["Blue"]}]

    async def main(capabilities: Fields, **replies: Any) -> None:
        async with editor(turns, **replies) as one:
            assert (await one.say(await one.open(project, capabilities=capabilities), "go"))["stopReason"] == "end_turn"
            assert one.said() == "Thanks."

    def fill(params: Fields) -> Fields:
        (name,) = [key for key in params["requestedSchema"]["properties"] if not key.endswith("(other)")]
        return {"action": "accept", "content": {name: "Blue"}}

    asyncio.run(main({"elicitation": {"form": {}}}, elicitation__create=fill))
    asyncio.run(main({}, session__request_permission=choosing("1")))


def test_bad_lines_and_requests_are_answered(editor: Opener, project: Path) -> None:
    async def main() -> None:
        async with editor(["Hello."]) as one:
            for line in (b"nonsense", b"[]", b"{}", b'{"id":{},"method":"x"}'):
                one.server.peer.take(line)
            assert [error["code"] for error in one.errors] == [-32700, -32600, -32600, -32600]
            bad: list[tuple[str, Fields, int]] = [
                ("session/fly", {}, -32601),
                ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
                ("session/new", {"mcpServers": []}, -32602),
                ("session/prompt", {"sessionId": "none", "prompt": []}, -32002),
                ("authenticate", {"methodId": "x"}, -32602),
            ]
            for method, params, code in bad:
                with pytest.raises(RequestFailedError) as failed:
                    await one.request(method, **params)
                assert failed.value.code == code
            session = await one.open(project)
            for blocks in ([], [{"type": "audio", "data": "", "mimeType": "audio/wav"}], [{"type": "image"}], [3]):
                with pytest.raises(RequestFailedError):
                    await one.request("session/prompt", sessionId=session, prompt=blocks)

    asyncio.run(main())


def test_files_that_the_editor_sends_along_reach_the_model(editor: Opener, project: Path) -> None:
    async def main() -> None:
        turns = [{"blocks": ["Seen."], "expect": ["@/p/a b.py", "inner text", "look"]}]
        async with editor(turns) as one:
            session = await one.open(project)
            prompt = [
                {"type": "text", "text": "look"},
                {"type": "resource_link", "name": "a", "uri": "file:///p/a%20b.py"},
                {"type": "resource", "resource": {"uri": "file:///p/c", "text": "inner text"}},
            ]
            assert await one.request("session/prompt", sessionId=session, prompt=prompt) == {"stopReason": "end_turn"}

    asyncio.run(main())


def test_the_program_speaks_nothing_but_the_protocol_and_ends_with_its_editor(project: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["Hello."]), encoding="utf-8")
    argv = [sys.executable, "-m", "holdfast", "acp", "--model", f"scripted:{script}"]
    first: Fields = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    new: Fields = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "session/new",
        "params": {"cwd": str(project), "mcpServers": []},
    }
    with started(argv, limit_s=60, stdin=-1, stdout=-1, stderr=-1) as process:
        out, err = process.communicate(b"".join(json.dumps(line).encode() + b"\n" for line in (first, new)), timeout=60)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (process.returncode, err) == (0, b"")
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert {line["id"] for line in lines if "id" in line} == {0, 1}
