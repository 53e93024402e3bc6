"""Commands that begin with a slash, in a whole conversation without a screen."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.tui.faces import AnsweringFace
from tests.tui.talking import Talk, talking

from holdfast.app.begin import SessionChoice
from holdfast.app.rewind import rewind_points
from holdfast.tui.commands.run import ALIASES, COMMANDS, is_command, offered_commands, runs_beside
from holdfast.tui.show.recall import recall

WANTED = [
    "help",
    "clear",
    "compact",
    "config",
    "context",
    "cost",
    "model",
    "permissions",
    "mcp",
    "agents",
    "skills",
    "hooks",
    "memory",
    "init",
    "resume",
    "tasks",
    "undo",
    "doctor",
    "export",
    "status",
    "exit",
    "rewind",
]


def write(name: str, content: str) -> dict[str, Any]:
    return {"tool": "Write", "input": {"file_path": name, "content": content}}


def test_every_command_that_people_know_is_there() -> None:
    assert set(WANTED) <= set(COMMANDS)


def test_looking_commands_tell_what_they_should(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Be kind.", encoding="utf-8")

    async def run() -> None:
        async with talking(tmp_path, [write("a.txt", "x\n")], "Done.", allowed_tools=("Bash(git *)",)) as talk:
            await talk.say("go")
            shown = await talk.say("/help")
            assert all(f"/{name} " in shown for name in WANTED)
            assert "Esc Esc" in shown
            assert "allow  Bash(git *)" in await talk.say("/permissions")
            assert "tokens read" in await talk.say("/cost")
            shown = await talk.say("/context")
            assert "prompts and answers" in shown
            assert "AGENTS.md" in shown
            assert "Write  2 blocks" in shown
            shown = await talk.say("/status")
            assert f"{tmp_path} is trusted" in shown
            assert "sandbox" in shown
            assert "no servers" in await talk.say("/mcp")
            assert "no skills or commands" in await talk.say("/skills")
            assert "type general-purpose" in await talk.say("/agents")
            assert "no list of work" in await talk.say("/tasks")
            assert "permissions.defaultMode = 'bypassPermissions'" in await talk.say("/config")
            assert "tools.taskList is not set" in await talk.say("/config tools.taskList")

    asyncio.run(run())


def test_an_unknown_command_is_told_with_the_nearest_and_a_path_is_a_prompt(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path, "A path.") as talk:
            assert "did you mean /status?" in await talk.say("/statsu")
            assert not is_command(talk.talk, "/etc/passwd is odd")
            assert "A path." in await talk.say("/etc/passwd is odd")

    asyncio.run(run())


def test_what_people_wrote_as_commands_is_offered_and_goes_to_the_model(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("---\ndescription: Say hello\n---\nGreet $ARGUMENTS warmly.", encoding="utf-8")

    async def run() -> None:
        async with talking(tmp_path, "Hello Ada!") as talk:
            assert ("greet", "Say hello") in offered_commands(talk.talk.agent)
            assert "Hello Ada!" in await talk.say("/greet Ada")
            assert "Greet Ada warmly." in talk.sent()

    asyncio.run(run())


def test_going_back_restores_files_and_conversation_and_lasts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before\n", encoding="utf-8")
    turns = (
        "First answer.",
        [{"tool": "Read", "input": {"file_path": "a.txt"}}],
        [write("a.txt", "after\n"), write("b.txt", "new\n")],
        "Second answer.",
        "Third answer.",
    )

    async def run() -> None:
        async with talking(tmp_path, *turns) as talk:
            agent = talk.talk.agent
            assert agent is not None
            await talk.say("one")
            await talk.say("two")
            assert [(point.text, len(point.files)) for point in rewind_points(agent)] == [("one", 2), ("two", 2)]
            shown = await talk.say("/rewind", 1, 1)  # the newest prompt, and everything
            assert "the conversation goes on from before this prompt" in shown
            assert (tmp_path / "a.txt").read_text("utf-8") == "before\n"
            assert not (tmp_path / "b.txt").exists()
            assert [message["role"] for message in agent.history] == ["user", "assistant"]
            await talk.say("two again")
            assert "two again" in talk.sent()
            assert "Second answer" not in str(talk.model.requests[-1].messages)
            session = agent.session_id
        async with talking(tmp_path, choice=SessionChoice(resume=session)) as talk:
            agent = talk.talk.agent
            assert agent is not None
            assert "Second answer" not in str(agent.history)
            assert "Third answer" in str(agent.history)

    asyncio.run(run())


def test_going_back_can_leave_the_files_or_the_conversation_alone(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path, [write("a.txt", "x\n")], "Done.") as talk:
            agent = talk.talk.agent
            assert agent is not None
            assert "no prompt to go back to" in await talk.say("/rewind")
            await talk.say("go")
            await talk.say("/rewind", 1, None)  # put away
            assert (tmp_path / "a.txt").exists()
            await talk.say("/rewind", 1, 3)  # files only
            assert not (tmp_path / "a.txt").exists()
            assert agent.history
            await talk.say("/rewind", 1)  # nothing is left to choose about files
            assert agent.history == []

    asyncio.run(run())


def test_undo_clear_compact_and_export(tmp_path: Path) -> None:
    async def run(talk: Talk) -> None:
        assert "nothing to shorten" in await talk.say("/compact")
        await talk.say("go")
        assert "removed" in await talk.say("/undo")
        assert "nothing to take back" in await talk.say("/undo")
        assert "written to" in await talk.say("/export out.md")
        assert "Done." in (tmp_path / "out.md").read_text("utf-8")
        assert "is there already" in await talk.say("/export out.md")
        await talk.say("/export out.json")
        assert json.loads((tmp_path / "out.json").read_text("utf-8"))
        before = talk.talk.agent
        assert "a new conversation" in await talk.say("/clear")
        assert talk.talk.agent is not before

    async def body() -> None:
        async with talking(tmp_path, [write("a.txt", "x\n")], "Done.") as talk:
            await run(talk)

    asyncio.run(body())


def test_settings_of_the_terminal_are_kept_in_the_users_own_file(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path, "Done.") as talk:
            assert "theme is not set; one of auto" in await talk.say("/config theme")
            assert "theme = light, kept in" in await talk.say("/config theme light")
            assert "theme = 'light' (" in await talk.say("/config theme")
            assert "one of auto" in await talk.say("/config theme pink")

    asyncio.run(run())


def test_a_note_goes_to_the_file_that_is_chosen_and_the_model_hears_of_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path, "Noted.") as talk:
            await talk.say("#use tabs", 4)
            assert not (tmp_path / "AGENTS.md").exists()
            shown = await talk.say("# use tabs", 1)
            assert f"added to {tmp_path}/AGENTS.md: - use tabs" in shown
            await talk.say("# and short lines", 1)
            assert (tmp_path / "AGENTS.md").read_text("utf-8") == "- use tabs\n- and short lines\n"
            await talk.say("go on")
            assert "use tabs" in talk.sent()

    asyncio.run(run())


def test_a_shell_line_goes_through_the_rules_and_the_model_hears_of_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path, "I see.", mode="default", disallowed_tools=("Bash(rm *)",)) as talk:
            assert "● $ echo hi; ls" in await talk.say("!echo hi; ls")
            assert "refused" in await talk.say("!rm -rf x")
            shown = await talk.say("what was that?")
            assert shown.startswith("❯ what was that?")  # noqa: RUF001 - the mark people know
            assert "I ran `echo hi; ls` myself" in talk.sent()

    asyncio.run(run())


def test_the_beginning_of_a_command_is_enough_where_it_can_mean_nothing_else(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path, "Done.") as talk:
            assert "theme is not set" in await talk.say("/conf theme")
            assert "did you mean /co" in await talk.say("/co")
            assert "did you mean /status" in await talk.say("/statsu")

    asyncio.run(run())


def test_names_that_people_bring_along_mean_ours_unless_somebody_wrote_such_a_command(tmp_path: Path) -> None:
    assert set(ALIASES.values()) <= set(COMMANDS)
    assert not set(ALIASES) & set(COMMANDS)
    (tmp_path / ".claude" / "commands").mkdir(parents=True)
    (tmp_path / ".claude" / "commands" / "new.md").write_text("Write something new.\n", encoding="utf-8")

    async def run() -> None:
        async with talking(tmp_path, "Done.") as talk:
            assert "tokens read" in await talk.say("/usage")
            assert "theme is not set" in await talk.say("/settings theme")
            assert runs_beside("/quit")
            await talk.say("/new")
            assert "Write something new." in talk.sent()

    asyncio.run(run())


def test_sessions_in_which_nothing_was_said_are_not_offered(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path, "Done."):
            pass
        async with talking(tmp_path, "Done.") as talk:
            assert "no other session" in await talk.say("/resume")
            await talk.say("the first words")
        async with talking(tmp_path, "Done.") as talk:
            await talk.say("/resume", None)
            (offer,) = talk.face.menus[-1].options
            assert "the first words" in offer.label

    asyncio.run(run())


def test_what_goes_with_a_prompt_never_passes_for_the_persons_words(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "commands").mkdir(parents=True)
    (tmp_path / ".claude" / "commands" / "hello.md").write_text("Greet $ARGUMENTS warmly.\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("a noted line", encoding="utf-8")

    async def run() -> None:
        async with talking(tmp_path, "Hello.", "I see.") as talk:
            await talk.say("!echo written by a command")
            await talk.say("/hello Ada")
            assert "Greet Ada warmly." in talk.sent()  # the command is one, whatever was done before it
            assert "written by a command" in talk.sent()
            await talk.say("!echo once more")
            await talk.say("look at @notes.md")
            agent = talk.talk.agent
            assert agent is not None
            assert rewind_points(agent)[-1].text == "look at @notes.md"
            recalled = AnsweringFace()
            recall(recalled, talk.talk.view.naming, agent.history)
            assert "look at @notes.md" in recalled.text
            assert "once more" not in recalled.text
            assert "a noted line" not in recalled.text
            assert "once more" in talk.sent()
            assert "a noted line" in talk.sent()

    asyncio.run(run())


def test_the_model_is_changed_by_name_or_from_the_list(tmp_path: Path) -> None:
    async def run() -> None:
        async with talking(tmp_path, "Done.") as talk:
            script = tmp_path / "other.jsonl"
            script.write_text('"Other."\n', encoding="utf-8")
            assert f"the model is scripted:{script}" in await talk.say(f"/model scripted:{script}")
            assert "the model is scripted:" in await talk.say("/model", 1)
            assert "names no provider" in await talk.say("/model nonsense") or talk.face.text

    asyncio.run(run())
