"""Agents that work apart, in a worktree of their own: what they change is found, and what is denied stays denied."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast import Agent
from holdfast.contract import Answer, Question
from holdfast.events import AgentTold, CallFinished, Event
from holdfast.hooks import Hook, HookAnswer
from holdfast.testing import ScriptedModel


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@y", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "secret").mkdir(parents=True)
    (work / "secret" / "key.txt").write_text("needle in secret\n")
    (work / "open.txt").write_text("needle in the open\n")
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "all")
    return work


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


def apart(**more: Any) -> dict[str, Any]:
    return call("Agent", **{"description": "apart", "prompt": "Do it.", "isolation": "worktree", **more})


class Scene:
    """One prompt: its events, and the replies of the session and of its agents."""

    def __init__(self, work: Path, *turns: Any, prompts: tuple[str, ...] = ("Go.",), **choices: Any) -> None:
        self.model = ScriptedModel(list(turns))
        self.questions: list[Question] = []
        self._prompts = prompts
        self._choices: dict[str, Any] = {"cwd": work, "permission_mode": "bypassPermissions", **choices}
        self.events: list[Event] = []
        asyncio.run(asyncio.wait_for(self._play(), 90))
        self.replies = [event for event in self.events if isinstance(event, CallFinished)]
        told = [event.event for event in self.events if isinstance(event, AgentTold)]
        self.inner = [event for event in told if isinstance(event, CallFinished)]

    async def _play(self) -> None:
        async with Agent(self.model, **self._choices) as agent:
            for prompt in self._prompts:
                self.events += [event async for event in agent.run(prompt)]

    @property
    def report(self) -> CallFinished:
        return next(reply for reply in self.replies if reply.name == "Agent")


def worktrees(work: Path) -> list[str]:
    return [line.split()[0] for line in git(work, "worktree", "list").splitlines()[1:]]


def test_what_an_agent_changes_apart_stays_there_and_is_told(repository: Path) -> None:
    write = call("Write", file_path="new.txt", content="x")
    scene = Scene(repository, [apart()], [write, call("Bash", command="pwd")], "Done.", "Thanks.")
    data = scene.report.data
    tree = Path(data["worktreePath"])
    assert (tree / "new.txt").read_text() == "x"
    assert not (repository / "new.txt").exists()
    assert str(tree) in str(scene.inner[1].content)
    assert data["worktreeBranch"].startswith("worktree-agent-a")
    assert f"It left 1 uncommitted file in the worktree {tree}" in str(scene.report.content)
    assert worktrees(repository) == [str(tree)]
    assert f"- Working directory: {tree}" in scene.model.requests[1].system[1].text


def test_a_worktree_without_work_is_gone_with_its_branch(repository: Path) -> None:
    scene = Scene(repository, [apart(subagent_type="Explore")], [call("Glob", pattern="*")], "Nothing.", "Thanks.")
    assert (scene.report.content, "worktreePath" in scene.report.data) == ("Nothing.", False)
    assert worktrees(repository) == []
    assert git(repository, "branch", "--list", "worktree-*") == ""


def test_commits_made_apart_are_never_lost(repository: Path) -> None:
    commit = "git -c user.name=x -c user.email=x@y commit -q --allow-empty -m more"
    scene = Scene(repository, [apart()], [call("Bash", command=commit)], "Done.", "Thanks.")
    assert "It left 1 unmerged commit in the worktree" in str(scene.report.content)
    assert git(repository, "log", "-1", "--format=%s", scene.report.data["worktreeBranch"]) == "more"


def test_where_git_fails_at_the_end_the_worktree_stays(repository: Path) -> None:
    broken = call("Bash", command="mv .git git-away")  # what says that this is a worktree
    scene = Scene(repository, [apart()], [broken], "Done.", "Thanks.")
    assert "Nobody can tell what it left, so it stays" in str(scene.report.content)
    assert (Path(scene.report.data["worktreePath"]) / "open.txt").exists()


@pytest.mark.parametrize("rule", ["Read(secret/**)", "Read(/secret/**)"])
def test_a_child_in_a_worktree_reads_no_copy_of_what_is_denied(repository: Path, rule: str) -> None:
    grep = call("Grep", pattern="needle", output_mode="content")
    read = call("Read", file_path="secret/key.txt")
    turns = [apart()], [grep, read, call("Write", file_path="new.txt", content="x")], "Done."
    copy = [call("Bash", command="cat .holdfast/worktrees/*/secret/key.txt"), call("Grep", pattern="needle")]
    scene = Scene(repository, *turns, copy, "Thanks.", disallowed_tools=[rule])
    assert not any("in secret" in str(reply.content) for reply in (*scene.inner, *scene.replies))
    assert any("in the open" in str(reply.content) for reply in scene.inner)
    assert [reply.outcome for reply in scene.inner[1:2]] == ["denied"]


def test_rules_about_the_checkout_hold_apart_and_the_checkout_is_outside(repository: Path) -> None:
    outside = call("Write", file_path=str(repository / "stolen.txt"), content="x")
    inside = call("Write", file_path="new.txt", content="x")
    scene = Scene(
        repository,
        [apart()],
        [inside, outside],
        "Done.",
        "Thanks.",
        permission_mode="acceptEdits",
        approver=_yes_to("Agent"),
    )
    assert [reply.is_error for reply in scene.inner] == [False, True]
    assert not (repository / "stolen.txt").exists()


def _yes_to(tool: str) -> Any:
    async def answer(question: Question) -> Answer:
        return Answer("allow") if question.tool == tool else Answer(message="no")

    return answer


@pytest.mark.parametrize("mode", ["plan", "dontAsk", "default"])
def test_no_worktree_is_made_where_nothing_may_be_changed_or_nobody_agrees(repository: Path, mode: str) -> None:
    scene = Scene(repository, [apart()], "Then not.", permission_mode=mode)
    assert (scene.report.outcome, worktrees(repository)) == ("denied", [])


def test_a_person_or_a_rule_lets_one_be_made(repository: Path) -> None:
    for choices in ({"approver": _yes_to("Agent")}, {"allowed_tools": ["Agent"]}):
        scene = Scene(repository, [apart()], "Report.", "Thanks.", permission_mode="default", **cast("Any", choices))
        assert scene.report.content == "Report."
    plain = Scene(repository, [apart(isolation=None)], "Report.", "Thanks.", permission_mode="plan")
    assert plain.report.content == "Report."


@pytest.fixture
def builds(repository: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A skill that an agent follows which always works apart."""
    home = repository.parent / "home"
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    file = home / ".claude" / "skills" / "build" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\ndescription: Builds.\ncontext: fork\nagent: builder\n---\nBuild.\n")
    return {"builder": {"description": "Builds.", "prompt": "You build.", "isolation": "worktree"}}


@pytest.mark.parametrize("mode", ["plan", "dontAsk", "default"])
def test_a_skill_makes_no_worktree_where_its_agent_could_not(
    repository: Path, builds: dict[str, Any], mode: str
) -> None:
    use = call("Skill", skill="build")
    scene = Scene(repository, [use], "Then not.", agents=builds, permission_mode=mode)
    assert ([reply.outcome for reply in scene.replies], worktrees(repository)) == (["denied"], [])
    write = call("Write", file_path="new.txt", content="x")
    ways: list[dict[str, Any]] = [{"approver": _yes_to("Skill")}, {"allowed_tools": ["Skill"]}]
    for choices in ways if mode == "default" else ():
        scene = Scene(repository, [use], [write], "So.", "Thanks.", agents=builds, permission_mode=mode, **choices)
        assert scene.replies[0].data["status"] == "forked"


def test_a_skill_lets_no_program_of_the_repository_start_unasked(repository: Path, builds: dict[str, Any]) -> None:
    (repository / ".gitattributes").write_text("*.txt filter=evil\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "attributes")
    git(repository, "config", "filter.evil.smudge", f"touch {repository.parent}/ran; cat")
    use = call("Skill", skill="build")
    scene = Scene(repository, [use], "No.", agents=builds, permission_mode="default", allowed_tools=["Skill"])
    assert ([reply.outcome for reply in scene.replies], worktrees(repository)) == (["denied"], [])
    assert not (repository.parent / "ran").exists()


def test_a_definition_may_want_it_and_an_agent_goes_on_where_it_was(repository: Path) -> None:
    agents = {"builder": {"description": "Builds.", "prompt": "You build.", "isolation": "worktree"}}
    begin = call("Agent", description="d", prompt="Build.", subagent_type="builder", name="b")
    again = call("Agent", description="d", prompt="More.", resume="b")
    one, two = call("Write", file_path="1.txt", content="1"), call("Write", file_path="2.txt", content="2")
    scene = Scene(repository, [begin], [one], "One.", [again], [two], "Two.", "Thanks.", agents=agents)
    first, second = (reply for reply in scene.replies if reply.name == "Agent")
    assert first.data["worktreePath"] == second.data["worktreePath"]
    assert (Path(second.data["worktreePath"]) / "1.txt").exists()
    assert "2 uncommitted files" in str(second.content)
    assert Scene(repository, [begin], "Then not.", agents=agents, permission_mode="plan").report.outcome == "denied"


def test_an_agent_that_goes_on_is_not_said_to_work_apart_where_it_does_not(repository: Path) -> None:
    begin = call("Agent", description="d", prompt="Build.", name="b")
    again = call("Agent", description="d", prompt="More.", resume="b", isolation="worktree")
    scene = Scene(repository, [begin], "One.", [again], "Then not.")
    first, second = (reply for reply in scene.replies if reply.name == "Agent")
    assert (first.is_error, second.is_error, "leave isolation out" in str(second.content)) == (False, True, True)


def test_outside_of_a_repository_it_is_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [apart()], "Then not.")
    assert "is in no git repository" in str(scene.report.content)
    assert scene.report.error_code == 3


def test_the_users_hook_makes_the_place(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "made"

    async def make(event: Any) -> HookAnswer:
        place.mkdir()
        return HookAnswer(more={"worktreePath": str(place)}) if event.name.startswith("agent-a") else HookAnswer()

    hooks = [Hook("WorktreeCreate", make)]
    scene = Scene(repository, [apart()], [call("Bash", command="pwd")], "Done.", "Thanks.", hooks=hooks)
    assert str(place) in str(scene.inner[0].content)
    assert "it stays" in str(scene.report.content)


def test_an_interrupted_agent_loses_no_work(repository: Path) -> None:
    async def scene() -> None:
        slow = call("Bash", command="touch begun; sleep 60", description="slow")
        model = ScriptedModel([[apart()], [call("Write", file_path="new.txt", content="x")], [slow], "Never."])
        async with Agent(model, cwd=repository, permission_mode="bypassPermissions") as agent:
            async for event in agent.run("Go."):
                if isinstance(event, AgentTold) and getattr(event.event, "name", "") == "Bash":
                    await agent.interrupt()
        (tree,) = worktrees(repository)
        assert (Path(tree) / "new.txt").exists()

    asyncio.run(asyncio.wait_for(scene(), 60))
