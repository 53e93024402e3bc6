from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.events import CallDiscarded, CallFinished, CallQueued, CallStarted, Event, TurnEnded
from holdfast.session.records import COMPACTION, MessageRecorded, NoteRecorded, SessionResumed
from holdfast.session.repair import NOT_STARTED, OUTCOME_UNKNOWN, Interrupted, Repaired, repair
from holdfast.session.transcript import Transcript
from holdfast.session.validity import message_problems


def repaired(*records: Event) -> Repaired:
    transcript = Transcript()
    for record in records:
        transcript.take(record)
    done = repair(transcript)
    assert message_problems(done.messages) == []
    return done


def use(id_: str, name: str = "Read", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(id_: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def failure(id_: str, why: str) -> dict[str, Any]:
    return result(id_, f"<tool_use_error>{why}</tool_use_error>", is_error=True)


HELLO = MessageRecorded("user", "Hello")


def test_recorded_replies_become_the_results() -> None:
    done = repaired(
        HELLO,
        CallQueued("a", "Read", {}),
        CallQueued("b", "Read", {}),
        MessageRecorded("assistant", [text("Let me see."), use("a"), use("b")]),
        CallFinished("a", "Read", "A"),
        CallFinished("b", "Read", "B", is_error=True),
        TurnEnded(0),
        MessageRecorded("user", "And?"),
    )
    assert done.messages == [
        {"role": "user", "content": [text("Hello")]},
        {"role": "assistant", "content": [text("Let me see."), use("a"), use("b")]},
        {"role": "user", "content": [result("a", "A"), result("b", "B", is_error=True), text("And?")]},
    ]
    assert done.interrupted == ()


def test_calls_without_a_reply_say_how_far_they_came() -> None:
    done = repaired(
        HELLO,
        CallQueued("a", "Write", {}),
        CallStarted("a", "Write", read_only=False),
        CallQueued("b", "Write", {}),
        MessageRecorded("assistant", [use("a", "Write"), use("b", "Write"), use("never-queued", "Write")]),
    )
    assert done.messages[-1]["content"] == [
        failure("a", OUTCOME_UNKNOWN),
        failure("b", NOT_STARTED),
        failure("never-queued", NOT_STARTED),
    ]
    assert done.interrupted == (
        Interrupted("a", "Write", "outcome unknown"),
        Interrupted("b", "Write", "not started"),
        Interrupted("never-queued", "Write", "not started"),
    )


def test_an_interrupted_reading_says_that_it_can_be_repeated() -> None:
    done = repaired(HELLO, CallQueued("a", "Read", {}), CallStarted("a", "Read", read_only=True))
    assert "outcome unknown" in done.messages[-1]["content"][0]["content"]
    assert "can be repeated" in done.messages[-1]["content"][0]["content"].replace("\n", " ")


def test_calls_that_no_message_mentions_get_one_of_their_own_in_their_place() -> None:
    done = repaired(
        HELLO,
        CallQueued("a", "Read", {"x": 1}),
        CallFinished("a", "Read", "A", new_messages=({"role": "user", "content": "by the way"},)),
        SessionResumed(),
        MessageRecorded("user", "Go on."),
        MessageRecorded("assistant", "Well."),
    )
    assert done.messages == [
        {"role": "user", "content": [text("Hello")]},
        {"role": "assistant", "content": [use("a", x=1)]},
        {"role": "user", "content": [result("a", "A"), text("by the way"), text("Go on.")]},
        {"role": "assistant", "content": [text("Well.")]},
    ]


def test_a_session_without_a_conversation_still_begins_with_the_user() -> None:
    done = repaired(CallQueued("a", "Read", {}), CallFinished("a", "Read", "A"), TurnEnded(0))
    assert [message["role"] for message in done.messages] == ["user", "assistant", "user"]


def test_discarded_calls_leave_no_trace() -> None:
    done = repaired(
        HELLO,
        CallQueued("a", "Read", {}),
        CallFinished("a", "Read", "first try"),
        CallDiscarded("a", "Read"),
        CallQueued("a", "Read", {}),
        MessageRecorded("assistant", [use("a")]),
        CallFinished("a", "Read", "second try"),
        TurnEnded(0),
    )
    assert done.messages[1:] == [
        {"role": "assistant", "content": [use("a")]},
        {"role": "user", "content": [result("a", "second try")]},
    ]
    gone = repaired(HELLO, CallQueued("b", "Read", {}), CallDiscarded("b", "Read"))
    assert gone.messages == [{"role": "user", "content": [text("Hello")]}]
    named = repaired(
        HELLO,
        CallQueued("b", "Read", {}),
        CallDiscarded("b", "Read"),
        MessageRecorded("assistant", [text("x"), use("b")]),
    )
    assert named.messages[1:] == [{"role": "assistant", "content": [text("x")]}]


def test_ids_that_come_again_are_told_apart_with_their_own_results() -> None:
    records: list[Event] = [HELLO]
    for turn in range(3):
        records += [
            CallQueued("call_0", "Read", {}),
            MessageRecorded("assistant", [use("call_0")]),
            CallFinished("call_0", "Read", f"turn {turn}"),
            TurnEnded(turn),
        ]
    done = repaired(*records)
    assert [block for message in done.messages[2::2] for block in message["content"]] == [
        result("call_0", "turn 0"),
        result("call_0-2", "turn 1"),
        result("call_0-3", "turn 2"),
    ]


def test_a_call_lost_in_a_crash_does_not_take_the_reply_of_a_later_one_with_its_id() -> None:
    done = repaired(
        HELLO,
        MessageRecorded("assistant", [use("x", "Write")]),
        SessionResumed(),
        MessageRecorded("user", "Again."),
        CallQueued("x", "Write", {}),
        MessageRecorded("assistant", [use("x", "Write")]),
        CallFinished("x", "Write", "done"),
        TurnEnded(0),
    )
    assert done.messages[2]["content"][0] == failure("x", NOT_STARTED)
    assert done.messages[4]["content"] == [result("x-2", "done")]


def test_results_recorded_as_messages_count_once_and_strangers_are_dropped() -> None:
    done = repaired(
        HELLO,
        CallQueued("a", "Read", {}),
        MessageRecorded("assistant", [use("a"), use("b")]),
        CallFinished("a", "Read", "long"),
        TurnEnded(0),
        MessageRecorded(
            "user", [result("stranger", "?"), result("a", "trimmed"), result("a", "twice"), result("b", [text(" ")])]
        ),
        MessageRecorded("user", [result("a", "late")]),
    )
    assert done.messages[2:] == [{"role": "user", "content": [result("a", "trimmed"), result("b", [])]}]


def test_names_ids_and_inputs_that_providers_refuse_are_made_plain() -> None:
    broken = {"type": "tool_use", "id": "functions.Read:0", "name": "functions.Read", "input": '{"a": 1'}
    done = repaired(HELLO, MessageRecorded("assistant", [broken, {"type": "tool_use", "name": "no id"}]))
    assert done.messages[1]["content"] == [
        {"type": "tool_use", "id": "functions_Read_0", "name": "functions_Read", "input": {"invalid_json": '{"a": 1'}}
    ]


def test_empty_and_cut_messages_do_not_stay() -> None:
    done = repaired(
        HELLO,
        MessageRecorded("assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        MessageRecorded("user", "  "),
        MessageRecorded("system", "rules"),
        MessageRecorded("assistant", [text(""), text("Yes.")]),
        MessageRecorded("assistant", "And more."),
    )
    assert done.messages[1:] == [{"role": "assistant", "content": [text("Yes."), text("And more.")]}]


def test_a_shortened_conversation_takes_the_place_of_all_before_it() -> None:
    shortened = [{"role": "user", "content": [text("summary")]}, {"role": "assistant", "content": [use("a")]}]
    found = repaired(
        MessageRecorded("user", "long ago"),
        CallQueued("a", "Read", {}),
        MessageRecorded("assistant", [use("a")]),
        CallFinished("a", "Read", "old"),
        TurnEnded(0),
        CallQueued("lost", "Read", {}),
        TurnEnded(1),
        NoteRecorded(COMPACTION, {"messages": [*shortened, {"role": "user", "content": [result("a", "kept")]}]}),
        CallQueued("b", "Read", {}),
        MessageRecorded("assistant", [use("b")]),
        CallFinished("b", "Read", "new"),
    )
    assert found.messages == [
        *shortened,
        {"role": "user", "content": [result("a", "kept")]},
        {"role": "assistant", "content": [use("b")]},
        {"role": "user", "content": [result("b", "new")]},
    ]
    assert found.interrupted == ()


def test_only_the_last_shortening_counts_and_a_damaged_one_does_not() -> None:
    first = {"messages": [{"role": "user", "content": "one"}]}
    second = {"messages": [{"role": "user", "content": "two"}]}
    found = repaired(
        NoteRecorded(COMPACTION, first), NoteRecorded(COMPACTION, second), NoteRecorded(COMPACTION, {"messages": None})
    )
    assert found.messages == [{"role": "user", "content": [text("two")]}]


IDS = st.sampled_from(["a", "b", "c.d"])
BLOCKS = st.one_of(
    st.builds(use, IDS),
    st.builds(text, st.sampled_from(["", "words"])),
    st.builds(result, IDS, st.sampled_from(["", "text"])),
    st.just({"type": "thinking", "thinking": "hm"}),
    st.just({"type": "tool_use", "id": None, "name": "x"}),
)
NOTES = st.one_of(
    st.sampled_from([None, "text", {}, {"messages": 3}, {"messages": ["x", {"role": 1}]}]),
    st.fixed_dictionaries(
        {
            "messages": st.lists(
                st.fixed_dictionaries(
                    {"role": st.sampled_from(["user", "assistant"]), "content": st.lists(BLOCKS, max_size=4)}
                ),
                max_size=4,
            )
        }
    ),
)
RECORDS = st.one_of(
    st.builds(CallQueued, IDS, st.just("Read"), st.just({})),
    st.builds(CallStarted, IDS, st.just("Read"), st.booleans()),
    st.builds(CallFinished, IDS, st.just("Read"), st.sampled_from(["", "text"])),
    st.builds(CallDiscarded, IDS, st.just("Read")),
    st.builds(TurnEnded, st.just(0)),
    st.builds(SessionResumed),
    st.builds(MessageRecorded, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=4)),
    st.builds(NoteRecorded, st.just(COMPACTION), NOTES),
)


@settings(deadline=None, max_examples=300)
@given(st.lists(RECORDS, max_size=30))
def test_whatever_a_journal_holds_the_conversation_is_valid(records: list[Event]) -> None:
    repaired(*records)


def test_the_rules_catch_what_providers_refuse() -> None:
    assert message_problems([{"role": "assistant", "content": "Hi"}])
    assert message_problems([{"role": "user", "content": ""}])
    assert message_problems([{"role": "user", "content": []}])
    assert message_problems([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    assert message_problems([{"role": "user", "content": "a"}, {"role": "assistant", "content": [use("x")]}])
    assert message_problems([{"role": "user", "content": [result("x", "orphan")]}])
    asked = [{"role": "user", "content": "a"}, {"role": "assistant", "content": [use("x"), use("x")]}]
    assert message_problems([*asked, {"role": "user", "content": [result("x", "1"), result("x", "2")]}])
