"""What the disk tells about a text: git below the start of a repository, programs that a session makes harmless."""

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.permissions import LiveDisk, NoDisk, PermissionContext, decide, facts_from_input
from holdfast.permissions.shell import analyse


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "proj"
    for name in ("src/deep", "nested", "bare", "odd", "far"):
        (place / name).mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(place)], check=True, timeout=20)
    subprocess.run(["git", "init", "-q", str(place / "nested")], check=True, timeout=20)
    subprocess.run(["git", "init", "-q", "--bare", str(place / "bare")], check=True, timeout=20)
    (place / "odd" / ".git").write_text("gitdir: ../nested/.git\n")
    os.symlink("src", place / "link")
    (tmp_path / "else").mkdir()
    return place


def verdict(text: str, cwd: Path, mode: str = "default") -> str:
    disk = LiveDisk() if cwd.is_dir() else NoDisk()
    context = PermissionContext.started_in(str(cwd), mode, home="/home/user", disk=disk)
    return decide(facts_from_input("Bash", {"command": text}, str(cwd)), context).behavior


SAME = [
    "cd src && git status",
    "cd src/deep && git log --oneline -3 | head",
    "cd src && git diff && cd .. && git status",
    "(cd src && git status); git log -1",
    "git -C src status",
    "git -C . log -1",
    "git --no-pager -C src -C deep diff",
    "git -C src/.. status",
    "git -C {root} status",
    "git -C {root}/src status && cat src/a",
    "cd {root}/src && git status",
]


@pytest.mark.parametrize("text", SAME)
def test_git_in_the_same_repository_passes_as_at_its_start(repository: Path, text: str) -> None:
    text = text.format(root=repository)
    assert verdict(text, repository) == "allow"
    assert verdict(text, repository, "plan") == "allow"


@pytest.mark.parametrize("text", [text for text in SAME if "{root}" not in text])
def test_the_text_alone_proves_nothing_about_it(repository: Path, text: str) -> None:
    assert not analyse(text, cwd=str(repository)).read_only
    assert verdict(text, Path("/does/not/exist")) == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "cd nested && git status",
        "git -C nested status",
        "git -C bare log",
        "cd bare/objects && git log",
        "cd odd && git status",
        "cd link && git status",
        "git -C link status",
        "git -C missing status",
        "cd missing && git status",
        "cd .. && git status",
        "git -C ../else status",
        "git -C src -c core.fsmonitor=./x status",
        "git -C src --git-dir=x status",
        "git -C src push",
        "git -C src add a",
        "git -C $D status",
        "git -C '' -p status",
        "GIT_DIR=x git -C src status",
        "cd $D && git status",
        "cd src && git log > out",
        "cd src && git log > /dev/null; rm x",
        "git -C src log --output=x",
        "for d in src nested; do git -C $d status; done",
        "cd src && ./git status",
        "mkdir new && cd new && git status",
    ],
)
def test_git_elsewhere_is_asked_about(repository: Path, text: str) -> None:
    assert verdict(text, repository) == "ask"


def test_a_repository_that_comes_later_counts(repository: Path) -> None:
    assert verdict("cd far && git status", repository) == "allow"
    (repository / "far" / "HEAD").write_text("ref: refs/heads/main\n")
    assert verdict("cd far && git status", repository) == "ask"
    (repository / "far" / "HEAD").unlink()
    (repository / "far" / ".git").mkdir()
    assert verdict("cd far && git status", repository) == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "pip list",
        "pip3 list --format=columns | grep -i req",
        "pip show -f requests",
        "go env GOPATH GOROOT",
        "go list ./...",
        "go list -m -f '{{.Dir}}' all",
        "go doc -short fmt.Println",
        "ss -tlnp",
        "ss -tln | grep 8080",
        "cd src && pip list && git status",
    ],
)
def test_what_a_session_makes_harmless_passes_there(repository: Path, text: str) -> None:
    assert verdict(text, repository) == "allow"
    assert not analyse(text, cwd=str(repository)).read_only
    assert verdict(text, Path("/does/not/exist")) == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "pip list --outdated",
        "pip list --out",
        "pip list --log x",
        "pip install x",
        "pip freeze",
        "pip show $(cat /dev/zero) --log x",
        "./pip list",
        ".venv/bin/pip list",
        "python3 -m pip list",
        "PYTHONPATH=. pip list",
        "go env -w GOFLAGS=-mod=mod",
        "go env -u GOFLAGS",
        "go env",
        "go list -u -m all",
        "go list -toolexec=x ./...",
        "go list -C /x ./...",
        "go list -export ./...",
        "go list /etc",
        "go doc -http",
        "go doc ../other",
        "ss -K",
        "ss -D x",
        "ss -tr",
        "ss dst example.com",
        "ss -tlnp > out",
        "npm list",
    ],
)
def test_their_neighbours_are_asked_about(repository: Path, text: str) -> None:
    assert verdict(text, repository) == "ask"
