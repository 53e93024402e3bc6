import pytest

from holdfast.permissions.shell.risk.removals import critical_removal
from holdfast.permissions.shell.text.analysis import analyse


def critical(command: str) -> str | None:
    return critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project")


@pytest.mark.parametrize(
    "command",
    [
        "find . -name .git -exec rm -rf {} +",
        "find . -name '.g*' -exec rm -rf {} +",
        "find . -iname .GIT | xargs rm -rf",
        "find . -type d -name '*git' -exec rm -rf {} \\;",
        "find . -path './.git/*' -delete",
        "find . -path '*/.git*' | xargs rm",
        "find . -name x -o -name .git -exec rm -rf {} +",
        "find . -name .git -prune -exec rm -rf {} +",
        "find . \\( -name a -o -name .git \\) -exec rm -rf {} +",
    ],
)
def test_a_search_that_picks_out_the_history_to_remove_it_is_critical(command: str) -> None:
    assert critical(command)


@pytest.mark.parametrize(
    "command",
    [
        "find . -path ./.git -prune -o -name '*.pyc' -delete",
        "find . -name '*.pyc' -not -path './.git/*' -delete",
        "find . ! -path '*/.git/*' -name '*.o' -exec rm {} +",
        "find . -type f -name '*t' -exec rm {} +",
        "find . -name '*it' -delete",
        "find . ! \\( -name .git \\) -name '*.x' -exec rm {} +",
        "find . -name .gitkeep -exec rm {} +",
        "find . -name '*.log' | xargs rm -rf",
    ],
)
def test_one_that_leaves_it_is_not(command: str) -> None:
    assert critical(command) is None
