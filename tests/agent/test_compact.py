"""Conversations that no longer fit: what goes first, what stays, and that it stays valid."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Executor
from holdfast.agent import Block, Loop, LoopParts, Message
from holdfast.agent.shorten import drop_oldest, recent_start, squeeze, trim_results, user_words
from holdfast.cli.stream_json import SessionFacts, StreamJson
from holdfast.contract import UsageError
from holdfast.events import ContextCompacted, ContextCompacting, Reminded, ReplyDiscarded
from holdfast.models import ModelError, ModelRequest, SystemBlock, Usage
from holdfast.session import SessionStore
from holdfast.session.export import to_document, to_markdown
from holdfast.session.repair import repair
from holdfast.session.validity import message_problems
from holdfast.testing import ScriptedTool, run_virtual
from holdfast.testing.loops import STEADY, read_run, run_loop
from holdfast.testing.planned import PlannedModel, Step, answer, call, words

OVERFLOW: list[Step] = [ModelError("too long", "context_overflow")]
SUMMARY = answer(words("## Goal\nCount the files."))
OK = answer(words("ok"))


def turn(id_: str, text: str = "r", *, name: str = "Read") -> list[Message]:
    """A call and its result."""
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": id_, "name": name, "input": {"path": id_}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": text}]},
    ]


def talk(turns: int, chars: int) -> list[Message]:
    """A prompt, and so many calls with results of so many characters."""
    messages: list[Message] = [{"role": "user", "content": [{"type": "text", "text": "Count the files."}]}]
    for number in range(turns):
        messages += turn(f"c{number}", "x" * chars)
    return messages


def asks_for_summary(request: ModelRequest) -> bool:
    return request.tool_choice == "none"


def test_old_results_go_first_and_the_note_says_how_to_see_them_again() -> None:
    history = talk(20, 20_000)  # about 100,000 tokens
    run = run_loop(OK, prompt=None, history=history, model_options={"context_window": 110_000})
    assert [type(event) for event in run.events if isinstance(event, ContextCompacting | ContextCompacted)] == [
        ContextCompacting,
        ContextCompacted,
    ]
    done = run.of(ContextCompacted)[0]
    assert (done.trigger, done.summary) == ("auto", "")
    assert done.tokens_after < done.tokens_before
    assert len(run.model.requests) == 1
    sent = run.model.requests[0].messages
    assert 'Read {"path":"c0"}' in sent[2]["content"][0]["content"]
    assert "Call Read again" in sent[2]["content"][0]["content"]
    assert sent[-1]["content"] == history[-1]["content"]
    assert len(sent) == len(history)


def test_what_is_still_too_long_is_summarised_and_the_last_turns_stay() -> None:
    history = [*talk(0, 0), *[message for n in range(60) for message in said(n, 6_000)], *turn("last", "final")]
    run = run_loop(SUMMARY, OK, prompt=None, history=history, model_options={"context_window": 100_000})
    summary, after = run.model.requests
    assert asks_for_summary(summary)
    assert "## Next steps" in summary.messages[-1]["content"][-1]["text"]
    opening = [block["text"] for block in after.messages[0]["content"]]
    assert "## Goal\nCount the files." in opening[0]
    assert opening[2] == "Count the files."
    assert after.messages[-1] == history[-1]
    assert len(after.messages) < 16
    assert run.of(ContextCompacted)[0].summary == "## Goal\nCount the files."
    assert run.ended.outcome == "success"


def said(number: int, chars: int) -> list[Message]:
    return [
        {"role": "assistant", "content": [{"type": "text", "text": "y" * chars}]},
        {"role": "user", "content": [{"type": "text", "text": f"and then {number}?"}]},
    ]


def test_a_model_that_finds_it_too_long_gets_a_shorter_one_once() -> None:
    fine: Message = {"role": "assistant", "content": "fine"}
    history = [*talk(0, 0), *[message for n in range(6) for message in said(n, 4_000)], fine]
    run = run_loop(OVERFLOW, SUMMARY, OK, history=history)
    assert run.ended.text == "ok"
    assert run.ended.outcome == "success"
    assert len(run.of(ContextCompacted)) == 1
    assert run.of(ReplyDiscarded) == []
    run = run_loop(OVERFLOW, SUMMARY, OVERFLOW, history=history)
    assert (run.ended.outcome, run.ended.error) == ("error_during_execution", "too long")
    assert len(run.of(ContextCompacted)) == 1


def test_nothing_is_shortened_when_that_is_switched_off() -> None:
    run = run_loop(
        OVERFLOW,
        history=[*talk(6, 4_000), {"role": "assistant", "content": "fine"}],
        choices=STEADY._replace(auto_compact=False),
    )
    assert run.ended.outcome == "error_during_execution"
    assert run.of(ContextCompacting) == []


def test_a_huge_result_of_the_last_turn_is_cut_in_its_middle() -> None:
    class Chatty(ScriptedTool):
        max_result_chars = 10_000_000

    big = call("a", "Scripted", {"text": "z" * 400_000})
    run = run_loop(answer(big), OK, tools=[Chatty()], model_options={"context_window": 50_000})
    result = run.sent(1)[0]["content"]
    assert len(result) < 100_000
    assert "cut here" in result
    assert run.ended.outcome == "success"


def test_a_prompt_that_alone_is_too_long_is_an_error_and_no_endless_loop() -> None:
    run = run_loop(OVERFLOW, prompt="w" * 500_000, model_options={"context_window": 1_000})
    assert run.ended.outcome == "error_during_execution"
    assert len(run.model.requests) == 1


def test_a_summary_request_that_is_too_long_itself_is_made_shorter_and_at_last_given_up() -> None:
    history = [*talk(40, 400), {"role": "assistant", "content": "done"}]
    sizes: list[int] = []

    def too_long(request: ModelRequest) -> list[Step]:
        if not asks_for_summary(request):
            return OK
        sizes.append(len(request.messages))
        assert message_problems(request.messages) == []
        return OVERFLOW

    async def body() -> Loop:
        async with Executor([]) as executor:
            loop = Loop(executor, PlannedModel(then=too_long), LoopParts(history=history))
            done = await loop.compact()
            assert done is not None
            assert done.summary == ""
            return loop

    loop = run_virtual(body())
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) >= 5
    assert message_problems(loop.history) == []
    assert "No summary could be made" in loop.history[0]["content"][0]["text"]


def test_people_can_ask_for_it_with_their_own_words_and_the_prompt_is_made_anew() -> None:
    made: list[int] = []

    async def system() -> list[SystemBlock]:
        made.append(1)
        return [SystemBlock("You count.")]

    async def body() -> tuple[Loop, PlannedModel]:
        async with Executor([ScriptedTool()], permission_mode="bypassPermissions") as executor:
            model = PlannedModel(answer(call("a", "Scripted", {})), OK, SUMMARY, answer(words("more")))
            loop = Loop(executor, model, LoopParts(system=system))
            assert await loop.compact() is None
            await read_run(loop)
            done = await loop.compact("keep the numbers")
            assert done is not None
            assert (done.trigger, done.summary) == ("manual", "## Goal\nCount the files.")
            await read_run(loop, "and now?")
            return loop, model

    loop, model = run_virtual(body())
    assert "keep the numbers" in model.requests[2].messages[-1]["content"][-1]["text"]
    assert len(loop.history) == 2
    assert len(made) == 2
    assert loop.usage == Usage(40, 20)


def test_a_summary_that_cannot_be_asked_for_leaves_everything_as_it_was() -> None:
    history = [*talk(3, 400), {"role": "assistant", "content": "done"}]

    async def body() -> Loop:
        async with Executor([]) as executor:
            loop = Loop(executor, PlannedModel([ModelError("no key", "auth")]), LoopParts(history=history))
            with pytest.raises(ModelError):
                await loop.compact()
            return loop

    assert run_virtual(body()).history == history


def test_no_compaction_by_hand_while_a_run_is_under_way() -> None:
    async def compact(loop: Loop, event: Any) -> None:
        with pytest.raises(UsageError):
            await loop.compact()

    run_loop(OK, on_event=compact)


def test_no_run_and_no_second_compaction_while_one_is_made_by_hand() -> None:
    async def body() -> None:
        async with Executor([]) as executor:
            model = PlannedModel([5.0, *SUMMARY], OK)
            loop = Loop(executor, model, LoopParts(history=[*talk(3, 400), {"role": "assistant", "content": "ok"}]))
            compacting = asyncio.create_task(loop.compact())
            await asyncio.sleep(1)
            for meanwhile in (read_run(loop, "lost?"), loop.compact()):
                with pytest.raises(UsageError, match="being shortened"):
                    await meanwhile
            assert isinstance(await compacting, ContextCompacted)
            await read_run(loop, "kept")
            assert "kept" in str(loop.history)

    run_virtual(body())


def test_after_broken_streams_the_summary_is_asked_for_as_a_whole() -> None:
    broken_stream: list[Step] = [ModelError("cut", "broken_stream")]
    history: list[Message] = [{"role": role, "content": "long " * 1_000} for role in ("user", "assistant") * 6]
    run = run_loop(broken_stream, broken_stream, OVERFLOW, SUMMARY, OK, history=history)
    summary = next(request for request in run.model.requests if asks_for_summary(request))
    assert not summary.is_streaming
    assert run.ended.outcome == "success"


def test_a_resumed_session_begins_with_the_shortened_conversation(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    session = store.create(str(tmp_path))

    async def body() -> list[Message]:
        async with Executor(
            [ScriptedTool()], permission_mode="bypassPermissions", on_event=session.journal
        ) as executor:
            model = PlannedModel(
                answer(call("a", "Scripted", {"text": "first"})), OK, SUMMARY, answer(call("a", "Scripted", {})), OK
            )
            loop = Loop(executor, model, LoopParts(journal=session.journal))
            await read_run(loop)
            await loop.compact()
            await read_run(loop, "again")
            return list(loop.history)

    history = run_virtual(body())
    session.close()
    _, transcript = store.resume(session.id)
    assert repair(transcript).messages == history
    assert len(transcript.messages) == 8


def test_files_that_were_shown_may_be_shown_again_after_shortening(tmp_path: Path) -> None:
    from holdfast.contract import FileRead, FileStamp  # noqa: PLC0415 - only here

    async def body() -> None:
        async with Executor([]) as executor:
            executor.state.apply(FileRead("/f", FileStamp(1, 2, 3, 4, "x", True, window=(1, 10))), "Read")
            loop = Loop(
                executor,
                PlannedModel(SUMMARY),
                LoopParts(history=[*talk(3, 400), {"role": "assistant", "content": "ok"}]),
            )
            await loop.compact()
            assert executor.state.file_reads["/f"].window is None
            assert executor.state.file_reads["/f"].sha256 == "x"

    run_virtual(body())


sizes = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3_000)), max_size=12)


@given(shape=sizes, limit=st.integers(0, 4_000), start=st.integers(0, 30))
def test_whatever_is_shortened_stays_valid(shape: list[tuple[int, int]], limit: int, start: int) -> None:
    messages: list[Message] = [{"role": "user", "content": "begin"}]
    for number, (calls, chars) in enumerate(shape):
        uses: list[Block] = [
            {"type": "tool_use", "id": f"c{number}-{n}", "name": "T", "input": {}} for n in range(calls)
        ]
        results: list[Block] = [
            {"type": "tool_result", "tool_use_id": use["id"], "content": "x" * chars} for use in uses
        ]
        messages.append({"role": "assistant", "content": uses or "said"})
        messages.append({"role": "user", "content": results or [{"type": "text", "text": "w" * (chars + 1)}]})
    assert message_problems(messages) == []
    recent = recent_start(messages, limit)
    assert recent == len(messages) or messages[recent]["role"] == "assistant"
    for shorter in (
        trim_results(messages, recent, {"c0-0": "/spilled"}),
        squeeze(messages, limit),
        drop_oldest(messages, min(start, len(messages))),
        [{"role": "user", "content": "summary"}, *messages[recent:]],
    ):
        assert message_problems(shorter) == []


def test_results_of_several_blocks_are_squeezed_and_pictures_go_before_words() -> None:
    content: list[Block] = [{"type": "text", "text": "t" * 50_000}, {"type": "image", "source": {}}]
    messages: list[Message] = [*talk(0, 0), *turn("a")]
    messages[-1] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content}]}
    slightly = squeeze(messages, 7_000)[-1]["content"][0]["content"]
    assert len(slightly[0]["text"]) < 21_000
    assert slightly[1] == {"type": "image", "source": {}}
    hard = squeeze(messages, 1_000)[-1]["content"][0]["content"]
    assert len(hard[0]["text"]) < 3_000
    assert hard[1]["type"] == "text"
    assert message_problems(squeeze(messages, 0)) == []


def test_a_long_result_that_is_on_disk_is_named_by_its_file() -> None:
    trimmed = trim_results(talk(2, 4_000), 5, {"c1": "/session/tool-results/c1.txt"})
    assert "/session/tool-results/c1.txt" in trimmed[4]["content"][0]["content"]
    assert trim_results(trimmed, 5, {}) == trimmed


def test_plan_mode_is_told_again_when_the_summary_has_lost_it() -> None:
    async def body() -> list[list[str]]:
        async with Executor([], permission_mode="plan") as executor:
            model = PlannedModel(OK, OK, SUMMARY, OK)
            loop = Loop(executor, model)
            told: list[list[str]] = []
            for number in range(3):
                if number == 2:
                    assert await loop.compact() is not None
                events = await read_run(loop, "go")
                told.append([event.text[:16] for event in events if isinstance(event, Reminded)])
            return told

    assert run_virtual(body()) == [["Plan mode is on:"], [], ["Plan mode is on:"]]


def test_the_users_words_outlive_every_summary() -> None:
    async def body() -> list[Message]:
        async with Executor([]) as executor:
            model = PlannedModel(then=lambda request: SUMMARY if asks_for_summary(request) else OK)
            loop = Loop(executor, model)
            for number in range(12):
                text = "a log: " + "w" * 20_000 if number == 9 else f"wish {number}"
                await read_run(loop, text)
                assert await loop.compact() is not None
            return list(loop.history)

    texts = [block["text"] for message in run_virtual(body()) for block in message["content"]]
    for number in (0, 8, 10, 11):
        assert f"wish {number}" in texts, "as blocks of their own, however often it was summarised"
    long = next(text for text in texts if text.startswith("a log: "))
    assert len(long) < 4_000, "one long text does not drive out the others"
    assert sum(text.startswith("[The conversation so far") for text in texts) == 1


def test_what_no_longer_fits_is_said_and_the_first_prompt_stays() -> None:
    messages: list[Message] = [{"role": "user", "content": f"{number}: " + "w" * 2_000} for number in range(9)]
    said = user_words(messages)
    assert [text[:3] for text in said] == ["0: ", "[He", "7: ", "8: "]
    assert user_words([]) == []


def test_summaries_count_in_the_usage_of_their_model() -> None:
    history = [*talk(0, 0), *[message for n in range(60) for message in said(n, 6_000)], *turn("last", "final")]
    run = run_loop(SUMMARY, OK, prompt=None, history=history, model_options={"context_window": 100_000})
    lines = StreamJson(SessionFacts("s", "/", "m", "default", []))
    for event in run.events:
        lines.count_only(event)
    total = lines.result(run.ended)
    assert sum(used["inputTokens"] for used in total["modelUsage"].values()) == total["usage"]["input_tokens"] > 0


def test_the_export_of_a_shortened_session_holds_all_of_it(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    session = store.create(str(tmp_path))

    async def body() -> None:
        async with Executor([], on_event=session.journal) as executor:
            loop = Loop(executor, PlannedModel(OK, SUMMARY, OK), LoopParts(journal=session.journal))
            await read_run(loop, "the very first words")
            await loop.compact()
            await read_run(loop, "the last words")

    run_virtual(body())
    session.close()
    _, transcript = store.resume(session.id)
    texts = [block["text"] for message in to_document(transcript)["messages"] for block in message["content"]]
    assert texts == ["the very first words", "ok", "the last words", "ok"]
    assert "the very first words" in to_markdown(transcript)
