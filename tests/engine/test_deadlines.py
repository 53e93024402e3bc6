import pytest

from holdfast.testing import Script, ScriptedTool, play


def test_a_call_over_its_time_is_cancelled_and_told_so():
    timeline = play(Script().call("a", seconds=9), timeout_s=2)
    assert timeline.outcomes == {"a": "cancelled"}
    assert timeline.answered["a"] == pytest.approx(2.0)
    assert "Timed out after 2.0 s" in str(timeline.reply("a").content)
    assert timeline.record.cancelled == ["a"]


def test_a_tools_own_limit_goes_before_the_executors():
    tools = [ScriptedTool("Own", timeout_s=5), ScriptedTool()]
    timeline = play(Script().call("own", "Own", seconds=9).call("other", seconds=9), tools=tools, timeout_s=2)
    assert timeline.record.span("own").ended_s == pytest.approx(5.0)
    assert timeline.started == pytest.approx({"own": 0.0, "other": 0.0})
    assert timeline.outcomes == {"own": "cancelled", "other": "cancelled"}


def test_one_alarm_serves_calls_that_start_at_different_times():
    script = Script().call("a", seconds=9).wait(1).call("b", seconds=9).wait(0.5).call("c", seconds=1)
    timeline = play(script, timeout_s=2)
    assert [timeline.record.span(id_).ended_s for id_ in ("a", "b", "c")] == [
        pytest.approx(2.0),
        pytest.approx(3.0),
        pytest.approx(2.5),
    ]
    assert timeline.outcomes == {"a": "cancelled", "b": "cancelled", "c": "completed"}


def test_a_shorter_limit_that_arrives_later_rings_first():
    tools = [ScriptedTool("Long", timeout_s=50), ScriptedTool("Short", timeout_s=1)]
    timeline = play(Script().call("a", "Long", seconds=99).wait(1).call("b", "Short", seconds=99), tools=tools)
    assert timeline.outcomes == {"a": "cancelled", "b": "cancelled"}
    assert timeline.answered == pytest.approx({"a": 50.0, "b": 50.0})
    assert tools[1].record.span("b").ended_s == pytest.approx(2.0)


def test_calls_without_a_limit_run_beside_limited_ones():
    tools = [ScriptedTool("Limited", timeout_s=1), ScriptedTool()]
    timeline = play(Script().call("a", seconds=9).call("b", "Limited", seconds=9), tools=tools)
    assert timeline.outcomes == {"a": "completed", "b": "cancelled"}


def test_waiting_in_the_queue_does_not_count():
    timeline = play(Script().call("a", seconds=3, safe=False).call("b", seconds=3, safe=False), timeout_s=4)
    assert timeline.outcomes == {"a": "completed", "b": "completed"}


def test_a_call_that_ignores_its_deadline_is_given_up_after_the_grace():
    script = Script().call("a", seconds=1_000, resist_s=1_000).call("b", safe=False)
    timeline = play(script, timeout_s=5, cancel_grace_s=10)
    assert timeline.outcomes == {"a": "cancelled", "b": "completed"}
    assert timeline.answered["a"] == pytest.approx(15.0)
