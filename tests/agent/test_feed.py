"""Between a run and a slow reader."""

from holdfast.agent.feed import Feed
from holdfast.events import CallFinished, CallProgressed, Event, TextStreamed, ThinkingStreamed, ToolUseStreamed


def test_a_reader_that_keeps_up_gets_every_piece() -> None:
    feed = Feed()
    pieces: list[Event] = [TextStreamed("a"), TextStreamed("b"), CallProgressed("x", "T", 1)]
    for piece in pieces:
        feed.put(piece)
    assert list(feed.events) == pieces


def test_unread_events_stay_few_and_nothing_that_matters_is_lost() -> None:
    feed = Feed()
    for number in range(50_000):
        feed.put(TextStreamed("ab", 0))
        feed.put(CallProgressed("x", "T", number))
    assert len(feed.events) < 2_100
    text = "".join(event.text for event in feed.events if isinstance(event, TextStreamed))
    assert text == "ab" * 50_000
    reply = CallFinished("x", "T", "done")
    feed.put(reply)
    assert feed.events[-1] is reply


def test_only_pieces_of_the_same_block_are_joined() -> None:
    feed = Feed()
    for _ in range(2_000):
        feed.put(CallFinished("x", "T", "done"))
    pieces: list[Event] = [
        TextStreamed("a", 0),
        TextStreamed("b", 1),
        ThinkingStreamed("c", 1),
        ThinkingStreamed("d", 1),
        ToolUseStreamed("id", "T", "{", 2),
        ToolUseStreamed("id", "T", "}", 2),
        ToolUseStreamed("other", "T", "{}", 3),
    ]
    for piece in pieces:
        feed.put(piece)
    assert list(feed.events)[2_000:] == [
        TextStreamed("a", 0),
        TextStreamed("b", 1),
        ThinkingStreamed("cd", 1),
        ToolUseStreamed("id", "T", "{}", 2),
        ToolUseStreamed("other", "T", "{}", 3),
    ]
