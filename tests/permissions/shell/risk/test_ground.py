import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.shell.risk.removals import critical_removal
from holdfast.permissions.shell.text.analysis import analyse

CWD = "/w/a/project"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")


@pytest.mark.parametrize(
    "command",
    [
        "f() { cd /; }; f; rm -rf usr",
        "f() { cd /; }\nf\nrm -rf etc",
        "function f { cd ..; }; f; rm -rf project",
        "cd() { builtin cd /; }; cd x; rm -rf usr",
        "pushd /; pushd /tmp; popd; rm -rf usr",
        "pushd / && popd && rm -rf usr",
        "cd /; cd -; rm -rf usr",
        "cd $x; cd /; rm -rf usr",
        "cd /; cd $x; rm -rf usr",
        "d=/; cd $d && rm -rf usr",
        "d=/home; cd $d; rm -rf u",
        "cd $HOME/.. && rm -rf u",
        "cd ${HOME%/*} && rm -rf u",
        'cd "$(dirname "$PWD")" && rm -rf project',
        "cd $(git rev-parse --show-toplevel)/.. && rm -rf project",
        'cd "$X/" && rm -rf usr',
        "cd $x; cd /; rm -rf e*",
        "for i in 1 2 3 4 5; do cd ..; done; rm -rf usr",
        'while [ "$PWD" != / ]; do cd ..; done; rm -rf etc',
        "OLDPWD=/; cd -; rm -rf usr",
        "HOME=/; cd; rm -rf usr",
        "HOME=/; rm -rf ~/usr",
        "CDPATH=/ cd usr && rm -rf ../etc",
        "export CDPATH=/; cd usr && rm -rf ../etc",
        'export "CDPATH=/"; cd usr && rm -rf ../etc',
        "CDPATH=.:/; cd usr; rm -rf ../etc",
        "CDPATH=/home; cd x; cd $y; rm -rf ../u",
        "cd $x; cd /home; cd $y; rm -rf u",
    ],
)
def test_a_removal_is_critical_when_the_text_may_have_moved_above_what_matters(command: str) -> None:
    assert critical_removal(analyse(command, cwd=CWD), cwd=CWD), command
    assert judge("Bash", {"command": command}, mode="bypassPermissions", cwd=CWD).behavior == "ask"


@pytest.mark.parametrize(
    "command",
    [
        'f() { rm -rf "$1"; }; f build',
        "clean() { rm -rf build dist; }; clean",
        "b() { cd sub; make; }; b; rm -rf out",
        "pushd sub; make; popd; rm -rf build",
        "cd sub && make && cd - && rm -rf bin",
        'cd "$(dirname "$0")" && rm -rf build',
        "for d in a b; do cd $d; make; cd ..; done; rm -rf bin lib",
        'CDPATH= cd -- "$(dirname -- "$0")" && rm -rf build',
        'unset CDPATH; cd "$(dirname "$0")"; rm -rf bin',
        "unset CDPATH; cd sub && rm -rf ../build",
        "cd $ROOT; rm -rf bin",
        "while [ ! -d .git ]; do cd ..; done; rm -rf build",
        "cd; rm -rf tmp",
        "x=build; cd $x; rm -rf bin",
        "f() { :; }; " + "".join(f"cd d{number}; " for number in range(40)) + "rm -rf build",
    ],
)
def test_ordinary_moves_leave_ordinary_removals_alone(command: str) -> None:
    assert critical_removal(analyse(command, cwd=CWD), cwd=CWD) is None, command


def test_more_moves_than_can_be_put_together_are_asked_about() -> None:
    command = "f() { :; }; " + "".join(f"cd ../d{at}; cd /x{at}; " for at in range(300)) + "rm -rf build"
    assert "too many" in (critical_removal(analyse(command, cwd=CWD), cwd=CWD) or "")
    searched = "CDPATH=" + ":".join(f"/a{at}" for at in range(200)) + "; " + "".join(f"cd a{at}; " for at in range(200))
    assert "too many" in (critical_removal(analyse(f"{searched}rm -rf build", cwd=CWD), cwd=CWD) or "")


def test_a_move_by_cdpath_makes_the_directory_unknown_for_every_rule() -> None:
    assert analyse("CDPATH=/ cd x && cat y").parts[1].cwds is None
    assert analyse("CDPATH=/ cd ./x && cat y").parts[1].cwds == ("x",)
