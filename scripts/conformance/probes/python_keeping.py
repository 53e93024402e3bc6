# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
"""Files, sessions and surroundings."""

import asyncio
import base64
import json
import os
import uuid
from pathlib import Path

import claude_agent_sdk as sdk
from python_lab import PIXEL, Lab, call, probe, result_of, results, say, the

# -- files and sessions


@probe
async def files_are_rewound_to_a_prompt(lab: Lab) -> None:
    (lab.cwd / "kept.txt").write_text("before")
    options = {
        "enable_file_checkpointing": True,
        "permission_mode": "acceptEdits",
        "extra_args": {"replay-user-messages": None},
    }
    async with lab.client(**options) as client:
        first = await say(client, call("Read", file_path=str(lab.cwd / "kept.txt")))
        uuid = next(one.uuid for one in first if isinstance(one, sdk.UserMessage) and isinstance(one.content, str))
        assert uuid
        changes = [
            call("Write", file_path=str(lab.cwd / "kept.txt"), content="after"),
            call("Write", file_path=str(lab.cwd / "new.txt"), content="new"),
        ]
        second = await say(client, "\n".join(changes))
        assert (lab.cwd / "kept.txt").read_text() == "after", results(second)
        await client.rewind_files(uuid)
    assert (lab.cwd / "kept.txt").read_text() == "before" and not (lab.cwd / "new.txt").exists()


@probe
async def a_session_is_resumed_forked_and_continued(lab: Lab) -> None:
    first = result_of(await lab.ask("SAY the word is blue"))
    resumed = await lab.ask("HISTORY", resume=first.session_id)
    assert result_of(resumed).session_id == first.session_id and "blue" in result_of(resumed).result
    forked = await lab.ask("HISTORY", resume=first.session_id, fork_session=True)
    assert result_of(forked).session_id != first.session_id and "blue" in result_of(forked).result
    went_on = await lab.ask("HISTORY", continue_conversation=True)
    assert "blue" in result_of(went_on).result


@probe
async def a_session_has_the_id_that_was_chosen(lab: Lab) -> None:
    chosen = str(uuid.uuid4())
    assert result_of(await lab.ask("SAY x", session_id=chosen)).session_id == chosen


@probe
async def an_unknown_session_is_an_error_with_words(lab: Lab) -> None:
    try:
        await lab.ask("SAY x", resume="99999999-9999-4999-8999-999999999999")
    except Exception as error:
        assert "99999999" in str(error), error
    else:
        raise AssertionError("nothing was raised")


@probe
async def a_store_hears_the_session_and_gives_it_back(lab: Lab) -> None:
    store = sdk.InMemorySessionStore()
    config = lab.cwd / "config"
    config.mkdir()
    env = {"CLAUDE_CONFIG_DIR": str(config)}
    first = result_of(await lab.ask("SAY the word is green", session_store=store, env=env))
    listed = await sdk.list_sessions_from_store(store, directory=str(lab.cwd))
    assert [one.session_id for one in listed] == [first.session_id], listed
    told = await sdk.get_session_messages_from_store(store, first.session_id, directory=str(lab.cwd))
    assert [one.type for one in told] == ["user", "assistant"], told
    resumed = result_of(await lab.ask("HISTORY", session_store=store, env=env, resume=first.session_id))
    assert "green" in (resumed.result or "") and resumed.session_id == first.session_id


@probe
async def sessions_are_listed_from_their_transcripts(lab: Lab) -> None:
    config = lab.cwd / "config"
    env = {"CLAUDE_CONFIG_DIR": str(config)}
    settings = json.dumps({"transcripts": {"mirror": True}})
    found = await lab.ask("SAY listed", env=env, settings=settings)
    session = result_of(found).session_id
    os.environ["CLAUDE_CONFIG_DIR"] = str(config)
    try:
        listed = sdk.list_sessions(directory=str(lab.cwd))
        told = sdk.get_session_messages(session, directory=str(lab.cwd))
    finally:
        del os.environ["CLAUDE_CONFIG_DIR"]
    assert [one.session_id for one in listed] == [session] and listed[0].first_prompt == "SAY listed", listed
    assert [one.type for one in told] == ["user", "assistant"]
    assert the(found, sdk.AssistantMessage).uuid == told[-1].uuid


# -- surroundings


@probe
async def settings_count_from_text_and_from_a_file(lab: Lab) -> None:
    rules = {"permissions": {"allow": ["Bash(touch *)"]}}
    await lab.ask(call("Bash", command="touch text"), settings=json.dumps(rules))
    (lab.cwd / "s.json").write_text(json.dumps(rules))
    await lab.ask(call("Bash", command="touch file"), settings=str(lab.cwd / "s.json"))
    assert (lab.cwd / "text").exists() and (lab.cwd / "file").exists()


@probe
async def the_sandbox_of_the_options_counts(lab: Lab) -> None:
    sandbox = {"enabled": True, "autoAllowBashIfSandboxed": True}
    outside = Path.home() / "outside-of-the-sandbox"
    found = await lab.ask(call("Bash", command=f"touch inside; touch {outside}"), sandbox=sandbox)
    assert not outside.exists(), results(found)
    assert (lab.cwd / "inside").exists() or "sandbox" in str(lab.errors + results(found)), lab.errors


@probe
async def variables_reach_commands(lab: Lab) -> None:
    found = await lab.ask(call("Bash", command="echo v=$OF_THE_HOST"), env={"OF_THE_HOST": "yes"})
    assert "v=yes" in str(results(found)[0].content)


@probe
async def extra_arguments_are_taken(lab: Lab) -> None:
    found = await lab.ask("SAY hi", extra_args={"debug-to-stderr": None, "replay-user-messages": None})
    echoed = [one for one in found if isinstance(one, sdk.UserMessage)]
    assert echoed and echoed[0].uuid and echoed[0].content == "SAY hi"
    assert lab.errors, "nothing stands on standard error"


@probe
async def an_option_of_tomorrow_is_told_and_left_out(lab: Lab) -> None:
    found = await lab.ask("SAY hi", extra_args={"brand-new-thing": "value"})
    assert result_of(found).result == "hi" and any("brand-new-thing" in line for line in lab.errors)


@probe
async def long_lines_fit_into_the_buffer(lab: Lab) -> None:
    (lab.cwd / "big.txt").write_text("word " * 200_000)
    prompt = [
        call("Write", file_path=str(lab.cwd / "new.txt"), content="x" * 400_000),
        call("Bash", command="cat big.txt"),
    ]
    found = await lab.ask("\n".join(prompt), permission_mode="bypassPermissions")
    assert result_of(found).subtype == "success" and (lab.cwd / "new.txt").exists()


@probe
async def a_picture_that_was_read_comes_back(lab: Lab) -> None:
    (lab.cwd / "dot.png").write_bytes(base64.b64decode(PIXEL))
    found = await lab.ask(call("Read", file_path=str(lab.cwd / "dot.png")))
    assert "image" in str(results(found)[0].content)


@probe
async def several_sessions_run_side_by_side(lab: Lab) -> None:
    ended = await asyncio.gather(*(lab.ask(f"SAY {number}") for number in range(3)))
    assert [result_of(one).result for one in ended] == ["0", "1", "2"]


@probe
async def a_client_that_leaves_early_leaves_nothing_behind(lab: Lab) -> None:
    async with lab.client(permission_mode="bypassPermissions") as client:
        await client.query(call("Bash", command="touch begun; tail -f begun"))
        async for message in client.receive_messages():
            if isinstance(message, sdk.AssistantMessage):
                break
        async with asyncio.timeout(20):
            while not (lab.cwd / "begun").exists():  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(0.05)
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                place = os.readlink(f"/proc/{entry}/cwd")
            except OSError:
                continue
            assert place != str(lab.cwd), f"something still runs: {Path('/proc', entry, 'cmdline').read_bytes()!r}"
