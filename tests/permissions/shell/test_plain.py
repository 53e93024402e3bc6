"""A text that is one plain command is read without the parser, and to the same end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.permissions.shell import analysis, emit
from holdfast.permissions.shell.words import names

NAMES = sorted(emit.plain_names())
WORDS = sorted(
    names(
        "-n -5 --oneline src a.py -r -l --stat HEAD log status -i x=y /dev/tty /etc/passwd ../x ./a 3 -C -c --exec"
        " -delete -o out @ : , % -- - . .. / a:b -x -e s/a/b/p --version --help show diff branch -a -D main -print"
        " -name +x -t if in time then -exec PATH -f 1d --output=f -la 0 a^b"
    )
)


def texts_of_our_tests() -> Iterator[str]:
    for file in sorted(Path(__file__).parent.rglob("*")):
        if file.suffix in (".py", ".txt", ".toml", ".json", ".tsv"):
            for line in file.read_text(encoding="utf-8", errors="ignore").splitlines():
                for piece in (line, *line.split('"'), *line.split("'")):
                    yield from (part.strip() for part in (piece, *piece.split("|"), *piece.split("&&")))


def same(command: str) -> bool:
    """Whether the short way was taken; what it finds must be what the parser finds."""
    found = analysis.read_plain(command)
    if found is not None:
        expected = analysis.read_by_grammar(command)
        assert found == expected
        assert [part.argv for part in found.parts] == [part.argv for part in expected.parts]
    return found is not None


@given(st.sampled_from(NAMES), st.lists(st.sampled_from(WORDS), max_size=5))
def test_a_plain_command_is_read_as_the_parser_reads_it(name: str, words: list[str]) -> None:
    same(" ".join([name, *words]))


@given(st.text("abgit ls-/.=:~{}'\"$`\\\t\n#&|;()<>*?![]%+,@^0", max_size=20))
def test_whatever_has_a_meaning_to_the_shell_goes_to_the_parser(text: str) -> None:
    same(text)


def test_every_text_of_our_own_corpus_is_read_the_same_way_by_both() -> None:
    taken = sum(map(same, dict.fromkeys(texts_of_our_tests())))
    assert taken > 100


@pytest.mark.parametrize(
    "text",
    ["ls ~", "ls *", "ls $x", "ls {a,b}", "ls 'a'", "ls a;b", "ls  a", "ls ", " ls", "ls\ta", "ls\na", "a=1 ls", "ls é",
     "ls a\\", "ls #a", "! ls", "if", "ls =x", "echo " + "a" * 200, "", "nosuchprogram -x", "time ls", "sudo ls"],
)  # fmt: skip
def test_these_are_left_to_the_parser(text: str) -> None:
    assert analysis.read_plain(text) is None


@pytest.mark.parametrize("text", ["ls", "ls -la src", "git status", "true 5", "cat a.txt", "grep -rn foo src"])
def test_these_need_no_parser(text: str) -> None:
    assert analysis.read_plain(text) is not None
