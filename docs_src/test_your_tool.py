from holdfast import tool
from holdfast.testing import Script, ScriptedAsker, play, run_tool


@tool
async def rename(old: str, new: str) -> str:
    """Rename something."""
    return f"{old} is now {new}"


def test_rename_runs_after_a_yes() -> None:
    asker = ScriptedAsker(["allow"])
    run = run_tool(rename, {"old": "a", "new": "b"}, permission_mode="default", asker=asker)
    assert (run.outcome, run.text) == ("completed", "a is now b")
    assert asker.questions[0].input == {"old": "a", "new": "b"}


def test_rename_names_what_is_missing() -> None:
    assert run_tool(rename, {"old": "a"}).outcome == "invalid"


def test_an_interrupt_answers_what_runs_and_what_waits() -> None:
    script = Script().call("long", seconds=3_600).call("next", safe=False).wait(60).interrupt()
    assert play(script).outcomes == {"long": "cancelled", "next": "cancelled"}


test_rename_runs_after_a_yes()
test_rename_names_what_is_missing()
test_an_interrupt_answers_what_runs_and_what_waits()
print("3 passed")
