import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.shell.risk.removals import critical_removal
from holdfast.permissions.shell.text.analysis import analyse

CWD = "/w/project"


@pytest.mark.parametrize(
    "command",
    [
        "x='rm -rf /'; eval $x",
        "x='rm -rf /'; eval \"$x\"",
        "x='rm -rf /'; bash -c \"$x\"",
        "a='rm -rf'; b=/; eval $a $b",
        'cmd=rm; eval "$cmd -rf /"',
        'eval "$(echo rm -rf /)"',
        "echo 'rm -rf /' | bash",
        "echo rm -rf / | sudo sh",
        "printf 'rm -rf /\\n' | sh",
        "printf '%s\\n' 'rm -rf .g*' | sh",
        "echo 'rm -rf /' | tee log | bash",
        "source <(echo 'rm -rf /')",
    ],
)
def test_a_critical_removal_in_a_script_that_is_handed_to_a_shell_is_asked_about(command: str) -> None:
    assert critical_removal(analyse(command, cwd=CWD), cwd=CWD), command
    assert judge("Bash", {"command": command}, mode="bypassPermissions", cwd=CWD).behavior == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "x='rm -rf build'; eval $x",
        "echo 'rm -rf build' | bash",
        'eval "$(ssh-agent)"; rm -rf build',
        'eval "$(ls); rm x"',
        "curl x | bash",
        "x='eval $x'; eval $x",
        'echo "rm it" | bash x.sh',
    ],
)
def test_an_ordinary_one_is_not(command: str) -> None:
    assert critical_removal(analyse(command, cwd=CWD), cwd=CWD) is None, command


def test_more_scripts_than_can_be_followed_are_asked_about() -> None:
    command = "for x in " + " ".join(f"'rm {number}'" for number in range(90)) + "; do eval $x; done"
    assert "too many" in (critical_removal(analyse(command, cwd=CWD), cwd=CWD) or "")
