"""Skills and commands at work: told to the model, called by people, and never more than somebody agreed to."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.contract import Answer, Question
from holdfast.events import CallFinished, Event
from holdfast.hooks import Hook, HookAnswer
from holdfast.testing import ScriptedModel


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything, and an empty project."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return work


def skill(base: Path, name: str, fields: str = "", body: str = "Count to three.") -> Path:
    file = base / ".claude" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: Counts things.\n{fields}\n---\n{body}\n")
    return file


def command(base: Path, name: str, text: str) -> Path:
    file = base / ".claude" / "commands" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def use(name: str, **more: Any) -> dict[str, Any]:
    return {"tool": "Skill", "input": {"skill": name, **more}}


def bash(text: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": text}}


def write(name: str) -> dict[str, Any]:
    return {"tool": "Write", "input": {"file_path": name, "content": "x"}}


class Scene:
    """What came of some prompts: the replies, the events and the model."""

    def __init__(self, work: Path, *turns: Any, prompts: tuple[str, ...] = ("Go.",), **choices: Any) -> None:
        self.model = ScriptedModel(list(turns))
        self.events: list[Event] = []
        self.questions: list[Question] = []
        self._prompts = prompts
        answer = choices.pop("answer", None)
        if answer is not None:
            choices["approver"] = self._answering(answer)
        self._choices: dict[str, Any] = {"cwd": work, "persist": False, **choices}
        asyncio.run(asyncio.wait_for(self._play(), 60))
        self.replies = [event for event in self.events if isinstance(event, CallFinished)]

    def _answering(self, behavior: Any) -> Any:
        async def answered(question: Question) -> Answer:
            self.questions.append(question)
            return Answer(behavior, message="" if behavior == "allow" else "not this")

        return answered

    async def _play(self) -> None:
        async with Agent(self.model, **self._choices) as agent:
            for prompt in self._prompts:
                self.events += [event async for event in agent.run(prompt)]

    def read(self, request: int = 0) -> str:
        """The last message that the model was sent."""
        return str(self.model.requests[request].messages[-1]["content"])


def test_a_skill_is_listed_and_its_text_is_told_on_use(place: Path) -> None:
    skill(Path.home(), "count")
    seen = Scene(place, [use("count")], "Done.")
    assert "- count: Counts things." in seen.model.requests[0].system[1].text
    assert "Count to three." not in str(seen.model.requests[0].system)
    (reply,) = seen.replies
    assert not reply.is_error
    assert "Count to three." in reply.content
    assert str(Path.home() / ".claude/skills/count") in reply.content
    assert reply.data == {"success": True, "commandName": "count", "status": "inline"}


def test_the_older_name_takes_the_older_field(place: Path) -> None:
    command(Path.home(), "fix", "Fix issue $0 as $ARGUMENTS[1].")
    seen = Scene(place, [{"tool": "SlashCommand", "input": {"command": "/fix 12 bug"}}], "Done.")
    assert "Fix issue 12 as bug." in seen.replies[0].content


def test_a_skill_of_the_folder_waits_for_trust(place: Path) -> None:
    skill(place, "count")
    seen = Scene(place, [use("count")], "Done.")
    assert seen.replies[0].is_error
    assert "- count:" not in str(seen.model.requests[0].system)
    trusted = Scene(place, [use("count")], "Done.", trust=True)
    assert "Count to three." in trusted.replies[0].content


@pytest.mark.parametrize("what", ["file", "directory"])
def test_a_skill_of_the_folder_that_leads_out_of_it_meanwhile_is_not_read(place: Path, what: str) -> None:
    file = skill(place, "count")
    outside = place.parent / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\ndescription: x\n---\nA secret.\n")

    def swap(request: Any) -> list[dict[str, Any]]:
        del request
        there = file if what == "file" else file.parent
        there.rename(place.parent / "moved")
        there.symlink_to(outside / "SKILL.md" if what == "file" else outside)
        return [use("count")]

    read = {"tool": "Read", "input": {"file_path": str(outside / "SKILL.md")}}
    seen = Scene(place, swap, [read], "Done.", trust=True)
    assert "leads out of the folder" in seen.replies[0].content
    assert (seen.replies[0].is_error, seen.replies[1].outcome) == (True, "denied")


def test_a_name_that_is_none_is_answered_with_the_nearest(place: Path) -> None:
    skill(Path.home(), "count-words")
    seen = Scene(place, [use("word-count")], "Done.")
    assert "Nearest: count-words." in seen.replies[0].content
    assert seen.replies[0].error_code == 2


def test_what_only_the_user_calls_is_refused_to_the_model_until_they_did(place: Path) -> None:
    skill(Path.home(), "deploy", "disable-model-invocation: true")
    seen = Scene(place, [use("deploy")], "Done.")
    assert "only the user calls 'deploy'" in seen.replies[0].content
    assert seen.replies[0].error_code == 3
    assert "- deploy:" not in str(seen.model.requests[0].system)
    called = Scene(place, "Done.", prompts=("/deploy",))
    assert "Count to three." in called.read()


def test_a_slash_command_of_a_prompt_becomes_its_text(place: Path) -> None:
    command(Path.home(), "git/fix", "Fix $ARGUMENTS now.")
    for prompt in ("/git:fix issue 12", "/fix issue 12"):
        assert "Fix issue 12 now." in Scene(place, "Done.", prompts=(prompt,)).read()
    for text in ("/etc/passwd is a file", "/unknown x", "Say /git:fix"):
        assert text in Scene(place, "Done.", prompts=(text,)).read()


def test_a_skill_that_people_do_not_call_stays_text(place: Path) -> None:
    skill(Path.home(), "count", "user-invocable: false")
    assert "/count" in Scene(place, "Done.", prompts=("/count",)).read()


def test_hooks_hear_an_expansion_and_may_block_it(place: Path) -> None:
    command(Path.home(), "fix", "Fix $0.")
    heard: list[Any] = []

    async def hear(event: Any) -> HookAnswer | None:
        heard.append((event.command_name, event.command_args, event.expansion_type, event.command_source, event.prompt))
        return HookAnswer("deny", "not today") if event.command_args == "no" else None

    hooks = [Hook("UserPromptExpansion", hear)]
    assert "Fix 12." in Scene(place, "Done.", prompts=("/fix 12",), hooks=hooks).read()
    assert Scene(place, prompts=("/fix no",), hooks=hooks).model.requests == []
    assert heard == [
        ("fix", "12", "slash_command", "user", "/fix 12"),
        ("fix", "no", "slash_command", "user", "/fix no"),
    ]


def test_allowed_tools_hold_for_one_turn_after_a_yes(place: Path) -> None:
    skill(Path.home(), "count", "allowed-tools: Write")
    turns = ([use("count")], [write("a.txt")], "Done.", [write("b.txt")], "Done.")
    seen = Scene(place, *turns, prompts=("Go.", "Again."), answer="allow")
    assert [question.tool for question in seen.questions] == ["Skill", "Write"]
    assert "uses without a question until this turn ends: Write" in seen.questions[0].preview
    assert seen.replies[0].data["allowedTools"] == ["Write"]


def test_a_no_to_a_skill_grants_nothing(place: Path) -> None:
    skill(Path.home(), "count", "allowed-tools: Write")
    seen = Scene(place, [use("count")], [write("a.txt")], "Done.", answer="deny")
    assert [question.tool for question in seen.questions] == ["Skill", "Write"]
    assert not (place / "a.txt").exists()


def test_where_nobody_can_be_asked_a_skill_is_used_without_its_rights(place: Path) -> None:
    skill(Path.home(), "count", "allowed-tools: Write")
    seen = Scene(place, [use("count")], [write("a.txt")], "Done.")
    assert "Count to three." in seen.replies[0].content
    assert "Nobody agreed to its allowed-tools" in seen.replies[0].content
    assert seen.replies[1].outcome == "denied"


@pytest.mark.parametrize("choices", [{"disallowed_tools": ["Write", "Bash"]}, {"permission_mode": "plan"}])
def test_a_grant_lifts_no_deny_and_no_mode_that_forbids(place: Path, choices: dict[str, Any]) -> None:
    skill(Path.home(), "count", "allowed-tools: Write, Bash")
    turns = ([use("count")], [bash("touch b.txt"), write("a.txt")], "Done.")
    Scene(place, *turns, answer="allow" if "disallowed_tools" in choices else None, **choices)
    assert not (place / "a.txt").exists()
    assert not (place / "b.txt").exists()


def test_a_grant_lifts_no_ask_rule(place: Path) -> None:
    skill(Path.home(), "count", "allowed-tools: Bash(touch *)")
    turns = ([use("count")], [bash("touch b.txt")], "Done.")
    seen = Scene(place, *turns, answer="allow", settings='{"permissions": {"ask": ["Bash(touch *)"]}}')
    assert [question.tool for question in seen.questions] == ["Skill", "Bash"]


def test_called_by_the_user_their_own_skill_needs_no_further_yes(place: Path) -> None:
    skill(Path.home(), "count", "allowed-tools: Write")
    seen = Scene(place, [write("a.txt")], "Done.", [write("b.txt")], "Done.", prompts=("/count", "Again."))
    assert [reply.outcome for reply in seen.replies] == ["completed", "denied"]


def test_a_skill_of_the_folder_is_asked_about_once_for_each_content(place: Path) -> None:
    file = skill(place, "count", "allowed-tools: Write")
    prompts = ("/count", "/count")
    seen = Scene(
        place, [write("a.txt")], "Done.", [write("b.txt")], "Done.", prompts=prompts, trust=True, answer="allow"
    )
    assert [question.tool for question in seen.questions] == ["Skill"]
    assert (place / "b.txt").exists()
    file.write_text(file.read_text() + "More.\n")
    again = Scene(place, [write("c.txt")], "Done.", prompts=("/count",), trust=True, answer="deny")
    assert [question.tool for question in again.questions] == ["Skill", "Write"]
    assert "Count to three." in again.read()


def test_tools_that_a_skill_forbids_are_denied_for_the_turn(place: Path) -> None:
    skill(Path.home(), "count", "disallowed-tools: Write")
    turns = ([use("count")], [write("a.txt")], "Done.", [write("b.txt")], "Done.")
    seen = Scene(place, *turns, prompts=("Go.", "Again."), permission_mode="acceptEdits")
    assert [reply.outcome for reply in seen.replies] == ["completed", "denied", "completed"]


# -- commands in the text


def test_the_output_of_the_users_commands_stands_in_their_place(place: Path) -> None:
    command(Path.home(), "look", "Here: !`echo from $0`\n\n```!\ntouch made.txt\n```\nEnd.")
    seen = Scene(place, "Done.", prompts=("/look me",))
    assert "Here: from me" in seen.read()
    assert "!`" not in seen.read()
    assert (place / "made.txt").exists()


def test_commands_of_a_folder_run_after_a_yes_alone(place: Path) -> None:
    command(place, "look", "Here: !`touch made.txt`")
    for choices in ({}, {"answer": "deny"}):
        seen = Scene(place, "Done.", prompts=("/look",), trust=True, **choices)
        assert "not run: nobody has agreed" in seen.read()
        assert not (place / "made.txt").exists()
    untrusted = Scene(place, "Done.", prompts=("/look",), answer="allow")
    assert (untrusted.questions, "/look" in untrusted.read()) == ([], True)
    seen = Scene(place, "Done.", prompts=("/look",), trust=True, answer="allow")
    assert "runs: touch made.txt" in seen.questions[0].preview
    assert (place / "made.txt").exists()


def test_a_model_that_uses_a_skill_with_commands_needs_one_yes(place: Path) -> None:
    skill(place, "look", body="Here: !`touch one.txt` !`touch two.txt`")
    seen = Scene(place, [use("look")], [use("look")], "Done.", trust=True, answer="allow")
    assert [question.tool for question in seen.questions] == ["Skill"]
    assert "runs: touch one.txt" in seen.questions[0].preview
    assert ((place / "one.txt").exists(), (place / "two.txt").exists()) == (True, True)


@pytest.mark.parametrize("rule", [{"deny": ["Bash(touch *)"]}, {"ask": ["Bash(touch *)"]}])
def test_no_yes_to_a_file_answers_a_rule_about_its_commands(place: Path, rule: dict[str, Any]) -> None:
    command(Path.home(), "look", "Here: !`touch made.txt`")
    settings = json.dumps({"permissions": rule})
    seen = Scene(place, "Done.", prompts=("/look",), answer="allow", settings=settings)
    assert "[not run: touch made.txt" in seen.read()
    assert not (place / "made.txt").exists()


def test_an_argument_of_the_model_runs_nothing(place: Path) -> None:
    skill(Path.home(), "look", body="For $ARGUMENTS")
    seen = Scene(place, [use("look", args="!`touch made.txt`")], "Done.", answer="allow")
    assert (seen.questions, (place / "made.txt").exists()) == ([], False)


@pytest.mark.parametrize("allowed", ["Skill", "Skill(look *)"])
@pytest.mark.parametrize(
    ("body", "args"),
    [
        ("Here: !`ls $ARGUMENTS`", "; touch made.txt"),
        ("Here: !`ls $0 $1 $2`", "; touch made.txt"),
        ("!`ls $what`", "';touch made.txt'"),
        ("```!\nls $ARGUMENTS[0]\n```", "';touch made.txt'"),
    ],
)
def test_a_rule_about_a_file_runs_nothing_that_a_model_adds_to_its_commands(
    place: Path, allowed: str, body: str, args: str
) -> None:
    command(Path.home(), "look", f"---\narguments: what\n---\n{body}\n")
    for answer, is_made in ((None, False), ("deny", False), ("allow", True)):
        seen = Scene(place, [use("look", args=args)], "Done.", answer=answer, allowed_tools=(allowed,))
        assert (place / "made.txt").exists() is is_made, seen.replies[0].content
        assert [question.tool for question in seen.questions] == ([] if answer is None else ["Skill"])


def test_a_rule_about_a_file_runs_the_commands_that_stand_in_it(place: Path) -> None:
    command(Path.home(), "look", "Here: !`touch made.txt` for $ARGUMENTS")
    Scene(place, [use("look", args="; touch other.txt")], "Done.", allowed_tools=("Skill(look *)",))
    assert sorted(path.name for path in place.iterdir()) == ["made.txt"]


def test_the_gates_of_the_user_hear_the_commands(place: Path) -> None:
    command(Path.home(), "look", "Here: !`touch made.txt`")

    async def refuse(event: Any) -> HookAnswer:
        del event
        return HookAnswer("deny", "never")

    hooks = [Hook("PreToolUse", refuse, "Bash")]
    seen = Scene(place, "Done.", prompts=("/look",), hooks=hooks)
    assert ("never" in seen.read(), (place / "made.txt").exists()) == (True, False)


# -- more


def test_what_went_wrong_has_a_number(place: Path) -> None:
    file = skill(Path.home(), "forked", "context: fork\nagent: nobody")
    seen = Scene(place, [use("forked")], "Done.")
    assert (seen.replies[0].error_code, "wants an agent of its own" in seen.replies[0].content) == (5, True)

    def remove(request: Any) -> list[dict[str, Any]]:
        del request
        file.unlink()
        return [use("forked")]

    seen = Scene(place, remove, "Done.")
    assert (seen.replies[0].error_code, "cannot be read" in seen.replies[0].content) == (4, True)


def test_an_agent_of_its_own_follows_a_skill_that_forks(place: Path) -> None:
    skill(Path.home(), "count", "context: fork\nagent: Explore")
    seen = Scene(place, [use("count", args="now")], "Three.", "Done.")
    assert seen.replies[0].content == "Three."
    assert (seen.replies[0].data["status"], seen.replies[0].data["success"]) == ("forked", True)
    assert "Count to three." in str(seen.model.requests[1].messages)
    typed = Scene(place, [use("count")], "Three.", "Done.", prompts=("/count",))
    assert "call Skill with skill 'count'" in typed.read()


def test_fields_of_a_skill_hold_for_the_agent_that_follows_it(place: Path) -> None:
    skill(Path.home(), "count", "context: fork\neffort: high\ndisallowed-tools: Write\nallowed-tools: Bash(touch *)")
    turns = ([use("count")], [write("a.txt"), bash("touch b.txt")], "Three.", [write("c.txt")], "Done.")
    seen = Scene(place, *turns, answer="allow", permission_mode="acceptEdits")
    assert "uses without a question" in seen.questions[0].preview
    assert [question.tool for question in seen.questions] == ["Skill"]
    assert [request.effort for request in seen.model.requests] == [None, "high", "high", None, None]
    assert [(place / name).exists() for name in ("a.txt", "b.txt", "c.txt")] == [False, True, True]
    assert seen.replies[0].data["allowedTools"] == ["Bash(touch *)"]


@pytest.mark.parametrize(
    "choices",
    [
        {"permission_mode": "plan"},
        {"permission_mode": "dontAsk"},
        {"disallowed_tools": ["Bash(touch *)"]},
        {"settings": '{"permissions": {"ask": ["Bash(touch *)"]}}', "answer": "deny"},
    ],
)
def test_a_yes_to_a_skill_lifts_no_limit_of_the_agent_that_follows_it(place: Path, choices: dict[str, Any]) -> None:
    skill(Path.home(), "count", "context: fork\nallowed-tools: Bash(touch *) Write")
    turns = ([use("count")], [bash("touch b.txt"), write("c.txt")], "Three.", "Done.")
    given: dict[str, Any] = {"answer": "allow", **choices}
    Scene(place, *turns, **given)
    assert not (place / "b.txt").exists()
    assert (place / "c.txt").exists() is ("disallowed_tools" in choices)


def test_what_an_agent_was_granted_by_a_skill_ends_with_the_turn(place: Path) -> None:
    skill(Path.home(), "count", "context: fork\nallowed-tools: Bash(touch *)")
    later = [{"tool": "Agent", "input": {"description": "d", "prompt": "Touch."}}]
    turns = ([use("count")], [bash("touch a.txt")], "One.", "Done.", later, [bash("touch b.txt")], "Two.", "Done.")
    seen = Scene(place, *turns, prompts=("Go.", "Again."), answer="allow")
    assert [question.tool for question in seen.questions] == ["Skill", "Bash"]


def test_what_nobody_agreed_to_an_agent_that_follows_a_skill_has_not(place: Path) -> None:
    skill(Path.home(), "count", "context: fork\nallowed-tools: Bash(touch *)")
    seen = Scene(place, [use("count")], [bash("touch b.txt")], "No.", "Done.")
    assert "Nobody agreed to its allowed-tools" in str(seen.replies[0].content)
    assert not (place / "b.txt").exists()


def test_effort_holds_for_the_turn(place: Path) -> None:
    skill(Path.home(), "count", "effort: high")
    seen = Scene(place, [use("count")], "Done.", "Done.", prompts=("Go.", "Again."))
    assert [request.effort for request in seen.model.requests] == [None, "high", None]


def test_a_model_that_cannot_be_asked_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    skill(Path.home(), "count", "model: opus")
    seen = Scene(place, [use("count")], "Done.")
    assert "cannot be asked, so yours goes on" in seen.replies[0].content


def test_files_of_a_skill_can_be_read_once_it_is_used(place: Path) -> None:
    file = skill(Path.home(), "count").parent / "more.md"
    file.write_text("resource\n")
    look = {"tool": "Read", "input": {"file_path": str(file)}}
    seen = Scene(place, [look], [use("count")], [look], "Done.")
    assert [reply.outcome for reply in seen.replies] == ["denied", "completed", "completed"]


def test_skills_of_a_directory_come_up_with_a_file_in_it(place: Path) -> None:
    skill(place / "sub", "inner")
    (place / "sub" / "a.txt").write_text("x\n")
    look = {"tool": "Read", "input": {"file_path": "sub/a.txt"}}
    seen = Scene(place, [look], [use("inner")], "Done.", trust=True)
    assert "- inner: Counts things." not in str(seen.model.requests[0])
    assert "- inner: Counts things." in seen.read(1)
    assert "Count to three." in seen.replies[1].content


def test_a_rule_denies_a_skill_by_its_name(place: Path) -> None:
    skill(Path.home(), "count")
    command(Path.home(), "git/fix", "Fix.")
    seen = Scene(place, [use("count"), use("fix")], "Done.", disallowed_tools=["Skill(count)", "Skill(git:fix)"])
    assert [reply.outcome for reply in seen.replies] == ["denied", "denied"]
    typed = Scene(place, "Done.", prompts=("/count",), disallowed_tools=["Skill(count)"])
    assert "could not be used: /count is denied" in typed.read()


def test_agents_use_skills_with_their_own_rights(place: Path) -> None:
    skill(Path.home(), "count", body="Here: !`touch made.txt`")
    start = {"tool": "Agent", "input": {"description": "d", "prompt": "Go.", "mode": "plan"}}
    seen = Scene(place, [start], [use("count")], "Three.", "Done.", permission_mode="bypassPermissions")
    assert "Here:" in str(seen.model.requests[2].messages)
    assert not (place / "made.txt").exists()
