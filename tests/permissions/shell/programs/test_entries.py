"""The entries of programs: what they may say, that names of one program are judged alike, that doubt never helps."""

import pytest

from holdfast.permissions import NoDisk, PermissionContext, Rule, decide, facts_from_input
from holdfast.permissions.shell import analyse, critical_removal, high_risk
from holdfast.permissions.shell.programs.inspect import OWN_RULES
from holdfast.permissions.shell.programs.program import FIELDS, PROGRAMS, ROLES, EntryError, having, read_entries, told
from holdfast.permissions.shell.programs.tool_table import TOOLS, parse_options

DENY = (
    "Bash(npm publish *)",
    "Bash(docker push *)",
    "Bash(kubectl delete *)",
    "Bash(git push *)",
    "Read(.env)",
    "Edit(locked/**)",
)
FILES = DENY[-2:]
POLICIES = (("auto", DENY), ("default", ("allow", *DENY)))
ALIKE = (("auto", FILES), ("default", ("allow", *FILES)))
"""Without rules about programs by their names."""
CALLS = (
    "{} .env",
    "{} --help",
    "{}",
    "{} -rf / x",
    "{} push origin",
    "{} -x y -o out/z a",
    "cat a | {} - b",
    "find . -name x -exec {} {{}} +",
    "curl -s https://x.io/i | {}",
    "{} $X 'rm -rf x' > locked/y",
)
OF_GIT = "git:"
ENTRIES = list({id(program): program for program in PROGRAMS.values()}.values())
SEVERAL = [program for program in ENTRIES if len(program.names) > 1 and not program.names[0].startswith(OF_GIT)]
FIRST = {program.names[0] for program in ENTRIES if not program.names[0].startswith(OF_GIT)}
LETTERS_FIRST = {"tar", "gtar", "bsdtar", "star", "ar", "ps"}
"""Their first word holds letters of options, but not behind another option."""


def contexts(policies: tuple[tuple[str, tuple[str, ...]], ...]) -> list[PermissionContext]:
    found: list[PermissionContext] = []
    for mode, rules in policies:
        parsed = [Rule.parse("allow", "Bash") if text == "allow" else Rule.parse("deny", text) for text in rules]
        found.append(PermissionContext.started_in("/project", mode, parsed, home="/home/user", disk=NoDisk()))
    return found


CONTEXTS = contexts(POLICIES)
NAMELESS = contexts(ALIKE)


def verdicts(text: str, contexts: list[PermissionContext] = CONTEXTS) -> list[str]:
    return [decide(facts_from_input("Bash", {"command": text}, "/project"), context).behavior for context in contexts]


def judged(text: str) -> tuple[object, ...]:
    analysis = analyse(text, cwd="/project")
    critical = critical_removal(analysis, cwd="/project") is not None
    risk = (high_risk(analysis, cwd="/project") or "").partition(":")[0]
    return (
        analysis.read_only,
        bool(analysis.doubt),
        analysis.effects.network,
        analysis.kind,
        critical,
        risk,
        *verdicts(text, NAMELESS),
    )


@pytest.mark.parametrize("program", SEVERAL, ids=lambda program: program.names[0])
def test_all_names_of_an_entry_are_judged_alike(program: object) -> None:
    first, *others = getattr(program, "names")  # noqa: B009 - a parameter of pytest has no type
    for call in CALLS:
        known = judged(call.format(first))
        for name in others:
            assert judged(call.format(name)) == known, f"{call.format(name)!r} and {call.format(first)!r}"


@pytest.mark.parametrize("name", sorted(FIRST - LETTERS_FIRST))
def test_an_option_that_nobody_knows_never_makes_a_call_safer(name: str) -> None:
    for call in (
        "{}{} .env",
        "{}{} publish x",
        "{}{} push x",
        "{}{} delete x",
        "{}{} -rf x",
        "{}{} rm x",
        "{}{} -e x a",
    ):
        plain = verdicts(call.format(name, ""))
        for option in (" --zz-unknown", " --zz-unknown v"):
            text = call.format(name, option)
            assert not [1 for one, two in zip(plain, verdicts(text), strict=True) if two == "allow" != one], text


def test_every_role_and_field_is_used_and_told_by_the_entries() -> None:
    assert {role for program in ENTRIES for role in program.roles} == ROLES.keys()
    assert {field.split(" ")[0] for program in ENTRIES for field in program.fields} == FIELDS.keys()


@pytest.mark.parametrize(
    ("text", "told_so"),
    [
        ("tool = wonderful", "unknown role or field 'wonderful'"),
        ("tool = lists; colour: red", "unknown role or field 'colour'"),
        ("tool lists", "write `names = roles"),
        ("tool = table:; options: @nothing", "@nothing must stand above"),
    ],
)
def test_an_entry_that_cannot_be_read_says_why(text: str, told_so: str) -> None:
    with pytest.raises(EntryError, match=told_so):
        list(read_entries(text))


def test_a_role_that_nobody_knows_is_an_error_where_it_is_asked_for() -> None:
    with pytest.raises(EntryError):
        having("lists", "wonderful")
    with pytest.raises(EntryError):
        told("colour")


def test_an_entry_goes_on_in_indented_lines_and_uses_pieces() -> None:
    (found,) = read_entries("@all = -a|--all\n# a remark\none two = lists; table: plain;\n    options: -x @all\n")
    assert found.names == ("one", "two")
    assert found.roles == {"lists"}
    assert found.fields == {"table": "plain", "options": "-x -a|--all"}


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_the_options_of_every_entry_can_be_read(name: str) -> None:
    short, long = parse_options(TOOLS[name].options)
    assert all(len(letter) == 1 or letter.isascii() for letter in (*short, *long))


@pytest.mark.parametrize("place", sorted({*OWN_RULES.values(), *told("opens").values()}))
def test_every_parser_that_an_entry_names_is_there(place: str) -> None:
    from importlib import import_module  # noqa: PLC0415 - only here

    module, _, function = place.partition(":")
    assert callable(getattr(import_module(f"holdfast.permissions.shell.programs.{module}"), function))


EXAMPLES = [
    (one.removeprefix("! "), not one.startswith("! "))
    for program in ENTRIES
    for one in program.fields.get("examples", "").split(" | ")
    if one
]


@pytest.mark.parametrize(("text", "reads"), EXAMPLES)
def test_the_examples_of_the_entries_are_judged_as_they_say(text: str, reads: bool) -> None:
    assert analyse(text).read_only is reads, analyse(text).reason
