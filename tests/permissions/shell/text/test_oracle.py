"""What generated read-only commands really do, seen by strace in a sandbox (`make oracle` runs many more)."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from holdfast.permissions import NoDisk, PermissionContext, Rule, decide, facts_from_input
from holdfast.permissions.shell import analyse

SCRIPTS = Path(__file__).parents[4] / "scripts"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shell_oracle", SCRIPTS / "shell_oracle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shell_oracle"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    module = load()
    if problem := module.sandbox_problem():
        pytest.skip(f"the oracle needs bwrap and strace: {problem}")
    return module


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_commands_called_read_only_change_nothing(oracle: ModuleType) -> None:
    generated, run, violations = oracle.check(300, 20_261_115)
    assert violations == []
    assert run > generated // 2


def test_the_oracle_sees_a_write_a_program_a_connection_and_a_signal(oracle: ModuleType) -> None:
    commands = [
        "touch new.txt",
        "echo x > new.txt",
        "rm a.txt",
        "perl -e 1",
        "kill -0 1; kill -CONT 1",
        "head -c 1 /dev/zero",
        "ls",
        "exec 3<>/dev/tcp/127.0.0.1/9",
    ]
    found = {(violation.command, violation.what) for violation in oracle.run_batch(commands)}
    assert ("touch new.txt", "open for writing") in found
    assert ("echo x > new.txt", "open for writing") in found
    assert ("rm a.txt", "change") in found
    assert ("perl -e 1", "program outside the tables") in found
    assert ("kill -0 1; kill -CONT 1", "change") in found
    assert ("head -c 1 /dev/zero", "device read") in found
    assert ("exec 3<>/dev/tcp/127.0.0.1/9", "network") in found
    assert not any(command == "ls" for command, _ in found)


READERS_OF_FOUND_FILES = (
    "find . -type f -name '*.txt' -exec grep -n a {} +",
    "find . -type f -exec wc -l {} \\;",
    "find . -type f '(' -name '*.txt' -o -name '*.py' ')' -exec head -2 {} \\;",
    "find . -type f -exec sed -n 1,2p {} \\; | head",
    "find . -maxdepth 2 -type f -exec sort {} + -exec md5sum {} +",
    "find -type f -exec stat -c %s -- {} +",
    "find . -name '*.txt' -exec cat {} +",
    "find . -name '*.txt' -o -name '*.py' -exec grep -l a {} \\;",
    "find src/deep -name '*.txt' -exec head -2 {} \\;",
    "cd src && find . -type f -exec cat {} +",
)


def test_what_find_hands_to_readers_changes_nothing(oracle: ModuleType) -> None:
    assert [command for command in READERS_OF_FOUND_FILES if not analyse(command, cwd="/p").read_only] == []
    assert oracle.run_batch(list(READERS_OF_FOUND_FILES)) == []


@pytest.mark.parametrize(
    "command",
    [
        "find -L . -type f -exec cat {} +",
        "find . -type f -follow -exec cat {} +",
        "find . -type f -exec sort x + -o y {} +",  # the first plus ends nothing
        "find . -type f -exec sort -o{} {} ';'",
        "find . -type f -exec sort -o x {} ';'",
        "find . -type f -exec sed -i s/a/b/ {} +",
        "find . -exec sed -n 'w x' {} +",
        "cd $X && find . -exec cat {} +",
        "cd / && find proc -name environ -exec cat {} +",
        "find . -type f -exec sed {} a ';'",
        "find . -type f -exec uniq {} +",  # the second file would be written
        "find . -type f -exec ./cat {} +",
        "find . -type f -exec sh -c 'cat {}' ';'",
        "find . -type f -exec {} ';'",
        "find . -type f -exec git log {} +",
        "find . -type f -exec cat {} + -delete",
        "find . -type f -exec cat {} + -fprint x",
        "find . -type f -exec cat {} + -exec rm {} +",
        "find . -type f -execdir cat {} +",
        "find . -type f -exec cat $X {} +",
        "find $D -type f -exec cat {} +",
        "find / -type f -exec cat {} +",
        "find . -type f -exec cat {} + -o -name x -exec head {} +",
        "find /proc/1 -type f -exec cat {} +",
        "find //dev -type f -exec cat {} +",
        "echo x | xargs find . -type f -exec cat {} +",
        "find . -type f -exec cat {} + > out",
    ],
)
def test_what_find_starts_is_refused_where_it_may_do_more_than_read(command: str) -> None:
    assert not analyse(command, cwd="/p").read_only


def test_rules_about_reads_hold_for_files_that_find_hands_on() -> None:
    for behavior in ("deny", "ask"):
        rules = [Rule.parse(behavior, "Read(.env)")]
        context = PermissionContext.started_in("/p", "default", rules, home="/h", trusted=True, disk=NoDisk())
        for command in ("find . -type f -exec cat {} +", "find . -type f -name '.e*' -exec cat {} +"):
            assert decide(facts_from_input("Bash", {"command": command}, "/p"), context).behavior == "ask"
    free = PermissionContext.started_in("/p", "default", [], home="/h", trusted=True, disk=NoDisk())
    for command in ("find out -type f -exec sed -i s/a/b/ {} +", "find out -exec sed -ni p {} +"):
        rules = [Rule.parse("deny", "Edit(out/**)"), Rule.parse("allow", "Bash")]
        context = PermissionContext.started_in("/p", "default", rules, home="/h", trusted=True, disk=NoDisk())
        assert decide(facts_from_input("Bash", {"command": command}, "/p"), context).behavior == "deny"
    outside = facts_from_input("Bash", {"command": "find /srv/other -type f -exec cat {} +"}, "/p")
    assert decide(outside, free).behavior == "ask"


def test_a_link_that_find_may_hand_on_is_read_where_it_leads(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "sub").mkdir()
    (tmp_path / "outside.txt").write_text("x\n")
    (project / "src/a.txt").symlink_to(tmp_path / "outside.txt")
    context = PermissionContext.started_in(str(project), "default", [], home="/h", trusted=True)
    said = {
        command: decide(facts_from_input("Bash", {"command": command}, str(project)), context).behavior
        for command in (
            "find src -name '*.txt' -exec cat {} +",
            "find src -type f -name '*.txt' -exec cat {} +",
            "find sub -name '*.txt' -exec cat {} +",
            "find .. -name '*.txt' -exec cat {} +",
        )
    }
    assert list(said.values()) == ["ask", "allow", "allow", "ask"]
