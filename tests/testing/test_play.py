import pytest

from holdfast.events import CallProgressed, CallQueued, Event
from holdfast.testing import Deadlock, Script, ScriptedTool, play


def test_a_script_plays_in_virtual_time_and_the_timeline_tells_when_what_happened():
    timeline = play(Script().call("a", seconds=2).wait(0.5).call("b", seconds=1))
    assert timeline.order == ["a", "b"]
    assert timeline.started == pytest.approx({"a": 0.0, "b": 0.5})
    assert timeline.answered == pytest.approx({"a": 2.0, "b": 2.0})
    assert timeline.max_overlap == 2
    assert timeline.outcomes == {"a": "completed", "b": "completed"}


def test_gates_hold_calls_until_the_script_opens_them():
    timeline = play(Script().call("a", gate="door").wait(3).open("door"))
    assert timeline.answered == pytest.approx({"a": 3.0})


def test_a_gate_that_is_never_opened_is_a_deadlock_not_a_hang():
    with pytest.raises(Deadlock):
        play(Script().call("a", gate="door"))


def test_an_open_gate_holds_nobody():
    tool = ScriptedTool()
    tool.gate("door").open()
    assert tool.gate("door").is_open
    assert play(Script().call("a", gate="door"), tools=[tool]).answered == {"a": 0.0}


def test_each_ending_gives_its_outcome():
    endings = ("ok", "error", "fail", "crash", "exit", "cancel")
    script = Script()
    for end in endings:
        script = script.call(end, end=end)
    timeline = play(script)
    assert timeline.order == list(endings)
    assert timeline.outcomes == {
        "ok": "completed",
        "error": "completed",
        "fail": "failed",
        "crash": "crashed",
        "exit": "crashed",
        "cancel": "cancelled",
    }
    assert [reply.is_error for reply in timeline.replies] == [False, True, True, True, True, True]


def test_a_fatal_ending_is_kept_in_the_timeline():
    timeline = play(Script().call("a", end="fatal", text="disk is gone"))
    assert str(timeline.fatal) == "disk is gone"
    assert timeline.outcomes == {"a": "failed"}


def test_cancelled_calls_are_recorded_also_when_they_resist():
    timeline = play(Script().call("a", seconds=9, resist_s=2).wait(1).interrupt())
    assert timeline.record.cancelled == ["a"]
    assert timeline.record.span("a").ended_s == pytest.approx(3.0)
    assert timeline.record.running == []


def test_progress_messages_and_other_listeners_get_their_events():
    heard: list[Event] = []
    timeline = play(Script().call("a", seconds=1, progress=["one", "two"]), on_event=heard.append)
    assert [event.data for _, event in timeline.read if isinstance(event, CallProgressed)] == ["one", "two"]
    assert isinstance(heard[0], CallQueued)


def test_raw_input_turns_and_user_messages_can_be_scripted():
    script = (
        Script()
        .call_with("broken", "Scripted", "{")
        .call("a", seconds=5, on_message="cancel")
        .end_turn()
        .call("b", seconds=1)
        .wait(2)
        .user_message()
    )
    timeline = play(script)
    assert timeline.outcomes == {"broken": "invalid", "a": "cancelled", "b": "completed"}
    assert timeline.started["b"] == pytest.approx(2.0)


def test_discard_tells_its_answer_and_names_what_it_dropped():
    timeline = play(Script().call("a", seconds=5).wait(1).discard().call("b"))
    assert timeline.discards == [True]
    assert timeline.discarded == ["a"]
    assert timeline.order == ["b"]


def test_an_exclusive_call_beside_another_is_recorded_as_a_violation():
    tool = ScriptedTool()
    record = tool.record
    play(Script().call("a", seconds=1, safe=False).call("b", seconds=1), tools=[tool])
    assert record.violations == []
    assert record.started == ["a", "b"]
    record.begin(record.spans[0].__class__("x", 0.0, safe=False, read_only=True))
    record.begin(record.spans[0].__class__("y", 0.0, safe=True, read_only=True))
    assert record.violations == ["y beside x"]


def test_the_scripted_tool_describes_itself():
    assert "Works" in ScriptedTool().description()
    assert play(Script().call_with("a", "Nope", {}), tools=[]).outcomes == {"a": "invalid"}
