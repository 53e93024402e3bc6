"""Wrappers that go elsewhere before they start a command: every name in it is seen from there."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.policy.cases import run_case
from holdfast.permissions.policy.suggest_commands import suggest_rules
from holdfast.permissions.shell.text.analysis import analyse

BASE = PermissionContext("default", [], project_root="/none")
BASH = shutil.which("bash") or "/bin/bash"


def verdict(command: str, *, cwd: str = "/none/proj", mode: str = "bypassPermissions", **rules: list[str]) -> str:
    case: dict[str, Any] = {"command": command, "rules": rules, "cwd": cwd, "mode": mode}
    return run_case(case, BASE).decision.behavior


def places(command: str) -> object:
    return analyse(command, cwd="/none/proj").parts[-1].cwds


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("env -C out touch q", ("out",)),
        ("env -Cout touch q", ("out",)),
        ("env -iC out touch q", ("out",)),
        ("env -C a -C b touch q", ("b",)),
        ("env -C a env -C b touch q", ("a/b",)),
        ("env --chdir=/ touch q", ("/",)),
        ("env -C lnk/.. touch q", ("lnk/..",)),
        ("env -S '-C out touch q'", ("out",)),
        ("env -S '-C out' touch q", ("out",)),
        ("env -C $D touch q", None),
        ("env -C a/$D touch q", None),
        ("env -uC touch q", ("",)),
        ("env touch -C q", ("",)),
        ("sudo -D out touch q", ("out",)),
        ("sudo -nDout touch q", ("out",)),
        ("sudo --chdir out touch q", ("out",)),
        ("sudo -i touch q", None),
        ("sudo -iu root touch q", None),
        ("sudo -R new touch q", None),
        ("sudo touch q", ("",)),
        ("su - -c 'touch q'", None),
        ("su --login u -c 'touch q'", None),
        ("su u -c 'touch q'", ("",)),
        ("runuser -l u -c 'touch q'", None),
        ("chroot / touch q", ("/",)),
        ("chroot new touch q", None),
        ("chroot --skip-chdir / touch q", ("",)),
        ("unshare --wd=out touch q", ("out",)),
        ("unshare -w out touch q", ("out",)),
        ("unshare -R new touch q", None),
        ("nsenter --wd=/ touch q", ("/",)),
        ("nsenter -w touch q", None),
        ("nsenter -t 1 touch q", None),
        ("systemd-run --working-directory=out touch q", ("out",)),
        ("systemd-run -p WorkingDirectory=out touch q", ("out",)),
        ("systemd-run -p RootDirectory=new --working-directory=out touch q", None),
        ("systemd-run touch q", None),
        ("systemd-run --scope touch q", ("",)),
        ("git -C out rm q", ("out",)),
        ("git -C a -C b rm q", ("a/b",)),
        ("git -C a -C / rm q", ("/",)),
        ("git -C $D rm q", None),
        ("git -c x.y=z -C out rm q", ("out",)),
        ("git --work-tree=out checkout q", ("", "out")),
        ("git log -C q", ("",)),
        ("git -p rm q", ("",)),
        ("sudo A=1 -D out touch q", ("out",)),
        ("timeout 5 env -C out touch q", ("out",)),
    ],
)
def test_the_command_runs_where_its_wrapper_goes(command: str, expected: object) -> None:
    assert places(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "env --chd=out touch q",
        "env --ch out touch q",
        "parallel --wd out touch ::: q",
        "start-stop-daemon -S -d out --exec /usr/bin/touch -- q",
        "start-stop-daemon -S --chdir=out -x /usr/bin/touch q",
        "daemonize -c out /usr/bin/touch q",
        "bwrap --chdir out touch q",
        "proot -w out touch q",
        "uv --directory out run touch q",
        "poetry -C out run touch q",
        "npm --prefix out exec touch q",
        "conda run --cwd out touch q",
        "mise -C out exec -- touch q",
        "mpirun -wdir out touch q",
        "fd --base-directory out -x touch q",
        "env -C out sh -c 'echo > q'",
        "sudo -D out tee q",
        "git -C sub rm ../out/a",
        "git -C out diff --output=x",
        "git -c a.b=c rm out/a",
        "git -C out -c a.b=c rm a",
        "git --work-tree=out --git-dir=.git checkout -- a",
        "parallel --wd out 'touch {}' ::: q",
    ],
)
def test_an_edit_rule_is_about_what_a_moved_command_writes(command: str) -> None:
    assert verdict(command, deny=["Edit(out/**)"]) == "deny"
    assert verdict(command, ask=["Edit(out/**)"]) == "ask"
    assert verdict(command, allow=["Bash"], deny=["Edit(out/**)"], mode="default") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "env -C $D touch q",
        "sudo -i touch q",
        "su - -c 'echo > q'",
        "chroot . touch /out/q",
        "daemonize /usr/bin/touch q",
        "pkexec touch q",
        "find . -name x -execdir touch q \\;",
        "env -C lnk sh -c 'cd ..; touch q'",
        "cd $X && touch q",
        "cd $X && echo > q",
        "git -C $D rm q",
    ],
)
def test_a_write_in_a_directory_that_nobody_knows_is_asked_about_where_edit_rules_hold(command: str) -> None:
    assert verdict(command, deny=["Edit(out/**)"]) == "ask"
    assert verdict(command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "env -C sub touch q",
        "env -C sub touch f.txt",
        "sudo touch q",
        "env -C out true; touch q",
        "env -C out true && echo > q",
        "f() { touch q; }; f",
        "git -C sub commit -m x",
        "cd sub && env -C ../sub2 touch q",
        "su u -c 'touch q'",
        "pkexec --keep-cwd touch q",
    ],
)
def test_a_write_elsewhere_stays_free(command: str) -> None:
    assert verdict(command, deny=["Edit(out/**)", "Edit(./f.txt)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "env -C secrets cat a",
        "env --chdir=secrets cat a",
        "sudo -D secrets cat a",
        "env -C / cat none/proj/secrets/a",
        "env -S 'cat' secrets/a",
        "git -C secrets hash-object a",
        "git -C secrets blame a",
        "git -c a.b=c -C secrets blame a",
        "fd --base-directory secrets -x cat a",
    ],
)
def test_a_read_rule_is_about_what_a_moved_command_reads(command: str) -> None:
    assert verdict(command, deny=["Read(secrets/**)"]) == "deny"


def test_another_root_makes_every_name_unknown() -> None:
    assert verdict("chroot . cat /secrets/a", deny=["Read(secrets/**)"]) == "ask"
    assert verdict("sudo -R . cat /secrets/a", deny=["Read(secrets/**)"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "env -C / rm -rf usr",
        "env -C.. rm -rf proj",
        "env -S '-C / rm -rf usr'",
        "sudo --chdir=/ rm -rf usr",
        "sudo -D / sh -c 'rm -rf usr'",
        "unshare --wd=/ rm -rf usr",
        "nsenter --wd=/ rm -rf usr",
        "systemd-run --working-directory=/ rm -rf usr",
        "chroot / rm -rf usr",
        "env -C / find usr -delete",
    ],
)
def test_critical_removals_are_seen_from_where_the_wrapper_goes(command: str) -> None:
    assert verdict(command) == "ask"
    assert verdict(command, allow=["Bash"], mode="default") == "ask"


def test_removals_below_the_directory_of_a_wrapper_stay_free() -> None:
    assert verdict("env -C sub rm -rf build") == "allow"


@pytest.mark.parametrize("command", ["git -C sub commit -m x", "git -C /elsewhere commit -m x"])
def test_a_rule_for_git_covers_it_in_another_directory(command: str) -> None:
    assert verdict(command, allow=["Bash(git *)"], mode="default") == "allow"
    assert verdict(command, allow=["Bash(git -C *)"], mode="default") == "allow"
    assert verdict(command, allow=["Bash(git commit *)"], mode="default") == "ask"
    assert suggest_rules(analyse(command)) == (command.replace("-m x", "*"),)


@pytest.mark.parametrize(
    "command", ["git -C sub status", "env -C sub ls", "env --chd=sub ls", "git --work-tree=x status"]
)
def test_no_moved_command_is_taken_for_read_only(command: str) -> None:
    assert not analyse(command, cwd="/none/proj").read_only


@pytest.mark.parametrize("option", ["-C {}", "-C{}", "--chdir={}", "--chdir {}", "--chd={}", "-S '-C {}'"])
@pytest.mark.parametrize("place", ["a", "a/b", "a/..", "lnk/..", ".", "lnk"])
def test_env_goes_where_the_analysis_says(tmp_path: Path, option: str, place: str) -> None:
    project = tmp_path / "project"
    (project / "a" / "b").mkdir(parents=True)
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (project / "lnk").symlink_to(tmp_path / "far" / "deep")
    command = f"env {option.format(place)} /bin/pwd -P"
    ran = subprocess.run(
        [BASH, "-c", command], cwd=project, capture_output=True, text=True, timeout=30, check=False
    ).stdout.strip()
    told = analyse(command, cwd=str(project)).parts[-1].cwds
    assert ran
    assert told is not None
    assert ran in {str(Path(project, one).resolve()) for one in told}
