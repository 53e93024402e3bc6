"""A list of plain commands is read without the parser, and to the same end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.permissions.shell.text import analysis, emit
from holdfast.permissions.shell.words.word import names

NAMES = sorted(emit.PLAIN_JUDGES)
WORDS = sorted(
    names(
        "-n -5 --oneline src a.py -r -l --stat HEAD log status -i x=y /dev/tty /etc/passwd ../x ./a 3 -C -c --exec"
        " -delete -o out @ : , % -- - . .. / a:b -x -e s/a/b/p --version --help show diff branch -a -D main -print"
        " -name +x -t if in time then -exec PATH -f 1d --output=f -la 0 a^b"
    )
)


QUOTED = [
    "'a b'", '"a b"', "''", '""', "'x'y", 'y"z"', "'$x'", "'`a`'", "'|'", "'&&'", '";"', "'#'", "'!'", '"it\'s"', "'<'",
    "'{print $1}'", "'*.py'", "--x='a b'", "'ls; rm x'", "'\\'", "HEAD~3", "2", "22", "a2",
]  # fmt: skip
LISTED = sorted(
    {
        *NAMES,
        *names(
            "cd pushd popd eval bash sh xargs env sudo time read set unset export local if for do [ /bin/ls ./a nosuch"
        ),
    }
)
REDIRECTS = ["", "", "", " 2>/dev/null", " 2>&1", " 2> /dev/null", " 2>/dev/null 2>&1", " >/dev/null", " 2>&12", " < x"]
OPERATORS = [" | ", " | ", " && ", " || ", "; ", ";", "|", " ; ", "&&", " & ", " |& ", "\n"]


def texts_of_our_tests() -> Iterator[str]:
    for file in sorted(Path(__file__).parents[1].rglob("*")):
        if file.suffix in (".py", ".txt", ".toml", ".json", ".tsv"):
            for line in file.read_text(encoding="utf-8", errors="ignore").splitlines():
                for piece in (line, *line.split('"'), *line.split("'")):
                    yield from (part.strip() for part in (piece, *piece.split("|"), *piece.split("&&")))


def same_list(command: str) -> bool:
    """Whether the list was read without the parser; what is found must be what the parser finds, wherever it starts."""
    for cwd in (None, "/project"):
        found = analysis.read_plain_list(command, cwd)
        if found is None:
            return False
        expected = analysis.read_by_grammar(command, cwd)
        assert found == expected
        assert [part.argv for part in found.parts] == [part.argv for part in expected.parts]
    return True


@given(st.sampled_from(NAMES), st.lists(st.sampled_from(WORDS), max_size=5))
def test_a_plain_command_is_read_as_the_parser_reads_it(name: str, words: list[str]) -> None:
    same_list(" ".join([name, *words]))


def one(name: str, words: list[str], redirect: str) -> str:
    return " ".join([name, *words]) + redirect


COMMANDS = st.builds(
    one, st.sampled_from(LISTED), st.lists(st.sampled_from(WORDS + QUOTED), max_size=4), st.sampled_from(REDIRECTS)
)


@given(COMMANDS, st.lists(st.tuples(st.sampled_from(OPERATORS), COMMANDS), max_size=5))
def test_a_list_of_plain_commands_is_read_as_the_parser_reads_it(first: str, rest: list[tuple[str, str]]) -> None:
    same_list(first + "".join(operator + command for operator, command in rest))


@given(st.text("abgit ls-/.=:~{}'\"$`\\\t\n#&|;()<>*?![]%+,@^0", max_size=20))
def test_whatever_else_a_list_holds_goes_to_the_parser(text: str) -> None:
    same_list(text)


def test_every_text_of_our_own_corpus_is_read_the_same_way_by_both() -> None:
    texts = dict.fromkeys(texts_of_our_tests())
    assert sum(map(same_list, texts)) > 1_000


@pytest.mark.parametrize(
    "text",
    [
        "cd src && make 2>&1 | tail -20",
        "ls -la | sort | uniq -c && cd sub && git log; cat x",
        "cd a && cd b 2>/dev/null | cat x; git status || cat y",
        "cd /proc/self && ls 2>&1 | cat environ",
        "grep -rn 'a | b' src 2>/dev/null | head -5; echo \"done; really\"",
        "grep '<a' x | head; ls",
        "find . -name '*.py' | xargs grep -n x | wc -l",
        "bash -c 'cd x; ls' && git log; sudo rm -r x",
        "cat x 2>/dev/null 2>&1 || false",
        "git show HEAD~3:a.py;ls|wc",
    ],
)  # fmt: skip
def test_these_lists_need_no_parser(text: str) -> None:
    assert same_list(text)


@pytest.mark.parametrize(
    "text",
    ["ls & pwd", "ls |& cat", "ls && $x", "ls; ", "ls | ", "if true; then ls; fi", "ls; done", "export A=1; ls",
     "a=1 ls; b", "ls *; pwd", "(ls); pwd", "{ ls; }; pwd", "! ls; pwd", "ls > x; pwd", "ls < x | cat", "ls ==; pwd",
     "ls a2>/dev/null; pwd", "ls; pwd\nls", "ls #a; pwd", "git log - 2>&1; pwd", "ls é; pwd",
     "grep '<' x 2>&1; pwd", "time ls; pwd", "; ".join(["ls"] * 65),
     "echo " + "a" * 1000 + "; ls"],
)  # fmt: skip
def test_these_lists_are_left_to_the_parser(text: str) -> None:
    assert analysis.read_plain_list(text) is None


@pytest.mark.parametrize(
    "text",
    ["ls ~", "ls *", "ls $x", "ls {a,b}", "ls\ta", "ls\na", "a=1 ls", "ls é", "ls a\\", "ls #a", "! ls", "if", "ls =x",
     "", "time ls"],
)  # fmt: skip
def test_these_are_left_to_the_parser(text: str) -> None:
    assert analysis.read_plain_list(text) is None


@pytest.mark.parametrize("text", ["ls", "ls -la src", "git status", "true 5", "cat a.txt", "grep -rn foo src"])
def test_these_need_no_parser(text: str) -> None:
    assert same_list(text)
