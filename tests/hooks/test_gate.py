import asyncio
from pathlib import Path

import pytest

from holdfast.app import build_executor
from holdfast.app.options import Options
from holdfast.hooks import Hook, HookAnswer, HookCall, Hooks
from holdfast.hooks.hear import hear
from holdfast.hooks.inputs import HookInput
from holdfast.hooks.session_inputs import MessageDisplay


async def run(call: HookCall) -> HookAnswer | None:
    return None


BEFORE = Hook("PreToolUse", run, "Bash|Task")
AFTER = Hook("PostToolUse", run)


def test_hooks_are_found_by_event_and_any_name_of_the_tool():
    hooks = Hooks([BEFORE, AFTER])
    for _ in range(2):  # the second time from memory
        assert hooks.before(("Bash",)) == (BEFORE,)
        assert hooks.before(("Agent", "Task")) == (BEFORE,)
        assert hooks.before(("Read",)) == ()
        assert hooks.fitting("PostToolUse", ("Read",)) == (AFTER,)


def test_without_hooks_nothing_fits():
    assert Hooks().before(("Bash",)) == Hooks().fitting("PostToolUse", ("Bash",)) == ()


def test_an_answer_that_says_nothing_decides_nothing():
    assert HookAnswer().behavior is None


def test_a_function_without_a_limit_of_its_own_has_that_of_its_event():
    class Hurried(MessageDisplay, frozen=True, kw_only=True):
        timeout_s = 0.01

    async def forever(event: HookInput) -> HookAnswer | None:
        await asyncio.sleep(3_600)
        return None

    async def run() -> list[str]:
        async with asyncio.timeout(30):
            hooks = Hooks([Hook("Hurried", forever)])
            return (await hear(tuple(hooks), Hurried(), hooks)).warnings

    assert "it took longer than 0.01 s" in asyncio.run(run())[0]


ORIGINAL, CHANGED = {"command": "true"}, {"command": "touch made"}


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize(
    ("first", "second", "is_made"),
    [
        (HookAnswer("allow"), HookAnswer(updated_input=CHANGED), False),
        (HookAnswer(updated_input=CHANGED), HookAnswer("allow"), False),
        (HookAnswer("allow"), HookAnswer("allow", updated_input=CHANGED), True),
        (HookAnswer("allow", updated_input=CHANGED), HookAnswer(updated_input=CHANGED), False),
        (HookAnswer("allow", updated_input=CHANGED), HookAnswer(), True),
    ],
)
def test_a_yes_counts_for_the_input_that_its_hook_knows(
    tmp_path: Path, event: str, first: HookAnswer, second: HookAnswer, *, is_made: bool
):
    async def one(_: object) -> HookAnswer:
        return first

    async def other(_: object) -> HookAnswer:
        return second

    hooks = [Hook(event, one), Hook(event, other)]
    executor = build_executor(Options(cwd=str(tmp_path), permission_mode="default", hooks=tuple(hooks)))
    executor.call("Bash", {"command": "touch asked"} if event == "PermissionRequest" else ORIGINAL)
    assert (tmp_path / "made").exists() is is_made
