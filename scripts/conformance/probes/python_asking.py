# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
"""Asking, and what the model is told."""

import claude_agent_sdk as sdk
from python_lab import PIXEL, Lab, lines, probe, result_of, say, texts, the

# -- asking


@probe
async def a_prompt_is_answered(lab: Lab) -> None:
    found = await lab.ask("SAY hello")
    assert [type(one).__name__ for one in found] == ["SystemMessage", "AssistantMessage", "ResultMessage"], found
    ended = result_of(found)
    assert (ended.subtype, ended.is_error, ended.result, ended.num_turns) == ("success", False, "hello", 1)
    assert ended.terminal_reason == "completed"
    assert ended.total_cost_usd and ended.usage["input_tokens"] == 1000
    assert not lab.errors, lab.errors


@probe
async def a_stream_of_prompts_is_answered_one_by_one(lab: Lab) -> None:
    found = await lab.ask(lines("SAY one", "SAY two"))
    assert [one.result for one in found if isinstance(one, sdk.ResultMessage)] == ["one", "two"]


@probe
async def a_session_of_a_client_goes_on(lab: Lab) -> None:
    async with lab.client() as client:
        first = result_of(await say(client, "SAY one"))
        second = result_of(await say(client, "SAY two"))
    assert (first.result, second.result, first.session_id) == ("one", "two", second.session_id)


@probe
async def a_picture_is_sent(lab: Lab) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    found = await lab.ask(lines([{"type": "text", "text": "SAY seen"}, picture]))
    assert result_of(found).result == "seen"


@probe
async def the_origin_and_the_uuid_of_a_prompt_come_back(lab: Lab) -> None:
    uuid = "11111111-2222-4333-8444-555555555555"
    found = await lab.ask(lines({"content": "SAY hi", "origin": {"kind": "human"}, "uuid": uuid}))
    ended = result_of(found)
    assert (ended.origin, ended.user_message_uuid) == ({"kind": "human"}, uuid)
    assert the(found, sdk.AssistantMessage).user_message_uuid == uuid


@probe
async def a_verbatim_prompt_is_no_command(lab: Lab) -> None:
    async with lab.client(verbatim_prompts=True) as client:
        first = result_of(await say(client, "SAY hi"))
        found = await say(client, "/clear")
    assert "You said: /clear" in texts(found) and result_of(found).session_id == first.session_id


@probe
async def clear_begins_a_new_conversation(lab: Lab) -> None:
    async with lab.client() as client:
        first = result_of(await say(client, "SAY secret"))
        found = await say(client, "/clear")
        reset = the(found, sdk.ConversationResetMessage)
        after = await say(client, "what did you say?")
    assert reset.session_id == first.session_id
    assert result_of(found).session_id == result_of(after).session_id == reset.new_conversation_id
    assert reset.new_conversation_id != first.session_id


# -- what it is told


@probe
async def a_system_prompt_takes_the_place_of_ours(lab: Lab) -> None:
    assert result_of(await lab.ask("SYSTEM", system_prompt="You are PIRATE-7.")).result.startswith("You are PIRATE-7.")


@probe
async def a_preset_with_more_words_keeps_ours(lab: Lab) -> None:
    preset = {"type": "preset", "preset": "claude_code", "append": "PIRATE-8 stands behind."}
    said = result_of(await lab.ask("SYSTEM", system_prompt=preset)).result
    assert "PIRATE-8 stands behind." in said and "tool" in said


@probe
async def a_system_prompt_comes_from_a_file(lab: Lab) -> None:
    (lab.cwd / "words.md").write_text("You are PIRATE-9.")
    prompt = {"type": "file", "path": str(lab.cwd / "words.md")}
    assert result_of(await lab.ask("SYSTEM", system_prompt=prompt)).result.startswith("You are PIRATE-9.")


@probe
async def the_dynamic_parts_leave_the_system_prompt(lab: Lab) -> None:
    preset = {"type": "preset", "preset": "claude_code", "exclude_dynamic_sections": True}
    said = result_of(await lab.ask("SYSTEM", system_prompt=preset)).result
    assert str(lab.cwd) not in said, said
    assert str(lab.cwd) in result_of(await lab.ask("FIRST MESSAGE", system_prompt=preset)).result


@probe
async def the_words_of_a_project_count_when_its_settings_are_asked_for(lab: Lab) -> None:
    (lab.cwd / "CLAUDE.md").write_text("The password is swordfish.")
    lab.trust()
    preset = {"type": "preset", "preset": "claude_code"}
    said = result_of(await lab.ask("SYSTEM", system_prompt=preset, setting_sources=["project"])).result
    assert "swordfish" in said
    without = result_of(await lab.ask("SYSTEM", system_prompt=preset, setting_sources=[])).result
    assert "swordfish" not in without
