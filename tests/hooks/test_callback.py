"""Hooks that another program answers, by their ids."""

import asyncio
from typing import Any

import pytest

from holdfast import Executor
from holdfast.contract import UsageError
from holdfast.events import CallFinished
from holdfast.hooks.callback import callback_hooks

from .conftest import echo

DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}


def outcome(said: Any, given: Any = None, **group: Any) -> tuple[str, list[Any], list[str]]:
    """One call of Echo with a gate of the program: how it ended, what the program was told, and what was said."""
    told: list[Any] = []

    async def call(id_: str, event: dict[str, Any], tool_use_id: str | None) -> Any:
        told.append((id_, event, tool_use_id))
        if said == "never":
            await asyncio.wait_for(asyncio.Event().wait(), 30)
        if isinstance(said, Exception):
            raise said
        return said

    async def run() -> tuple[str, list[Any], list[str]]:
        wish = given or {"PreToolUse": [{"matcher": "Echo", "hookCallbackIds": ["h1"], **group}]}
        hooks, warnings = callback_hooks(wish, call)
        executor = Executor([echo], hooks=hooks, permission_mode="bypassPermissions")
        executor.add({"id": "c1", "name": "Echo", "input": {"text": "hi"}})
        replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
        await executor.close()
        return replies[-1].outcome, told, warnings

    return asyncio.run(asyncio.wait_for(run(), 30))


def test_a_callback_is_told_the_event_and_decides():
    ended, told, warnings = outcome(DENY)
    assert (ended, warnings) == ("denied", [])
    [(id_, event, tool_use_id)] = told
    assert (id_, tool_use_id, event["hook_event_name"], event["tool_input"]) == (
        "h1", "c1", "PreToolUse", {"text": "hi"},
    )  # fmt: skip
    assert outcome(None)[0] == outcome({})[0] == outcome({"continue": True})[0] == "completed"


@pytest.mark.parametrize("said", ["never", ["no object"], {"decision": 7}, RuntimeError("gone")])
@pytest.mark.parametrize(("policy", "ended"), [(None, "denied"), ("block", "denied"), ("continue", "completed")])
def test_a_callback_that_fails_waves_nothing_through_unless_told_so(said: Any, policy: str | None, ended: str):
    more = {} if policy is None else {"onFailure": policy}
    assert outcome(said, timeout=0.05, **more)[0] == ended


@pytest.mark.parametrize(
    ("policy", "ended"), [(None, "completed"), ("continue", "completed"), ("block", "denied"), ("ask", "denied")]
)
def test_a_callback_that_answers_later_decides_nothing_unless_it_must(policy: str | None, ended: str):
    assert outcome({"async": True, "asyncTimeout": 5}, onFailure=policy)[0] == ended


def test_an_unknown_wish_about_failures_blocks_and_is_said():
    ended, _, warnings = outcome("never", timeout=0.05, onFailure="shrug")
    assert ended == "denied"
    assert "'shrug'" in warnings[0]


@pytest.mark.parametrize(
    "group",
    [
        {"hookCallbackIds": "h1"},
        {"hookCallbackIds": [1]},
        {},
        "not an object",
        {"hookCallbackIds": ["h1"], "timeout": "soon"},
        {"hookCallbackIds": ["h1"], "timeout": True},
        {"hookCallbackIds": ["h1"], "matcher": "(bad"},
        {"hookCallbackIds": ["h1"], "matcher": 3},
    ],
)
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_a_wish_that_cannot_be_read_is_an_error_at_once(event: str, group: Any):
    with pytest.raises(UsageError):
        outcome({}, {event: [group]})


def test_unknown_fields_are_said_and_unknown_events_refused():
    ended, _, warnings = outcome({}, {"PreToolUse": [{"hookCallbackIds": ["h"], "color": "red"}]})
    assert ended == "completed"
    assert "color" in warnings[0]
    idle = outcome({}, {"TeammateIdle": [{"hookCallbackIds": ["h"]}]})
    assert "never fires" in idle[2][0]
    wrongs: tuple[Any, ...] = (["x"], {"Sunrise": []}, {"PreToolUse": {"hookCallbackIds": ["h1"]}})
    for wrong in wrongs:
        with pytest.raises(UsageError):
            outcome({}, wrong)
