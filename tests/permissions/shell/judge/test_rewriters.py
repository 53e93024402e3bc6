"""Formatters and `git add` in `acceptEdits`: ordinary files inside, and nothing is started that the folder chose."""

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.permissions import LiveDisk, NoDisk, PermissionContext, Rule, decide, facts_from_input


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with sources, links, programs and settings of a formatter."""
    root = Path(os.path.realpath(tmp_path)) / "project"
    for name in ("src/a.go", "src/a.py", "src/a.js", "run.py", "linked/a.py", "code/a.js", "data/a.js", "pack/a.js"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("a\n")
    (root / "run.py").chmod(0o755)
    (root / "linked/b.py").symlink_to("/etc/passwd")
    (root / "code/.prettierrc.js").write_text("module.exports = {}\n")
    (root / "data/.prettierrc").write_text('{"semi": false}')
    (root / "data/package.json").write_text('{"devDependencies": {"prettier": "^3"}}')
    for name in ("shell/run", "shell/.husky/pre-commit", "parsed/a.js", "known/a.js"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("#!/bin/sh\n")
    (root / "parsed/.prettierrc").write_text('{"overrides": [{"files": "*.js", "options": {"parser": "./x.js"}}]}')
    (root / "known/.prettierrc").write_text('{"overrides": [{"files": "*.x", "options": {"parser": "babel"}}]}')
    (root / "pack/package.json").write_text('{"prettier": {"\\u0070lugins": ["./x.js"]}}')
    subprocess.run(["git", "init", "-q"], cwd=root, check=True, timeout=30)
    return root


def verdict(command: str, project: Path, *rules: Rule, mode: str = "acceptEdits", live: bool = True) -> str:
    """What becomes of the command."""
    disk = LiveDisk() if live else NoDisk()
    context = PermissionContext.started_in(str(project), mode, rules, home="/home/user", trusted=True, disk=disk)
    return decide(facts_from_input("Bash", {"command": command}, str(project)), context).behavior


PASSES = (
    "gofmt -w src/a.go",
    "gofmt -l -w src",
    "black src/a.py",
    "black -q src 2>&1 | tail -3",
    "ruff format src",
    "prettier --write src/a.js",
    "prettier --write 'src/**/*.ts'",
    "prettier --write data/a.js",
    "prettier --write known/a.js",
    "echo x > src/new.go && gofmt -w src/new.go",
    "shfmt -w src/new.sh",
    "git add src/a.py",
    "git add -A && git status --short",
    "cd src && git add a.py",
    "echo x | tee src/new.txt",
    "tee src/new.txt <<'E'\nx\nE",
)
ASKED = (
    "gofmt -r 'a -> b' -w src/a.go",
    "gofmt -w ../outside.go",
    "gofmt -w run.py",  # may be started
    "black run.py",
    "black linked",  # a link out of it
    "black .",
    "black --config other.toml src/a.py",
    "python -m black src/a.py",
    "npx prettier --write src/a.js",
    "./black src/a.py",
    "PYTHONPATH=. black src/a.py",
    "prettier --write code/a.js",  # settings that are code
    "prettier --write code",
    "prettier --write pack/a.js",  # settings that name a plugin
    "prettier --write parsed/a.js",  # a parser that is a file
    "echo 'x' > src/prettier.config.js; prettier --write src/a.js",  # settings that it makes itself
    "tee src/prettier.config.js <<< x && prettier --write src/a.js",
    "prettier --write src/a.js > src/prettier.config.js",
    "shfmt -w shell",  # finds programs by their first line
    "prettier --write --plugin=./x.js src/a.js",
    "prettier --write --config x src/a.js",
    "black .github",
    "git add -p",
    "git add -f src/a.py",
    "git add src/a.py && git commit -m x",
    "echo x > src/new.txt && git add src/new.txt",
    "git -C .. add project",
    "cd .. && git add project",
    "echo x | tee .env",
    "echo x | tee .git/hooks/pre-commit",
    "echo x | tee ../outside",
    "echo x | tee src/new.sh && bash src/new.sh",
    "gofmt -w src/a.go && go test ./...",
)


@pytest.mark.parametrize("command", PASSES)
def test_a_formatter_of_ordinary_files_and_git_add_pass_as_edits(command: str, project: Path) -> None:
    assert verdict(command, project) == "allow"
    assert verdict(command, project, mode="default") == "ask"
    assert verdict(command, project, mode="plan") == "deny"
    assert verdict(command, project, mode="dontAsk") == "deny"
    assert verdict(command, project, live=False) == "ask"


@pytest.mark.parametrize("command", ASKED)
def test_what_may_start_something_or_rewrites_what_others_obey_is_asked_about(command: str, project: Path) -> None:
    assert verdict(command, project) == "ask"


@pytest.mark.parametrize("command", ["gofmt -w src/a.go", "gofmt -w .", "black src", "ruff format src"])
def test_rules_about_edits_hold_for_formatters(command: str, project: Path) -> None:
    assert verdict(command, project, Rule.parse("deny", "Edit(src/**)")) != "allow"
    assert verdict(command, project, Rule.parse("ask", "Edit(src/**)")) == "ask"


def test_git_add_is_asked_about_where_the_repository_would_start_a_program(project: Path) -> None:
    subprocess.run(["git", "config", "filter.x.clean", "evil"], cwd=project, check=True, timeout=30)
    assert verdict("git add src/a.py", project) == "ask"


def test_a_program_that_lies_inside_is_asked_about(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = project / "bin/black"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert verdict("black src/a.py", project) == "ask"
    assert verdict("gofmt -w src/a.go", project) == "allow"


def test_what_starts_a_formatter_does_not_lie_inside_either(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "bin").mkdir()
    (project / "bin/node").write_text("#!/bin/sh\n")
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{project / 'bin'}:{path}")
    assert verdict("prettier --write src/a.js", project) == "ask"
    monkeypatch.setenv("PATH", f".:{path}")  # wherever the command is
    assert verdict("black src/a.py", project) == "ask"


def test_variables_that_lead_a_formatter_to_other_code_are_asked_about(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(project))
    assert verdict("black src/a.py", project) == "ask"
