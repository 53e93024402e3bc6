"""Files that awk programs open themselves."""

import pytest

from holdfast.permissions.shell.programs.inspect import inspect_command
from holdfast.permissions.shell.programs.parsers.awk import awk_files
from holdfast.permissions.shell.words.quoting import known_literal


def opened(*texts: str) -> tuple[tuple[str, ...], bool]:
    found = awk_files([known_literal(text) for text in texts])
    return found.writes, found.understood


@pytest.mark.parametrize(
    ("program", "writes"),
    [
        ('{print > "f"}', ("f",)), ('{print>>"f"}', ("f",)), ('{print $1, $2 > "f"; next}', ("f",)),
        ('{printf "%s", $1 > "f"}', ("f",)), ('{print > ("f")}', ("f",)), ('{print > "d" "/f"}', ("d/f",)),
        ('{print > "\\146"}', ("f",)), ('{print > "f"\n print > "g"}', ("f", "g")), ('{print > "/dev/stderr"}', ()),
        ('{print "x > \\"f\\""}', ()), ("{ if ($1 > 3) print }", ()), ("{print ($1 > 3)}", ()),
    ],
)  # fmt: skip
def test_a_literal_target_of_print_is_a_file_that_is_written(program: str, writes: tuple[str, ...]) -> None:
    assert opened(program, "x") == (writes, True)


@pytest.mark.parametrize(
    "program", ["{print > $1}", '{print > "d/" $1}', "{print > FILENAME}", '{print > f "x"}', '{print $1 > "f']
)
def test_a_target_that_the_text_does_not_tell_is_not_understood(program: str) -> None:
    assert not opened(program, "x")[1]


@pytest.mark.parametrize(
    "texts", [("-v", "f=q", "{print > f}"), ("-vf=q", "{print > f}", "x"), ("{print > f}", "f=q", "x"),
              ('BEGIN {f = "q"} {print > f}', "x")]
)  # fmt: skip
def test_a_variable_stands_for_what_the_text_puts_into_it(texts: tuple[str, ...]) -> None:
    assert opened(*texts) == (("q",), False)


@pytest.mark.parametrize(
    ("texts", "writes"),
    [
        (("-i", "inplace", "1", "f", "g"), ("f", "g")), (("-iinplace", "1", "f"), ("f",)),
        (("--include=inplace", "1", "f"), ("f",)), (("-of", "1", "x"), ("f",)), (("-d", "1", "x"), ("awkvars.out",)),
        (("--profile=f", "1", "x"), ("f",)), (("-e", '{print > "f"}', "x"), ("f",)), (("-f", "lib", "x"), ()),
    ],
)  # fmt: skip
def test_options_write_too(texts: tuple[str, ...], writes: tuple[str, ...]) -> None:
    assert opened(*texts) == (writes, True)


def test_commands_and_reads_of_a_program_are_told() -> None:
    program = 'BEGIN { print | "tee f"; "ls a" | getline x; system("rm b"); while ((getline l < "s") > 0) print l }'
    found = awk_files([known_literal(program)])
    assert set(found.commands) == {"tee f", "ls a", "rm b"}
    assert found.reads == ("s",)
    assert inspect_command("awk", [known_literal(program)]).reads == ("s",)
