"""Nothing is changed while a plan is made: every rule allows it, every hook and every person says yes."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.contract import Answer, Form, FormAnswer, ModeUpdate, Question, RuleUpdate
from holdfast.events import CallFinished, Event
from holdfast.hooks import Hook, HookAnswer
from holdfast.testing import ScriptedModel

COMMANDS = """\
echo x > made
echo x >> a.txt
: > a.txt
echo x | tee made
echo x >| made
echo x 1<>made
exec 3>made
{ echo a; } &> made
if true; then echo > made; fi
cat > made <<E\nx\nE
cp a.txt made
mv a.txt made
rm a.txt
mkdir made
ln -s a.txt made
touch $(echo made)
cat <(touch made)
x=1 touch made
env touch made
xargs touch < a.txt
sed -i s/a/b/ a.txt
sed 's/a/b/w made' a.txt
awk '{print > "made"}' a.txt
find . -name a.txt -fprintf made x
find . -name a.txt -exec touch {}.made \\;
sort -o made a.txt
uniq a.txt made
tar cf made.tar a.txt
dd if=a.txt of=made
truncate -s0 a.txt
chmod +x a.txt
gzip -k a.txt
mktemp -p .
python3 -c 'open("made", "w")'
eval 'touch made'
bash -c 'touch made'
trap 'touch made' EXIT
PS4='$(touch made)' bash -x a.txt
command -p touch made
coproc touch made
sleep 1 & touch made
(crontab -l; echo '* * * * * touch made') | crontab -
git stash
git branch made
git tag made
git config user.x y
git worktree add ../made
git diff --output=made
git -c core.pager='touch made' log
git grep -O'touch made' a
rg --pre 'touch made' a
cd .git && echo x > HEAD
""".splitlines()
SKILL = """---
description: Does it.
allowed-tools: Bash Write Edit
---
!`touch made`
"""


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


OTHERS = (
    call("Write", file_path="made", content="x"),
    call("Edit", file_path="a.txt", old_string="a", new_string="b"),
    call("NotebookEdit", notebook_path="book.ipynb", new_source="2", cell_id="c"),
    call("Bash", command="touch made", run_in_background=True),
    call("Bash", command="touch made", dangerouslyDisableSandbox=True),
    call("EnterWorktree", name="made"),
    call("ExitWorktree", action="remove", discard_changes=True),
    call("Config", setting="model", value="ollama:made"),
    call("Skill", skill="made"),
    call("Agent", description="d", prompt="p", isolation="worktree"),
    call("Agent", description="d", prompt="p", isolation="remote"),
    call("ExitPlanMode", plan="# Mine", picked=["Bash"]),
    call("ExitPlanMode", allowedPrompts=[{"tool": "Bash", "prompt": "touch made"}]),
)


class Yes:
    """A person who agrees to every question, for ever and in the freest mode, and to no form."""

    async def ask(self, question: Question) -> Answer:
        return Answer("allow", updates=(RuleUpdate("allow", tuple(question.suggestions)),))

    async def fill(self, form: Form) -> FormAnswer:
        del form
        return FormAnswer()


async def wave(_: object) -> HookAnswer:
    updates = (ModeUpdate("acceptEdits"), ModeUpdate("bypassPermissions"), RuleUpdate("allow", ("Bash", "Edit")))
    return HookAnswer("allow", updates=updates)


def seen(*places: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its mode and content, but what git and the session keep for themselves."""
    found: dict[str, tuple[int, bytes]] = {}
    for place in places:
        for directory, _, names in os.walk(place):
            for path in (Path(directory, name) for name in names if name != "index"):
                if ".local" not in path.parts:
                    found[str(path)] = path.stat().st_mode, path.read_bytes()
            found[directory] = (0, b"")
    return {path: what for path, what in found.items() if ".local" not in Path(path).parts}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    file = home / ".claude" / "skills" / "made" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(SKILL)
    (work / "a.txt").write_text("a\n")
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "c",
        "source": "1",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    (work / "book.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=work, check=True, capture_output=True, timeout=30)
    return work


def play(work: Path, *turns: Any) -> tuple[list[CallFinished], str]:
    """The calls of a session in plan mode, and its mode at the end."""
    events: list[Event] = []
    allowed = ("Bash", "Write", "Edit", "NotebookEdit", "Skill", "Agent", "EnterWorktree", "ExitWorktree", "Config")
    hooks = (Hook("PreToolUse", wave), Hook("PermissionRequest", wave))
    options = Options(cwd=str(work), permission_mode="plan", allowed_tools=allowed, hooks=hooks, trust=True)

    async def whole() -> str:
        settings = AgentOptions(model=ScriptedModel(list(turns)))
        async with await start_agent(options, settings, asker=Yes(), on_event=events.append) as agent:
            async for _ in agent.run("Go."):
                pass
            return agent.mode

    mode = asyncio.run(asyncio.wait_for(whole(), 120))
    return [event for event in events if isinstance(event, CallFinished)], mode


def test_no_command_writes(place: Path) -> None:
    before = seen(place, Path.home())
    replies, mode = play(place, [call("Bash", command=text) for text in COMMANDS], "Done.")
    assert [reply.outcome for reply in replies] == ["denied"] * len(COMMANDS)
    assert (seen(place, Path.home()), mode) == (before, "plan")


def test_no_other_tool_writes(place: Path) -> None:
    before = seen(place, Path.home())
    replies, mode = play(place, list(OTHERS), "Done.", "Done.")
    done = [reply.name for reply in replies if reply.outcome == "completed"]
    assert done == ["Skill"]  # its text is told, its command is not run
    assert (seen(place, Path.home()), mode) == (before, "plan")


@pytest.mark.parametrize("mode", [None, "bypassPermissions", "acceptEdits"])
def test_no_agent_writes(place: Path, mode: str | None) -> None:
    before = seen(place, Path.home())
    more = {} if mode is None else {"mode": mode}
    start = call("Agent", description="d", prompt="p", **more)
    tries = [*OTHERS[:5], call("Skill", skill="made"), call("Bash", command="touch made")]
    _, ended = play(place, [start], tries, "No.", "Done.")
    assert (seen(place, Path.home()), ended) == (before, "plan")


@pytest.mark.parametrize("way", ["link", "another name", "above", "in a link"])
def test_only_the_plan_file_itself_is_written(place: Path, way: str) -> None:
    other = place.parent / "other"
    other.mkdir()

    def turn(request: Any) -> list[dict[str, Any]]:
        plan = Path(next(part for part in str(request.messages).split("'") if part.endswith("plan.md")))
        if way == "link":
            plan.symlink_to(place / "a.txt")
        elif way == "another name":
            plan = plan.parent / "PLAN.md"
        elif way == "above":
            plan = plan.parent / "sub" / ".." / "other.md"
        else:
            (place / "link").symlink_to(plan.parent)
            plan = place / "link" / "plan.md"
        return [call("Write", file_path=str(plan), content="x")]

    (reply,), _ = play(place, turn, "Done.")
    assert reply.outcome == "denied"
    assert (place / "a.txt").read_text() == "a\n"
