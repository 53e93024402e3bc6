"""An edit that nobody was asked about never becomes a program that nobody is asked about."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from holdfast.app import Options, open_session
from holdfast.contract import Answer, Asker, Question
from holdfast.events import CallFinished
from holdfast.host.programs import own_places

PLANTED = "#!/bin/sh\necho planted\n"


class Yes(Asker):
    """Somebody who says yes to everything."""

    async def ask(self, question: Question) -> Answer:
        del question
        return Answer("allow")


def run(
    folder: Path, *calls: tuple[str, dict[str, object]], asker: Asker | None = None, **options: object
) -> list[CallFinished]:
    async def session() -> list[CallFinished]:
        replies: list[CallFinished] = []
        chosen = Options(cwd=str(folder), **options)  # pyright: ignore[reportArgumentType]
        async with open_session(chosen, asker=asker) as opened:
            for number, (name, arguments) in enumerate(calls):
                opened.executor.add({"type": "tool_use", "id": str(number), "name": name, "input": arguments})
                replies += [event async for event in opened.executor.results() if isinstance(event, CallFinished)]
                opened.executor.end_turn()
        return replies

    return asyncio.run(session())


def bash(command: str) -> tuple[str, dict[str, object]]:
    return "Bash", {"command": command}


@pytest.fixture
def bins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose own programs come first on the PATH, as in an activated environment."""
    bins = tmp_path / "node_modules" / ".bin"
    bins.mkdir(parents=True)
    for name in ("ls", "rg", "mkdir", "mine"):
        (bins / name).write_text(PLANTED)
        (bins / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bins}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SHELL", "")
    return bins


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "auto", "dontAsk"])
@pytest.mark.parametrize("command", ["ls", "rg foo .", "ls | sort", "cd . && ls"])
def test_a_command_that_runs_unasked_finds_no_program_of_the_project(
    bins: Path, tmp_path: Path, mode: str, command: str
) -> None:
    assert bins.is_dir()
    (done,) = run(tmp_path, bash(command), permission_mode=mode)
    assert done.outcome == "completed"
    assert "planted" not in str(done.content)


def test_a_file_command_that_accept_edits_lets_run_finds_none_either(bins: Path, tmp_path: Path) -> None:
    assert bins.is_dir()
    (done,) = run(tmp_path, bash("mkdir made"), permission_mode="acceptEdits")
    assert (tmp_path / "made").is_dir(), done.content


def test_what_somebody_wanted_finds_the_projects_programs(bins: Path, tmp_path: Path) -> None:
    assert bins.is_dir()
    (asked,) = run(tmp_path, bash("mine"), asker=Yes())
    (ruled,) = run(tmp_path, bash("mine"), allowed_tools=("Bash(mine)",))
    (read,) = run(tmp_path, bash("ls"), allowed_tools=("Bash(ls)",))
    (bypass,) = run(tmp_path, bash("ls"), permission_mode="bypassPermissions")
    assert [str(done.content).strip() for done in (asked, ruled, read, bypass)] == ["planted"] * 4


def test_a_program_that_is_only_in_the_project_is_missed_with_words(
    bins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{bins}{os.pathsep}/nowhere")
    (done,) = run(tmp_path, bash("rg foo ."))
    assert "not found" in str(done.content)
    assert f"programs in {bins} were not looked for" in str(done.content)


def test_what_we_run_from_is_protected_in_accept_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = tmp_path / ".venv"
    (prefix / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setenv("HOLDFAST_RG", str(tmp_path / "tools" / "rg"))
    targets = [".venv/bin/rg", ".venv/lib/python3/site-packages/x.pth", "tools/rg"]
    calls: list[tuple[str, dict[str, object]]] = [
        ("Write", {"file_path": target, "content": PLANTED}) for target in targets
    ]
    *written, copied, plain = run(
        tmp_path,
        *calls,
        bash("cp /bin/true .venv/bin/rg"),
        ("Write", {"file_path": "src/x.py", "content": ""}),
        permission_mode="acceptEdits",
    )
    assert [done.outcome for done in written] == ["denied"] * 3
    assert all("protected" in str(done.content) for done in written)
    assert (copied.outcome, plain.outcome) == ("denied", "completed")


def test_our_own_package_is_protected_where_it_lies_in_the_project() -> None:
    package = Path(own_places()[0])
    (done,) = run(
        package.parent, ("Write", {"file_path": "holdfast/x.py", "content": ""}), permission_mode="acceptEdits"
    )
    assert done.outcome == "denied"
    assert not (package / "x.py").exists()


def test_a_planted_ripgrep_does_not_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rg").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    (tmp_path / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{os.pathsep}.{os.pathsep}{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.delenv("HOLDFAST_RG", raising=False)
    monkeypatch.chdir(tmp_path)
    run(tmp_path, ("Grep", {"pattern": "x"}), ("Glob", {"pattern": "*"}))
    assert not (tmp_path / "ran").exists()
