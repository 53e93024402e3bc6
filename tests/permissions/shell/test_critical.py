import os

import pytest

from holdfast.permissions.shell.analysis import analyse
from holdfast.permissions.shell.critical import critical_removal


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /", "rm -rf //", "rm -rf /.", "rm -rf /*", "rm -rf /usr", "rm -r /etc/", "rm -rf /home", "rm -rf ~",
        "rm -rf ~/", "rm -rf ~/*", "rm -rf $HOME", 'rm -rf "$HOME"',
        "rm -rf ${HOME}/", "rm -rf .", "rm -rf ./", "rm -rf *", "rm -rf ./*", "rm -rf ..",
        "rm -rf ../..", "rm -rf /w/project", "rm -rf /w", "rm -rf $PWD", 'rm -rf "$(pwd)"',
        "rm -rf .git", "rm -rf ./.git/", "rm -rf /w/project/.git", 'rm -rf "$VAR"/*', "rm -rf $VAR/*",
        "rm -rf ${VAR}/", "rm -rf $VAR/bin", "rm -rf -- /", "rm -r -f /", "rmdir /usr",
        "sudo rm -rf /", "echo $(rm -rf /)", "bash -c 'rm -rf /'", "cd / && rm -rf *", "cd .. && rm -rf project",
        "cd src && rm -rf ..", "find / -delete", "find ~ -delete", "find . -delete",
        "find / -name x -exec rm {} +", "/bin/rm -rf /", "\\rm -rf /", "'rm' -rf '/'", "rm -rf ~root",
        "timeout 5 rm -rf /", "FOO=1 rm -rf /", "rm -rf /usr/../", "rm -rf a /", "rm -rf sub/..",
        "shred -u /etc", "rm -rf /w/project/../project", 'rm -rf "/"*', "cd $x && rm -rf *",
    ],
)  # fmt: skip
def test_removals_of_places_that_matter_are_critical(command: str) -> None:
    assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project"), command


def test_the_home_directory_is_critical_by_its_own_name_too() -> None:
    home = os.path.expanduser("~")
    for command in (f"rm -rf {home}", f"rm -rf {home}/", f"cd {home} && rm -rf ."):
        assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project"), command


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "rm -rf ./dist", "rm *.pyc", "rm -rf node_modules", "rm -rf /tmp/x", "rm -rf /w/project/build",
     'rm -rf "$DIR"', "rm -rf src/*", "rm .gitignore", "rmdir empty",
     "find . -name '*.pyc' -delete", "find build -delete", "ls /", "rm -rf ../other", "rm -rf /usr/local/share/x",
     "echo rm -rf /", "rm -rf $BUILD/out/cache", "git rm x"],
)  # fmt: skip
def test_ordinary_removals_are_not(command: str) -> None:
    assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project") is None, command
