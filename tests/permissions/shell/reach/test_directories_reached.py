"""What commands open without naming it, on a real disk."""

from pathlib import Path

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.shell.judge.verdict import judge_shell
from holdfast.permissions.shell.reach import directories as shell_reach
from holdfast.permissions.shell.reach.directories import links_behind
from holdfast.permissions.tool_facts import facts_from_input


def verdict(command: str, folder: Path, *denied: str, mode: str = "default") -> str:
    rules = [Rule.parse("deny", text) for text in denied]
    context = PermissionContext.started_in(str(folder), mode, rules)
    call = facts_from_input("Bash", {"command": command}, cwd=str(folder))
    return decide(call, context).behavior


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "conf").mkdir()
    (folder / "src" / "deep" / "a.py").write_text("x")
    (folder / "conf" / "b.txt").write_text("x")
    return folder


READERS = ["grep -rn x .", "grep -R x", "rg --hidden x", "git grep x", "diff -r . ../other"]


@pytest.mark.parametrize("command", READERS[:4])
def test_a_search_passes_while_no_file_is_there_that_a_rule_is_about(command: str, project: Path) -> None:
    assert verdict(command, project, "Read(.env)", "Read(./conf/key.pem)", "Read(**/*.pem)") == "allow"


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(("rule", "name"), [(".env", "src/.env"), ("./conf/key", "conf/key"), ("*.pem", "src/k.pem")])
def test_a_search_is_asked_about_when_such_a_file_is_there(command: str, rule: str, name: str, project: Path) -> None:
    (project / name).write_text("secret")
    (project.parent / "other").mkdir(exist_ok=True)
    for mode in ("default", "bypassPermissions"):
        assert verdict(command, project, f"Read({rule})", mode=mode) == "ask"


def test_a_search_elsewhere_or_for_other_names_passes(project: Path) -> None:
    (project / "conf" / "key.pem").write_text("secret")
    assert verdict("grep -rn x src", project, "Read(*.pem)") == "allow"
    assert verdict("grep -rn --include='*.py' x .", project, "Read(*.pem)") == "allow"
    assert verdict("rg -g '*.py' x", project, "Read(*.pem)") == "allow"
    assert verdict("grep -n x conf/b.txt", project, "Read(*.pem)") == "allow"
    assert verdict("grep -rn x conf", project, "Read(*.pem)") == "ask"


def test_too_many_files_are_as_good_as_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_reach, "MAX_ENTRIES", 2)
    assert verdict("grep -rn x .", project, "Read(.env)") == "ask"
    assert verdict("grep -rn x .", project, "Read(./.env)") == "allow"


def test_a_pattern_that_matches_a_link_out_of_the_project_is_a_read_outside(project: Path) -> None:
    outside = project.parent / "outside.txt"
    outside.write_text("secret")
    assert verdict("cat l*", project) == "allow"
    (project / "leads").symlink_to(outside)
    for command in ("cat l*", "cat ?eads", "cat ./[l]*", "cat */../l*", "wc -l l* src/*"):
        assert verdict(command, project) == "ask", command
    assert verdict("cat l*", project, mode="bypassPermissions") == "allow"
    assert verdict("cat s*/deep/*", project) == "allow"
    assert verdict("cat l*", project, f"Read(/{outside})") == "deny"


def test_a_link_in_the_middle_of_a_pattern_is_followed(project: Path) -> None:
    outside = project.parent / "elsewhere"
    outside.mkdir()
    (outside / "f.txt").write_text("secret")
    (project / "src" / "way").symlink_to(outside)
    assert verdict("cat src/*/f.txt", project) == "ask"
    assert verdict("cat src/*/*.txt", project) == "ask"
    assert verdict("cat src/d*/*.py", project) == "allow"


def test_links_inside_the_project_pass(project: Path) -> None:
    (project / "link").symlink_to(project / "conf" / "b.txt")
    assert verdict("cat l*", project) == "allow"


def test_a_directory_too_large_to_look_through_is_asked_about(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_reach, "MAX_LISTED", 1)
    assert links_behind("*", str(project)) is None
    assert verdict("cat *", project) == "ask"
    assert verdict("cat *", project, mode="bypassPermissions") == "allow"


def test_without_read_rules_nothing_is_looked_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("holdfast.permissions.shell.judge.verdict.reaches", forbidden)
    call = facts_from_input("Bash", {"command": "grep -rn x ."}, cwd=str(project))
    context = PermissionContext.started_in(str(project), "default", [Rule.parse("deny", "Bash(rm *)")])
    assert judge_shell(call, context).doubt == ""


FOLLOWING = [
    "grep -R x .", "grep -Rn x", "grep -nR x src", "grep --dereference-recursive x src", "rg -L x", "ag -f x",
    "rg -nL x src", "rg --follow x", "diff -r src conf", "ack --follow x",
]  # fmt: skip
STAYING = ["grep -rn x .", "rg x", "diff -r --no-dereference src conf", "grep -R x conf", "ls -R", "find -L . -name x"]


def test_a_search_that_follows_a_link_out_of_the_project_is_a_read_outside(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    assert [one for one in FOLLOWING[:-1] if verdict(one, project) != "allow"] == []
    (project / "src" / "deep" / "way").symlink_to(outside)
    assert [one for one in FOLLOWING if verdict(one, project) != "ask"] == []
    assert [one for one in STAYING if verdict(one, project) != "allow"] == []
    assert verdict("grep -R --exclude-dir=deep x src", project) == "allow"
    assert verdict("grep -R x src", project, f"Read(/{outside})") == "deny"


def test_a_search_that_follows_a_link_to_a_denied_file_is_held_back(project: Path) -> None:
    (project / "conf" / ".env").write_text("secret")
    (project / "src" / "way").symlink_to(project / "conf")
    assert verdict("grep -R x src", project, "Read(conf/.env)") == "ask"
    assert verdict("grep -r x src", project, "Read(conf/.env)") == "allow"
    (project / "src" / "other").symlink_to(project / "conf" / ".env")
    assert verdict("rg -L x src", project, "Read(conf/.env)") == "deny"


def test_a_link_to_a_program_of_the_system_is_nobodys_secret(project: Path) -> None:
    (project / "src" / "python").symlink_to("/usr/bin/env")
    assert verdict("grep -R x .", project) == "allow"


def test_too_much_to_follow_is_asked_about(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_reach, "MAX_FOLLOWED", 2)
    assert verdict("grep -R x .", project) == "ask"
    assert verdict("grep -R x conf", project) == "allow"
