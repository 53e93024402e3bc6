from holdfast.hooks import Hook, HookAnswer, HookCall, Hooks


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
