"""What the user's hooks hear and decide in a run of the loop."""

from typing import Any

import pytest

from holdfast.agent.gates import MAX_STOPS
from holdfast.events import HookSpoke, PromptSubmitted, Reminded, TextStreamed
from holdfast.hooks import Hook, HookAnswer
from holdfast.hooks.events import EVENTS
from holdfast.hooks.inputs import HookInput
from holdfast.models import ModelError
from holdfast.testing.loops import LoopRun, run_loop
from holdfast.testing.planned import answer, call, words

CALL = answer(call("t1", "Scripted", {}))
DONE = answer(words("done"))
NEVER = answer(words("never asked"))


class Ear:
    """Hears everything, and answers what it is told to."""

    def __init__(self, **answers: HookAnswer) -> None:
        self.heard: list[HookInput] = []
        self._answers = answers

    async def listen(self, event: HookInput) -> HookAnswer | None:
        self.heard.append(event)
        return self._answers.get(event.event_name)

    @property
    def names(self) -> list[str]:
        return [event.event_name for event in self.heard]

    def of(self, name: str) -> Any:
        return next(event for event in self.heard if event.event_name == name)

    def run(self, *plans: Any, **options: Any) -> LoopRun:
        hooks = [Hook(name, self.listen) for name in EVENTS]
        return run_loop(*plans, executor_options={"hooks": hooks, **options.pop("executor_options", {})}, **options)


def test_a_run_tells_its_events_in_order():
    ear = Ear()
    run = ear.run(CALL, DONE)
    assert run.ended.outcome == "success"
    assert ear.names == [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolBatch",
        "MessageDisplay",
        "Stop",
    ]
    assert ear.of("SessionStart").source == "startup"
    assert ear.of("UserPromptSubmit").prompt == "go"
    assert ear.of("Stop").last_assistant_message == "done"
    [batch] = ear.of("PostToolBatch").tool_calls
    assert batch["tool_name"] == "Scripted"
    assert len({event.prompt_id for event in ear.heard[1:]}) == 1


def test_what_a_session_start_and_a_prompt_hook_add_is_told_with_the_prompt():
    ear = Ear(
        SessionStart=HookAnswer(additional_context="branch: main"),
        UserPromptSubmit=HookAnswer(additional_context="be brief"),
    )
    run = ear.run(DONE)
    said = str(run.sent(0))
    assert "branch: main" in said
    assert "be brief" in said
    assert said.index("'go'") < said.index("be brief")


def test_a_display_hook_says_what_is_shown_and_the_conversation_stays_as_it_was():
    ear = Ear(MessageDisplay=HookAnswer(more={"displayContent": "(hidden)"}))
    run = ear.run(answer(words("the secret is 42"), call("t1", "Scripted", {})), DONE)
    assert [event.text for event in run.of(TextStreamed)] == ["(hidden)"] * 2
    assert ear.names.index("MessageDisplay") < ear.names.index("PreToolUse")
    told = ear.of("MessageDisplay")
    assert (told.delta, told.turn_id, told.final) == ("the secret is 42", "1", True)
    assert "the secret is 42" in str(run.loop.history)
    assert run.ended.text == "done"
    assert "".join(event.text for event in Ear().run(DONE).of(TextStreamed)) == "done"


def test_a_blocked_prompt_reaches_neither_history_nor_model_nor_listeners():
    ear = Ear(UserPromptSubmit=HookAnswer("deny", "has a password in it"))
    run = ear.run(NEVER)
    assert run.ended.outcome == "stopped_by_hook"
    assert "has a password in it" in run.ended.error
    assert run.loop.history == []
    assert run.model.requests == []
    assert not run.of(PromptSubmitted)


def test_a_stop_hook_makes_the_model_go_on_at_most_so_many_times():
    ear = Ear(Stop=HookAnswer("deny", "the tests do not pass yet"))
    run = ear.run(*[DONE] * (MAX_STOPS + 1))
    assert run.ended.outcome == "success"
    assert ear.names.count("Stop") == MAX_STOPS + 1
    stops = [event for event in ear.heard if event.event_name == "Stop"]
    assert [getattr(event, "stop_hook_active", None) for event in stops] == [False] + [True] * MAX_STOPS
    assert "the tests do not pass yet" in str(run.sent(1))
    assert any("in spite of it" in event.text for event in run.of(HookSpoke))


def test_what_a_stop_hook_has_to_add_makes_the_model_go_on_too():
    ear = Ear(Stop=HookAnswer(additional_context="the changelog is missing"))
    run = ear.run(*[DONE] * (MAX_STOPS + 1))
    assert (run.ended.outcome, ear.names.count("Stop")) == ("success", MAX_STOPS + 1)
    assert "the changelog is missing" in str(run.sent(1))


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "PostToolBatch"])
def test_a_hook_may_end_the_run(event: str):
    ear = Ear(**{event: HookAnswer(stops=True, stop_reason="enough")})
    run = ear.run(CALL, NEVER)
    assert (run.ended.outcome, run.ended.error) == ("stopped_by_hook", "enough")
    assert len(run.model.requests) == 1


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_a_hook_may_end_the_run_before_the_model_is_asked(event: str):
    run = Ear(**{event: HookAnswer(stops=True, stop_reason="not now")}).run(NEVER)
    assert (run.ended.outcome, run.model.requests) == ("stopped_by_hook", [])


def test_a_blocked_batch_ends_the_run_with_a_valid_history():
    run = Ear(PostToolBatch=HookAnswer("deny", "look first")).run(CALL, NEVER)
    assert (run.ended.outcome, run.ended.error) == ("stopped_by_hook", "look first")
    assert run.loop.history[-1]["role"] == "user"


def test_a_deferred_call_ends_the_run_unanswered():
    ear = Ear(PreToolUse=HookAnswer("defer", "later"))

    def may(loop: Any) -> None:
        loop._state.executor.call_hooks.may_defer = True

    run = ear.run(CALL, NEVER, setup=may)
    assert run.ended.outcome == run.ended.stop_reason == "tool_deferred"
    assert run.ended.deferred is not None
    assert run.ended.deferred["name"] == "Scripted"
    assert "PostToolUse" not in ear.names
    assert "PermissionDenied" not in ear.names


def test_several_calls_are_not_deferred_but_asked_about():
    ear = Ear(PreToolUse=HookAnswer("defer", "later"))
    run = ear.run(answer(call("t1", "Scripted", {}), call("t2", "Scripted", {})), DONE)
    assert run.ended.outcome == "success"
    assert "PermissionDenied" in ear.names


def test_a_failing_model_is_told():
    ear = Ear()
    run = ear.run([ModelError("no key", "auth")])
    assert run.ended.outcome == "error_during_execution"
    assert (ear.of("StopFailure").error, ear.of("StopFailure").error_details) == ("auth", "no key")


def test_reminders_of_hooks_are_marked_as_not_from_the_user():
    run = Ear(UserPromptSubmit=HookAnswer(additional_context="note")).run(DONE)
    assert [event.kind for event in run.of(Reminded)] == ["hook"]
    assert "<system-reminder>" in str(run.sent(0))


def test_a_function_that_raises_only_warns_outside_of_gates():
    async def broken(event: HookInput) -> HookAnswer | None:
        raise RuntimeError("hook bug")

    names = ["SessionStart", "UserPromptSubmit", "Stop", "PostToolUse", "PostToolBatch", "MessageDisplay"]
    run = run_loop(CALL, DONE, executor_options={"hooks": [Hook(name, broken) for name in names]})
    assert run.ended.outcome == "success"
    assert sum("hook bug" in event.text for event in run.of(HookSpoke)) >= 5
