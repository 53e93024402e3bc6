import pytest

from holdfast.permissions.shell.risk.removals import rough_removal


@pytest.mark.parametrize(
    "text",
    [
        "rm x",
        "a;rm x",
        "a|/bin/rm x",
        "(rm)",
        "'r'm x",
        'r"m" x',
        "r\\m x",
        "r\\\nm x",
        "a\\\\\nrm x",
        "{rm,-rf,/}",
        "rmdir x",
        "unlink x",
        "shred x",
        "find . -delete",
        "rsync --delete a b",
        "git clean -fdx",
        "git -C x clean",
        "shutil.rmtree(x)",
        "fs.rmSync(x)",
        "del /x",
        "$(echo rm)",
        "eval eval rm",
        "é rm é",
        "rm\udcff rm",
    ],
)
def test_a_word_that_removes_is_seen_wherever_it_stands(text: str) -> None:
    assert rough_removal(text)


@pytest.mark.parametrize(
    "text",
    [
        "docker run --rm x",
        "charm",
        "rmx",
        "rm-x",
        "farm",
        "make clean",
        "git status",
        "del x[0]",
        "term",
        "git" + " x" * 300 + " clean",
    ],
)
def test_other_words_are_not(text: str) -> None:
    assert rough_removal(text) is None
