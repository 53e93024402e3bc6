"""Files that sed scripts open themselves."""

import pytest

from holdfast.permissions.shell.programs.inspect import inspect_command
from holdfast.permissions.shell.programs.parsers.sed import ScriptFiles, sed_backups, sed_files
from holdfast.permissions.shell.words.quoting import known_literal


@pytest.mark.parametrize(
    ("script", "writes"),
    [
        ("w f", ("f",)), ("wf", ("f",)), ("W f", ("f",)), ("$!w f", ("f",)), ("/x/w f", ("f",)), ("1,3w f", ("f",)),
        ("s/a/b/w f", ("f",)), ("s/a/b/gw f", ("f",)), ("s/a/b/2pw f", ("f",)), ("s|a|b|w d/f", ("d/f",)),
        ("s/a/b/ew f", ("f",)), ("p;w f", ("f",)), ("w f;p", ("f;p",)), ("w f g", ("f g",)), ("w f\nw g", ("f", "g")),
        ("/x/{p\nw f\n}", ("f",)), ("a text\nw f", ("f",)), ("a\\\nw no\nw f", ("f",)), ("i no\\\nw no\nW f", ("f",)),
        ("s/[/]/b/w f", ("f",)), ("y/ab/ba/;w f", ("f",)), (":l\nw f\nbl", ("f",)), ("w /dev/stdout", ()), ("p", ()),
        ("s/w f/x/", ()), ("/w f/p", ()), ("# w f", ()), ("a w f", ()), ("z;w f", ("f",)), ("F;w f", ("f",)),
    ],
)  # fmt: skip
def test_the_files_of_a_script_are_those_of_its_w_commands(script: str, writes: tuple[str, ...]) -> None:
    found = sed_files(script)
    assert (found.writes, found.understood) == (writes, True)


def test_reads_and_commands_are_told() -> None:
    refusal = "command 'r' is not read-only"
    assert sed_files("r a\nR b\n1e touch c") == ScriptFiles(("a", "b"), (), ("touch c",), refusal=refusal)


@pytest.mark.parametrize("script", ["{p", "s/a/b", "k", "b a b", "s/a/b/q"])
def test_a_script_that_is_not_read_to_its_end_says_so(script: str) -> None:
    assert not sed_files(script).understood


@pytest.mark.parametrize(
    ("suffix", "kept"), [("", []), (".bak", ["d/f.bak"]), ("old_*", ["d/old_f"]), ("bak/*", ["bak/f"])]
)
def test_a_copy_is_kept_under_its_own_name(suffix: str, kept: list[str]) -> None:
    assert list(sed_backups(suffix, ["d/f"])) == kept


@pytest.mark.parametrize(
    ("texts", "reads", "writes"),
    [
        (["-n", "w f", "x"], ("x",), ("f",)),
        (["-e", "p", "-e", "w f", "x"], ("x",), ("f",)),
        (["--expression=w f", "x"], ("x",), ("f",)),
        (["-i.bak", "s/a/b/w f", "x"], ("x",), ("x", "x.bak", "f")),
        (["r s", "x"], ("s", "x"), ()),
        (["s/a/b/", "x"], ("x",), ()),
    ],
)
def test_what_a_script_opens_counts_for_the_call(
    texts: list[str], reads: tuple[str, ...], writes: tuple[str, ...]
) -> None:
    facts = inspect_command("sed", [known_literal(text) for text in texts])
    assert (facts.reads, facts.writes) == (reads, writes)
