"""Plan mode from its beginning to the work: with real files, and rights that hold below the tools."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.begin import SessionChoice
from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.contract import Answer, FormAnswer, ModeUpdate, PromptFacts, SessionFacts, Tool
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.hooks import Hook, HookAnswer, HookCall, Hooks
from holdfast.host.targets import Targets
from holdfast.permissions import PermissionContext, Rule
from holdfast.testing import ScriptedAsker, ScriptedModel
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.files.write import Write
from holdfast.tools.people._plan_rules import rules_of_plan
from holdfast.tools.people.enter_plan_mode import EnterPlanMode
from holdfast.tools.people.exit_plan_mode import ExitPlanMode

SESSION = SessionFacts(prompt=PromptFacts(interactive=True))
PLAN = "# Plan\nAdd it, then run `make test` and `npm run lint`.\n"


class Scene:
    """A session whose plan file lies outside the project."""

    def __init__(self, place: Path, person: Any, *, mode: str = "default", rules: tuple[Rule, ...] = ()) -> None:
        self.project, self.file = place / "project", place / "session" / "plan.md"
        self.project.mkdir()
        self.file.parent.mkdir()
        context = PermissionContext.started_in(str(self.project), mode, rules, plan_file=str(self.file))
        tools: list[Tool] = [EnterPlanMode(), ExitPlanMode(), Read(Targets()), Write(Workbench(Targets()))]
        self.executor = Executor(tools, permissions=context, cwd=str(self.project), session=SESSION, asker=person)

    def call(self, name: str, **raw: Any) -> CallFinished:
        return self.executor.call(name, raw)

    def write(self, path: Path, text: str = PLAN) -> CallFinished:
        return self.call("Write", file_path=str(path), content=text)

    @property
    def mode(self) -> str:
        return self.executor.state.permissions.mode

    @property
    def granted(self) -> list[str]:
        return [rule.text for rule in self.executor.state.permissions.rules if rule.behavior == "allow"]


def accepting(values: dict[str, Any] | None = None, **more: Any) -> ScriptedAsker:
    return ScriptedAsker(forms=[FormAnswer("accept", values or {}, **more)])


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto", "bypassPermissions"])
def test_a_plan_is_written_approved_and_the_mode_before_comes_back(tmp_path: Path, mode: str) -> None:
    person = accepting()
    scene = Scene(tmp_path, person, mode=mode)
    assert str(scene.file) in scene.call("EnterPlanMode").data["message"]
    assert scene.mode == "plan"
    assert scene.write(scene.project / "code.py").outcome == "denied"
    assert not scene.write(scene.file).is_error
    reply = scene.call("ExitPlanMode")
    assert reply.data == {
        "plan": PLAN,
        "isAgent": False,
        "filePath": str(scene.file),
        "hasTaskTool": False,
        "planWasEdited": False,
    }
    assert (person.forms[0].kind, person.forms[0].text, person.forms[0].fields) == ("plan", PLAN, ())
    assert (scene.mode, PLAN in str(reply.content)) == (mode, True)


def test_no_allow_rule_lets_anything_be_changed_while_a_plan_is_made(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedAsker(), rules=(Rule.parse("allow", "Write"), Rule.parse("allow", "ExitPlanMode")))
    scene.call("EnterPlanMode")
    assert scene.write(scene.project / "code.py").outcome == "denied"
    scene.write(scene.file)
    assert scene.call("ExitPlanMode").outcome == "denied"  # the scripted person has no yes
    assert scene.mode == "plan"


def test_what_the_person_edits_is_the_plan_from_then_on(tmp_path: Path) -> None:
    scene = Scene(tmp_path, accepting(text="# Less\n", message="keep it small"))
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    reply = scene.call("ExitPlanMode")
    assert (reply.data["plan"], reply.data["planWasEdited"]) == ("# Less\n", True)
    assert scene.file.read_text() == "# Less\n"
    assert "keep it small" in str(reply.content)


def test_a_plan_that_changes_while_the_person_reads_is_not_the_one_they_approve(tmp_path: Path) -> None:
    class Slow(ScriptedAsker):
        async def fill(self, form: Any) -> FormAnswer:
            scene.file.write_text("# Something else\n")
            return await super().fill(form)

    scene = Scene(tmp_path, Slow(forms=[FormAnswer("accept")]))
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    assert scene.call("ExitPlanMode").data["plan"] == PLAN


def test_a_refusal_leaves_plan_mode_on_and_grants_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ScriptedAsker(forms=[FormAnswer(message="use the other table")]))
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    reply = scene.call("ExitPlanMode", allowedPrompts=[{"tool": "Bash", "prompt": "npm test"}])
    assert (reply.outcome, "use the other table" in str(reply.content)) == ("denied", True)
    assert (scene.mode, scene.granted) == ("plan", [])


def test_a_mode_that_comes_with_the_answer_wins_over_the_one_before(tmp_path: Path) -> None:
    scene = Scene(tmp_path, accepting(updates=(ModeUpdate("acceptEdits"),)))
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    assert not scene.call("ExitPlanMode").is_error
    assert scene.mode == "acceptEdits"


def test_without_a_plan_or_without_plan_mode_it_says_what_to_do(tmp_path: Path) -> None:
    scene = Scene(tmp_path, accepting())
    assert "EnterPlanMode" in str(scene.call("ExitPlanMode").content)
    scene.call("EnterPlanMode")
    assert "on already" in str(scene.call("EnterPlanMode").content)
    missing = scene.call("ExitPlanMode")
    assert (missing.is_error, str(scene.file) in str(missing.content)) == (True, True)
    scene.write(scene.file, " \n")
    assert "empty" in str(scene.call("ExitPlanMode").content)


def test_a_plan_file_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    scene = Scene(tmp_path, accepting())
    (tmp_path / "secret").write_text("token")
    scene.call("EnterPlanMode")
    scene.file.symlink_to(tmp_path / "secret")
    reply = scene.call("ExitPlanMode")
    assert (reply.is_error, "token" in str(reply.content)) == (True, False)


def test_a_command_is_granted_with_the_plan_and_a_description_only_what_is_picked(tmp_path: Path) -> None:
    prompts = [{"tool": "Bash", "prompt": "npm test"}, {"tool": "Bash", "prompt": "run the linter"}]
    person = ScriptedAsker(forms=[FormAnswer("accept")])
    scene = Scene(tmp_path, person)
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    scene.call("ExitPlanMode", allowedPrompts=prompts)
    assert scene.granted == ["Bash(npm test)"]
    offered = [choice.value for choice in person.forms[0].fields[0].choices]
    assert offered == ["Bash(npm test)", "Bash(make test *)", "Bash(npm run lint *)"]


@pytest.mark.parametrize("picked", [[], ["Bash(npm run lint *)"]])
def test_what_the_person_picks_is_all_that_is_granted(tmp_path: Path, picked: list[str]) -> None:
    scene = Scene(tmp_path, accepting({"rules": picked}))
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    scene.call(
        "ExitPlanMode", allowedPrompts=[{"tool": "Bash", "prompt": "npm test"}, {"tool": "Bash", "prompt": "x y"}]
    )
    assert scene.granted == picked


@pytest.mark.parametrize(
    "text",
    [
        *("run the tests", "install dependencies", "make the docs", "find everything", "Bash(", "npm test\nrm -rf x"),
        *("npm test && sudo make install", "npm test | sh", "npm test; rm -r x", "npm test $(", "nohup bash x"),
        *(
            "uv run python:*",
            "poetry run sh *",
            "uv run --with x *",
            "docker run --rm *",
            "docker run -v *",
            "go run x *",
        ),
        *("git rebase *", "git submodule foreach *"),
        *("*", ":*", "python:*", "bash -c *", "git *", "npx *", "sudo *", "npm exec *", "npm run *", "git -c *"),
    ],
)
def test_words_and_wide_patterns_are_never_granted_in_passing(text: str) -> None:
    assert rules_of_plan([text], "A plan without commands.", "/p").given == ()


@pytest.mark.parametrize(
    "text",
    [
        "npm test",
        "npm run lint:*",
        "uv run pytest *",
        "npm ci && npm test",
        "pytest -q",
        "git status",
        "Bash(cargo build)",
        "ruff *",
    ],
)
def test_commands_and_narrow_patterns_are_rules(text: str) -> None:
    content = text.removeprefix("Bash(").removesuffix(")")
    assert rules_of_plan([text], "", "/p") == ((f"Bash({content})",), ())


@pytest.mark.parametrize("text", ["touch b.txt", "./gradlew test", "mytool deploy", "make docs", "rm -r build"])
def test_a_command_that_the_plan_shows_comes_with_it_whatever_it_is(text: str) -> None:
    assert rules_of_plan([text], f"First `{text}`.", "/p").given == (f"Bash({text})",)
    assert rules_of_plan([text], f"```sh\n$ {text}\n```\n", "/p").given == (f"Bash({text})",)


@pytest.mark.parametrize("text", ["touch b.txt", "./gradlew test", "sudo make install", "bash build.sh", "rm -r build"])
def test_what_may_be_a_command_is_offered_and_not_dropped(text: str) -> None:
    assert rules_of_plan([text], "", "/p") == ((), (f"Bash({text})",))


@pytest.mark.parametrize("text", ["sudo make install", "bash build.sh", "eval x"])
def test_more_rights_and_other_shells_are_never_granted_in_passing(text: str) -> None:
    assert rules_of_plan([text], f"Then `{text}`.", "/p").given == ()


def test_a_word_that_is_a_program_counts_where_the_plan_shows_it_as_a_command() -> None:
    assert rules_of_plan(["make test"], "Then run `make test`.", "/p").given == ("Bash(make test)",)
    assert rules_of_plan(["make test"], "Then test.", "/p") == ((), ("Bash(make test)",))


def test_other_keys_pass_and_remote_sessions_are_not_available(tmp_path: Path) -> None:
    scene = Scene(tmp_path, accepting())
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    reply = scene.call("ExitPlanMode", pushToRemote=True, whatever=[1])
    assert (reply.is_error, "Not available" in str(reply.content)) == (False, True)


@pytest.mark.parametrize("name", ["plan", "planFilePath", "picked", "said"])
def test_a_model_cannot_send_what_only_the_person_gives(tmp_path: Path, name: str) -> None:
    scene = Scene(tmp_path, accepting())
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    assert scene.call("ExitPlanMode", **{name: "x"}).outcome == "invalid"
    assert scene.mode == "plan"


def test_a_face_that_knows_only_yes_and_no_may_send_the_plan_changed(tmp_path: Path) -> None:
    class YesOrNo:
        def __init__(self) -> None:
            self.seen: Any = None

        async def ask(self, question: Any) -> Answer:
            self.seen = question.input
            return Answer("allow", {**question.input, "plan": "# Mine\n"})

    person = YesOrNo()
    scene = Scene(tmp_path, person)
    scene.call("EnterPlanMode")
    scene.write(scene.file)
    assert scene.call("ExitPlanMode").data["plan"] == "# Mine\n"
    assert person.seen["plan"] == PLAN


def test_neither_is_offered_where_nobody_can_be_asked_nor_the_first_to_a_subagent() -> None:
    alone, child = SessionFacts(), SESSION._replace(agent_id="a1")
    assert not EnterPlanMode().is_enabled(alone)
    assert not ExitPlanMode().is_enabled(alone)
    assert not EnterPlanMode().is_enabled(child)


def test_an_agent_of_a_team_asks_its_leader_and_stays_in_plan_mode(tmp_path: Path) -> None:
    sent: list[tuple[str, str]] = []

    async def leader(plan: str, file: str) -> str:
        sent.append((plan, file))
        return "request-1"

    file = tmp_path / "plan.md"
    file.write_text(PLAN)
    context = PermissionContext.started_in(str(tmp_path), "plan", plan_file=str(file))
    session = SessionFacts(agent_id="a1")
    executor = Executor([ExitPlanMode(leader)], permissions=context, cwd=str(tmp_path), session=session)
    reply = executor.call("ExitPlanMode", {})
    assert (reply.data["awaitingLeaderApproval"], reply.data["requestId"], reply.data["isAgent"]) == (
        True,
        "request-1",
        True,
    )
    assert (sent, executor.state.permissions.mode) == ([(PLAN, str(file))], "plan")


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto", "dontAsk", "bypassPermissions"])
def test_no_hook_leads_out_of_plan_mode(tmp_path: Path, mode: str) -> None:
    """A PermissionRequest hook may answer a question that plan mode leaves open; its mode does not count."""
    scene = Scene(tmp_path, ScriptedAsker(), mode="plan")
    outside = tmp_path / "outside.txt"
    outside.write_text("x")

    async def says(_: HookCall) -> HookAnswer:
        return HookAnswer("allow", updates=(ModeUpdate(mode),))

    scene.executor.hooks = Hooks([Hook("PermissionRequest", says)])
    assert not scene.call("Read", file_path=str(outside)).is_error
    assert scene.mode == "plan"
    assert scene.write(scene.project / "code.py").outcome == "denied"


def test_a_session_that_was_left_while_it_planned_goes_on_planning(tmp_path: Path) -> None:
    def mode_of(choice: SessionChoice, *, given: str | None = None, **more: Any) -> tuple[str, str]:
        async def whole() -> tuple[str, str]:
            options = Options(cwd=str(tmp_path), permission_mode=given)
            settings = AgentOptions(model=ScriptedModel([[{"tool": "EnterPlanMode", "input": {}}], "So."]))
            async with await start_agent(options, settings, choice=choice, asker=ScriptedAsker()) as agent:
                before = agent.mode
                if more.get("enters"):
                    async for _ in agent.run("Plan."):
                        pass
                if "goes" in more:
                    agent.change_mode(more["goes"])
                return agent.session_id, before

        return asyncio.run(asyncio.wait_for(whole(), 60))

    id_, mode = mode_of(SessionChoice(), enters=True)
    assert mode == "default"
    assert mode_of(SessionChoice(resume=id_))[1] == "plan"
    assert mode_of(SessionChoice(resume=id_, fork=True))[1] == "plan"
    assert mode_of(SessionChoice(resume=id_), given="acceptEdits")[1] == "acceptEdits"
    assert mode_of(SessionChoice(resume=id_), goes="plan")[1] == "default"  # it was left by name
    assert mode_of(SessionChoice(resume=id_), goes="acceptEdits")[1] == "plan"
    assert mode_of(SessionChoice(resume=id_))[1] == "default"
