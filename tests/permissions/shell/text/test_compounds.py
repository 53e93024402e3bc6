"""Loops are judged by their first turn, so what a later turn meets may not differ."""

import pytest

from holdfast.permissions.shell.text.analysis import analyse


@pytest.mark.parametrize("move", [r"c\d", "c'd'", "$'\\x63d'", r"push\d", 'command c"d"'])
@pytest.mark.parametrize(
    "loop", ["for i in 1 2; do {}; done", "while read x; do {}; done < f", "for ((i=0; i<2; i++)); do {}; done"]
)
def test_a_loop_that_moves_in_an_unusual_spelling_is_doubted(loop: str, move: str) -> None:
    found = analyse(loop.format(f"git status; {move} sub"))
    assert (found.read_only, bool(found.doubt)) == (False, True)


@pytest.mark.parametrize(
    "body",
    [
        'while true; do sort "$f"; read -r f; done',
        'for i in 1 2; do sort "$f"; for f in -oX; do :; done; done',
        'for ((i=0; i<2; i++)); do sort "$f"; read f; done',
    ],
)
def test_a_loop_that_changes_what_it_was_judged_by_is_asked_about(body: str) -> None:
    found = analyse(f"for f in a b; do {body}; done")
    assert (found.read_only, found.reason) == (False, "a loop changes the variable f, which its next turn uses")


@pytest.mark.parametrize(
    "command",
    [
        'for f in a b; do sort "$f"; read -r f; done',
        'for f in a b; do for f in c d; do sort "$f"; done; done',
        'for f in a b; do sort "$f"; done; for i in 1 2; do for f in c d; do sort "$f"; done; done',
        'for f in a b; do git log -1 --format=%cd "$f"; done',
    ],
)
def test_a_variable_that_every_turn_sets_anew_is_known(command: str) -> None:
    assert analyse(command).read_only


def test_commands_that_give_the_input_are_parts_and_no_file() -> None:
    found = analyse("wc -l < <(git ls-files)")
    assert found.read_only
    assert [part.text for part in found.parts] == ["git ls-files", "wc -l"]
    assert [redirect.kind for redirect in found.redirects] == ["commands"]
    assert analyse("cat < <(ls)/../sda").redirects[0].kind == "read"


@pytest.mark.parametrize("move", ["cd sub", r"c\d sub", "pushd sub"])
@pytest.mark.parametrize("way", ["case x in a) {} ;& b) git status;; esac", "case x in a) {} ;;& b) git status;; esac"])
def test_a_branch_that_falls_through_moves_the_next_one(way: str, move: str) -> None:
    assert not analyse(way.format(move)).read_only
    assert analyse(way.format("ls")).read_only


@pytest.mark.parametrize("command", ["cd -P sub/.. && git status", "cd -P sub && cd .. && git status"])
def test_a_physical_move_through_a_link_may_end_anywhere(command: str) -> None:
    assert not analyse(command).read_only
    assert analyse("cd -P . && git status").read_only


def test_a_here_document_knows_of_a_physical_move() -> None:
    command = "cd {} /start/link && cat <<E\n$(cd .. && git status)\nE"
    assert not analyse(command.format("-P"), cwd="/start").read_only
    assert analyse(command.format("-L"), cwd="/start").read_only


def test_a_move_in_a_here_document_is_told() -> None:
    assert analyse("cat <<E\n$(cd /etc && ls)\nE").cd_targets == ("/etc",)


@pytest.mark.parametrize("way", ["cd sub && cd ..", "cd sub/..", "cd sub; cd .."])
def test_the_way_there_and_back_may_end_elsewhere(way: str) -> None:
    assert not analyse(f"{way} && git status").read_only  # with CDPATH `cd sub` need not go to ./sub
    assert analyse(f"{way} && ls").read_only
