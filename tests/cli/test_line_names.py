"""Every line about a message has the name that the journal knows it by."""

import json
from pathlib import Path
from typing import Any

from holdfast.lib.uuids import new_uuid, part_uuid
from holdfast.session import user_store

from .test_hosts import greeted, start
from .test_print_process import BYPASS, STREAM, Start, call, prompt

__all__ = ["start"]


def test_parts_of_a_message_have_names_that_are_found_again() -> None:
    whole = new_uuid()
    assert [part_uuid(whole, 0), part_uuid(whole, 1)] == [whole, part_uuid(whole, 1)]
    assert len({part_uuid(whole, index) for index in range(100)}) == 100
    assert part_uuid(whole, 1).count("-") == 4


def test_the_lines_of_a_session_and_its_journal_name_messages_alike(start: Start) -> None:
    blocks: list[Any] = [{"type": "text", "text": "I look."}, call("Bash", command="echo one")]
    run = start(*STREAM, *BYPASS, turns=[blocks, "Done."])
    greeted(run)
    run.send({**prompt("go"), "uuid": "11111111-2222-4333-8444-555555555555"})
    _, lines, _ = run.finish()
    told = [line for line in lines if line["type"] in ("assistant", "user")]
    assert {line["user_message_uuid"] for line in told if line["type"] == "assistant"} == {
        "11111111-2222-4333-8444-555555555555"
    }
    written = _messages(told[0]["session_id"])
    assert written[0]["meta"]["prompts"] == [["11111111-2222-4333-8444-555555555555", 1]]
    wanted = [part_uuid(one["meta"]["uuid"], index) for one in written[1:] for index in range(len(one["content"]))]
    assert [line["uuid"] for line in told] == wanted


def _messages(session: str) -> list[dict[str, Any]]:
    lines = (Path(user_store().find(session)) / "journal.jsonl").read_text("utf-8").splitlines()
    return [found for line in lines if (found := json.loads(line))["type"] == "message"]
