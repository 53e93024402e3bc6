"""Events become lines: one for each call, one for many reads, one for a thought."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.tui.faces import MemoryFace

from holdfast.events import (
    AssistantReplied,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    HookRan,
    HookStarted,
    ModelRequested,
    PermissionAsked,
    RunEnded,
    TerminalSignalled,
    TextStreamed,
    ThinkingStreamed,
    ToolUseStreamed,
)
from holdfast.tui.show.view import View
from holdfast.tui.show.words import as_text

FOLDS = {"Read": "read", "Grep": "search", "Glob": "search"}


def use_of(name: str, raw: Mapping[str, Any]) -> str:
    return f"{name}({next(iter(raw.values()), '')})"


def view_on(face: MemoryFace) -> View:
    view = View(face)
    view.naming.use_of, view.naming.fold_of = use_of, lambda name, _raw: FOLDS.get(name)
    return view


def queued(view: View, *ids: str, name: str = "Bash") -> None:
    for id_ in ids:
        view.take(CallQueued(id_, name, {"about": id_}))
        view.take(CallStarted(id_, name, read_only=True))


def ended(view: View, *ids: str, name: str = "Bash", text: str = "", **more: Any) -> None:
    for id_ in ids:
        view.take(CallFinished(id_, name, text, **more))


def live(view: View, rows: int = 8) -> str:
    return "\n".join(as_text(line) for line in view.live(rows))


def over(view: View) -> None:
    view.take(RunEnded("success", "", 1, 1.0, 1.0, {}))


def test_an_agent_has_the_colour_that_its_definition_wants() -> None:
    face = MemoryFace()
    view = view_on(face)
    view.naming.use_of = lambda _name, raw: f"{raw.get('subagent_type')}: {raw.get('description')}"
    view.naming.colour_of = lambda kind: {"reviewer": "purple"}.get(kind, "chartreuse")
    for kind in ("reviewer", "odd"):
        view.take(CallQueued(kind, "Agent", {"subagent_type": kind, "description": "Look: twice"}))
    assert ("agent-purple", "reviewer") in view.live(8)[0]
    assert ("", ": Look: twice") in view.live(8)[0]
    assert ("bold", "odd") in view.live(8)[1]


def test_reads_and_searches_become_one_line_when_something_else_follows() -> None:
    face = MemoryFace()
    view = view_on(face)
    queued(view, "a", "b", name="Read")
    ended(view, "a", "b", name="Read")
    queued(view, "c", name="Grep")
    ended(view, "c", name="Grep")
    assert face.text == ""
    assert live(view).startswith("● Read 2 files, searched 1 time")
    view.take(TextStreamed("Now I know.\n\n"))
    over(view)
    assert face.text == (
        "● Read 2 files, searched 1 time (Ctrl-O)\n  ⎿ Read(a), Read(b), Grep(c)\n\nNow I know."  # each name is there
    )


def test_one_read_alone_keeps_its_own_line_and_a_failed_one_is_never_folded() -> None:
    face = MemoryFace()
    view = view_on(face)
    queued(view, "a", name="Read")
    ended(view, "a", name="Read", data={"type": "text", "file": {"numLines": 12}})
    queued(view, "b", name="Read")
    ended(view, "b", name="Read", text="<tool_use_error>no such file</tool_use_error>", is_error=True, outcome="failed")
    over(view)
    assert face.text == "● Read(a) · 12 lines\n\n● Read(b) failed\n  ⎿ no such file"


def test_a_group_is_folded_only_if_all_its_parts_are() -> None:
    face = MemoryFace()
    view = view_on(face)
    queued(view, "a", name="Read")
    queued(view, "b", name="Bash")
    ended(view, "a", name="Read")
    ended(view, "b", text="out")
    assert "side by side" in face.text
    assert "├ ● Read(a)" in face.text
    assert "└ ● Bash(b)" in face.text


def test_calls_side_by_side_are_shown_together_once_all_have_ended() -> None:
    face = MemoryFace()
    view = view_on(face)
    queued(view, "a", "b")
    ended(view, "a", text="first")
    assert face.text == ""
    shown = live(view)
    assert "● 2 calls side by side" in shown
    assert "├ ● Bash(a) done" in shown
    assert "└ ● Bash(b) 0 s" in shown
    ended(view, "b", text="second")
    assert face.text == (
        "● 2 calls side by side\n  ├ ● Bash(a)\n  │   ⎿ first\n  └ ● Bash(b)\n      ⎿ second"  # in the calls' order
    )


def test_calls_one_after_the_other_are_shown_as_each_ends() -> None:
    face = MemoryFace()
    view = view_on(face)
    queued(view, "a")
    ended(view, "a", text="first")
    assert face.text == "● Bash(a)\n  ⎿ first"
    queued(view, "b")
    ended(view, "b", text="second")
    assert "side by side" not in face.text


def test_a_call_is_drawn_while_its_input_still_arrives() -> None:
    view = view_on(MemoryFace())
    view.take(ToolUseStreamed("a", "Write"))
    assert "○ Write() writing" in live(view)
    view.take(ToolUseStreamed("a", "Write", '{"file_path": "src/ne'))
    assert "○ Write(src/ne) writing" in live(view)
    view.take(ToolUseStreamed("a", "Write", 'w.py", "content": "' + "x" * 5_000))
    assert "○ Write(src/new.py) writing 5.0 KB" in live(view)
    view.take(CallQueued("a", "Write", {"file_path": "src/new.py"}))
    assert "○ Write(src/new.py) waiting" in live(view)
    view.take(PermissionAsked("q", "a", "Write", {}, "why"))
    assert "? Write(src/new.py) asks you" in live(view)
    view.take(CallStarted("a", "Write", read_only=False))
    assert "● Write(src/new.py) 0 s" in live(view)


def test_a_call_that_was_only_begun_leaves_with_the_answer() -> None:
    view = view_on(MemoryFace())
    view.take(ToolUseStreamed("a", "Write", "{"))
    view.take(AssistantReplied("m", [], "model", "max_tokens", {}))
    assert live(view) == ""


def test_a_running_command_shows_its_last_lines_and_how_many_there_are() -> None:
    view = view_on(MemoryFace())
    queued(view, "a")
    report = {"fullOutput": "\n".join(f"line {n}" for n in range(50)) + "\n", "totalLines": 12_345}
    view.take(CallProgressed("a", "Bash", report))
    assert live(view) == "● Bash(a) 0 s · 12,345 lines\n  ⎿ line 46\n    line 47\n    line 48\n    line 49"


def test_many_calls_never_take_more_rows_than_there_are() -> None:
    view = view_on(MemoryFace(40))
    queued(view, *(f"call {n}" for n in range(30)))
    for rows in (1, 2, 3, 8):
        assert len(view.live(rows)) <= rows
    assert "more calls" in live(view)


def test_a_thought_is_one_line_and_can_be_opened() -> None:
    face = MemoryFace()
    view = view_on(face)
    view.take(ModelRequested(1, "model"))
    view.take(ThinkingStreamed("First this.\nThen "))
    view.take(ThinkingStreamed("that."))
    assert live(view).endswith("Then that.")
    view.take(TextStreamed("So."))
    over(view)
    assert face.text == "✻ thought for 0 s · 4 words (Ctrl-O)\n\nSo."
    assert view.kept.all()[-1].whole() == "First this.\nThen that."


def test_a_long_output_shows_both_ends_and_opens_whole(tmp_path: Path) -> None:
    face = MemoryFace(400)
    view = view_on(face)
    text = "\n".join(f"line {n}" for n in range(100))
    queued(view, "a")
    ended(view, "a", text="cut", data={"stdout": text, "stderr": "oh", "exitCode": 0})
    assert "  ⎿ line 0\n    line 1\n    line 2\n    … 93 more lines (Ctrl-O)\n    line 96" in face.text
    assert face.text.endswith("line 99\n    oh")
    spilled = tmp_path / "all.txt"
    spilled.write_text(text, encoding="utf-8")
    queued(view, "b", name="Other")
    ended(view, "b", name="Other", text="preview", spilled_to=str(spilled))
    assert f"all of it (Ctrl-O): {spilled}" in face.text
    assert view.kept.all()[-1].whole() == text


def test_what_was_kept_says_when_its_file_is_gone(tmp_path: Path) -> None:
    view = view_on(MemoryFace())
    ended(view, "a", name="Other", text="preview", spilled_to=str(tmp_path / "gone"))
    assert "cannot be read any more" in view.kept.all()[-1].whole()
    assert view.kept.all()[-1].whole().endswith("preview")


def test_what_a_tool_draws_stands_under_its_call_and_is_safe() -> None:
    face = MemoryFace()
    view = view_on(face)
    view.naming.result_of = lambda event: (
        [[("ok", "✔ Read"), ("dim", " \x1b[2J")]] if event.name == "TodoWrite" else None
    )
    queued(view, "a", name="TodoWrite")
    ended(view, "a", name="TodoWrite", text="The list is saved.", data={"newTodos": []})
    over(view)
    assert face.text == "● TodoWrite(a)\n  ⎿ ✔ Read \\x1b[2J"


def test_a_hook_says_what_it_does_while_it_works_and_may_ring() -> None:
    face = MemoryFace()
    view = view_on(face)
    view.take(HookStarted("PreToolUse", "check", "", "h1", "checking the licence"))
    view.take(HookStarted("PreToolUse", "other", "", "h2"))
    assert "checking the licence" in live(view)
    view.take(HookRan("PreToolUse", "check", "", "ok", hook_id="h1"))
    assert live(view) == ""
    view.take(TerminalSignalled("Stop", "\x07"))
    assert face.signals == ["\x07"]


def test_a_call_that_ends_in_the_middle_of_a_sentence_is_shown_behind_it() -> None:
    face = MemoryFace()
    view = view_on(face)
    queued(view, "a")
    view.take(TextStreamed("While it runs, I say "))
    ended(view, "a", text="out")
    assert face.text == ""
    assert "● Bash(a) done" in live(view)
    view.take(TextStreamed("this.\n\nAnd that."))
    view.take(AssistantReplied("m", [], "model", "tool_use", {}))
    assert face.text == "While it runs, I say this.\n\nAnd that.\n\n● Bash(a)\n  ⎿ out"
