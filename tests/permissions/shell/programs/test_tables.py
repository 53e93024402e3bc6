import shlex
from collections.abc import Iterator

import pytest

from holdfast.permissions.shell.programs.inspect import TABLES as BY_TABLE
from holdfast.permissions.shell.programs.inspect import inspect_command
from holdfast.permissions.shell.programs.tool_table import (
    GIT_READS,
    Option,
    Tool,
    compiled,
    find_long,
    parse_options,
)
from holdfast.permissions.shell.words.word import Word

VALUES = {
    "num": "5",
    "count": "5",
    "file": "f.txt",
    "path": "f.txt",
    "out": "out.txt",
    "shown": "log",
    "archive": "a.tar",
}
TABLES = BY_TABLE
EVERY = {**TABLES, **{f"git {name}": tool for name, tool in GIT_READS.items() if name != "ls-remote"}}


def refusal(command: str) -> str | None:
    name, *words = shlex.split(command)
    return inspect_command(name, [Word(word) for word in words]).refusal


def spellings(letter: str, option: Option, tool: Tool) -> Iterator[str]:
    """Every way to write one option."""
    long = len(letter) > 1 and not tool.one_dash and letter[0] != "+"
    flag = letter if letter[0] == "+" else f"--{letter}" if long else f"-{letter}"
    value = tool.columns.split()[0] if option.kind == "column" else VALUES.get(option.kind, "x")
    if option.takes != "value":
        yield flag
        yield f"'{flag}'"
    if option.takes != "none" and not (tool.one_dash and len(letter) > 1):
        yield f"{flag}={value}" if long else f"{flag}{value}"
    if option.takes == "value":
        yield f"{flag} {value}"


def options(tool: Tool, *, allowed: bool) -> Iterator[tuple[str, Option]]:
    short, long = parse_options(tool.options)
    for letter, option in {**short, **long}.items():
        if option.allowed is allowed:
            yield letter, option


def frame(name: str) -> str:
    """Operands that make the rest of a call harmless."""
    tool = EVERY[name]
    needed = {
        "git symbolic-ref": "HEAD",
        "git remote get-url": "origin",
        "git config get": "a.b",
        "git config": "--list",
    }
    if name in needed:
        return needed[name]
    told = "".join(f"{group.split('/')[0]} " for group in tool.needs.split()).replace("-f ", "-f a.tar ")
    return told + {"inner": "5 ls", "members": "a.zip", "variable": "HOME"}.get(tool.operands, "")


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_listed_option_is_accepted_in_every_spelling(name: str) -> None:
    exceptions = {("branch", "format")}
    tool = EVERY[name]
    for letter, option in options(tool, allowed=True):
        if (name, letter) in exceptions or letter == "end-of-options":
            continue
        for spelling in spellings(letter, option, tool):
            if not EVERY[name].glued_values and spelling[:2] != "--" and len(spelling) == 3 and option.kind != "num":
                continue
            assert refusal(f"{name} {spelling} {frame(name)}") is None, spelling


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_known_bad_option_is_refused_in_every_spelling(name: str) -> None:
    tool = EVERY[name]
    harmless = next(
        (letter for letter, found in options(tool, allowed=True) if len(letter) == 1 and found.takes == "none"), ""
    )
    for letter, option in options(tool, allowed=False):
        for spelling in spellings(letter, option, tool):
            assert refusal(f"{name} {spelling} {frame(name)}"), spelling
            if len(letter) == 1 and harmless:
                assert refusal(f"{name} -{harmless}{spelling.strip(chr(39))[1:]} {frame(name)}"), spelling
        for length in range(1, len(letter)):
            if len(letter) > 1:
                assert find_long(compiled(tool), letter[:length]) is not option or refusal(
                    f"{name} --{letter[:length]}=x"
                )


@pytest.mark.parametrize("name", sorted(EVERY))
def test_an_option_outside_the_table_is_refused(name: str) -> None:
    if EVERY[name].optionless:
        return
    short, _ = parse_options(EVERY[name].options)
    assert refusal(f"{name} --no-such-option {frame(name)}")
    unknown = next(letter for letter in "ΩJKYyqQ%" if letter not in short)
    assert refusal(f"{name} -{unknown} {frame(name)}")


@pytest.mark.parametrize("name", sorted(name for name, tool in TABLES.items() if tool.operands != "inner"))
def test_words_known_only_at_run_time_are_fine_for_plain_tools_alone(name: str) -> None:
    unknown = [Word("", static=False, may_be_flag=True)]
    if TABLES[name].least or TABLES[name].needs:
        return
    if TABLES[name].operands == "none":
        assert inspect_command(name, unknown).refusal
    elif TABLES[name].plain:
        assert inspect_command(name, unknown).refusal is None
    else:
        assert inspect_command(name, unknown).refusal


def test_a_word_that_cannot_be_an_option_passes_in_flag_capable_tools() -> None:
    certain = [Word("./", static=False, may_be_flag=False)]
    assert inspect_command("sort", certain).refusal is None
    assert inspect_command("sort", [Word("--"), Word("", static=False)]).refusal is None
    assert inspect_command("sort", [Word("-k"), Word("", static=False)]).refusal


@pytest.mark.parametrize(
    ("command", "accepted"),
    [
        ("tree -L2", True),
        ("tree -L 2", True),
        ("tree -Lo 2 out", False),
        ("tree -Po x out", False),
        ("ag -A -- --pager=x foo", False),
        ("uniq -- -o", False),
        ("rg -- -foo src", True),
        ("rg -e -foo src", True),
        ("sort -t - f", True),
        ("fd -d -x", False),
    ],
)
def test_words_that_a_tool_may_read_as_options_after_all(command: str, accepted: bool) -> None:
    assert (refusal(command) is None) is accepted


def test_a_pattern_of_files_may_not_become_an_output() -> None:
    several = [Word("./", static=False, may_be_flag=False, glob=True)]
    assert inspect_command("uniq", several).refusal
    assert inspect_command("uniq", [Word("--"), Word("", static=False)]).refusal
    assert inspect_command("uniq", [Word("./", static=False, may_be_flag=False)]).refusal is None
    assert inspect_command("xxd", several).refusal


def test_a_secret_word_is_refused_everywhere() -> None:
    assert inspect_command("cat", [Word("", static=False, secret=True)]).refusal


def test_an_unknown_program_is_refused() -> None:
    assert inspect_command("frobnicate", []).refusal == "not known to be read-only"


@pytest.mark.parametrize(
    ("command", "reads", "writes"),
    [
        ("cat a b", ("a", "b"), ()),
        ("sort -o out in", ("in",), ("out",)),
        ("sort --output=out in", ("in",), ("out",)),
        ("grep -rn foo src", ("src",), ()),
        ("grep -rn foo", (".",), ()),
        ("grep -e foo a b", ("a", "b"), ()),
        ("ls", (".",), ()),
        ("rg foo src", ("src",), ()),
        ("fd foo src", ("src",), ()),
        ("find a b -name x", ("a", "b"), ()),
        ("find . -name x -delete", (".",), (".",)),
        ("find . -fprint out", (".",), ("out",)),
        ("sed -n p a", ("a",), ()),
        ("sed -i s/a/b/ a b", ("a", "b"), ("a", "b")),
        ("awk '{print}' a x=1 b", ("a", "b"), ()),
        ("tee a b", (), ("a", "b")),
        ("uniq in out", ("in",), ("out",)),
        ("xxd in out", ("in",), ("out",)),
        ("cp a b c", ("a", "b"), ("c",)),
        ("cp -t d a b", ("a", "b"), ("d",)),
        ("mv a b", (), ("a", "b")),
        ("rm -rf a b", (), ("a", "b")),
        ("mkdir -p a/b", (), ("a/b",)),
        ("chmod +x a", (), ("a",)),
        ("ln -s a b", ("a",), ("b",)),
        ("dd if=a of=b", ("a",), ("b",)),
        ("curl -o x http://h", (), ("x",)),
        ("wget -O x http://h", (), ("x",)),
        ("git rm a b", (), ("a", "b")),
        ("git reset --hard", (), (".",)),
        ("git show HEAD:a/b", ("a/b",), ()),
        ("git diff -- a", ("a",), ()),
        ("git show :/fix", ("fix",), ()),
        ("git grep /api src", ("src",), ()),
        ("git grep -e /api src", ("src",), ()),
        ("git branch --list /x", (".",), ()),
        ("git log --output=x", (".",), ("x",)),
        ("tar -tf a.tar", ("a.tar",), ()),
        ("jq --slurpfile x b.json . a.json", ("a.json", "b.json"), ()),
    ],
)
def test_paths_read_and_written_are_reported(command: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
    name, *words = shlex.split(command)
    facts = inspect_command(name, [Word(word) for word in words])
    assert (facts.reads, facts.writes) == (reads, writes)


def test_a_search_in_a_pipe_reads_the_pipe() -> None:
    assert inspect_command("rg", [Word("foo")], stdin_is_data=True).reads == ()


@pytest.mark.parametrize(
    "command", ["curl http://h", "ping h", "git fetch", "git remote show origin", "getent hosts h", "npm view x"]
)
def test_network_programs_say_so(command: str) -> None:
    name, *words = shlex.split(command)
    facts = inspect_command(name, [Word(word) for word in words])
    assert facts.network
    assert facts.refusal
