"""Models as hooks."""

import asyncio
from typing import Any

import pytest

from holdfast.hooks.answers import HookAnswer, HookFailed
from holdfast.hooks.prompt import PromptRunner
from holdfast.hooks.session_inputs import Stop


def ask(said: str, asked: list[Any] | None = None, prompt: str = "Is $ARGUMENTS done?") -> HookAnswer:
    async def answer(text: str, model: str | None) -> str:
        if asked is not None:
            asked.append((text, model))
        return said

    handler = {"prompt": prompt, "model": "fast"}
    return asyncio.run(PromptRunner(answer).run(handler, Stop(last_assistant_message="ok"), 5.0))


def test_a_model_decides():
    asked: list[Any] = []
    assert ask('{"ok": true}', asked) == HookAnswer()
    assert asked[0][1] == "fast"
    assert '"last_assistant_message":"ok"' in asked[0][0]
    assert "$ARGUMENTS" not in asked[0][0]
    assert ask('Sure:\n```json\n{"ok": false, "reason": "two tests fail"}\n```') == HookAnswer("deny", "two tests fail")


@pytest.mark.parametrize("said", ["", "yes", '{"ok": "true"}', "[]", '{"ok"'])
def test_what_is_no_answer_is_a_failure(said: str):
    with pytest.raises(HookFailed, match="as told"):
        ask(said)


def test_without_a_place_for_it_the_event_follows_the_prompt():
    asked: list[Any] = []
    ask('{"ok": true}', asked, prompt="Done?")
    assert asked[0][0].startswith('Done?\n\n{"hook_event_name":"Stop"')


def test_an_event_that_is_too_long_is_never_judged_by_its_beginning():
    async def never(text: str, model: str | None) -> str:
        raise AssertionError("asked")

    event = Stop(last_assistant_message="x" * 100_000)
    with pytest.raises(HookFailed, match="at most 100,000"):
        asyncio.run(PromptRunner(never).run({"prompt": "Is $ARGUMENTS done?"}, event, 5.0))
