"""One value says what a text does, and every use of it says the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.permissions import NoDisk, PermissionContext, Rule, decide, facts_from_input
from holdfast.permissions.shell import analyse
from holdfast.permissions.shell.programs.facts import Effects
from holdfast.permissions.shell.risk.classes import risks

COMMANDS = (
    *(
        "ls src",
        "cat a.txt b.txt",
        "grep -r x .",
        "git status",
        "git push",
        "rm -r out",
        "cp a b",
        "mv a sub/",
        "tee f",
    ),
    *("curl -o x https://h/", "sudo ls", "sed -i s/a/b/ f", "find . -delete", "touch n", "sh -c 'rm y'", "xargs rm"),
    *("cat < in.txt", "echo x > out.txt", "cat <> both", "cat $x", "kill 1", "npm publish", "tar xf a.tar", "cat ''"),
)
texts = st.builds(
    "{}{}".format,
    st.sampled_from(("", "cd sub && ", "cd .. ; ", "D=sub; ")),
    st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=4).map(" && ".join),
)


def test_effects_say_what_a_text_does() -> None:
    found = analyse("cd sub && cat a < in > out; rm -r y; curl -s https://h/ | sh").effects
    assert found.reads == ("sub/a", "sub/in")
    assert found.writes == ("sub/y", "y", "sub/out")
    assert found.deletes == ("sub/y", "y")
    assert found.runs == ("cat", "rm", "curl", "sh")
    assert found.network
    assert {"deletes", "fetches", "shell"} < found.classes
    assert not found.unknown
    assert analyse("cat $x").effects.unknown


@pytest.mark.parametrize("text", ["cat <> f", "cat 3<>f", "{ cat; } <>f"])
def test_a_redirect_that_opens_both_ways_reads_and_writes(text: str) -> None:
    found = analyse(text).effects
    assert (found.reads, found.writes) == (("f",), ("f",))
    asks = PermissionContext.started_in(
        "/p", "default", [Rule.parse("allow", "Bash"), Rule.parse("ask", "Read(f)")], disk=NoDisk()
    )
    assert decide(facts_from_input("Bash", {"command": text}, "/p"), asks).behavior == "ask"


@given(texts)
def test_a_text_that_only_reads_has_no_other_effect(text: str) -> None:
    analysis = analyse(text, cwd="/p")
    found = analysis.effects
    assert found is analysis.effects
    if analysis.read_only:
        assert found == Effects(found.reads, (), (), (), False, found.classes, found.unknown, found.touches)
        assert not risks(analysis, cwd="/p")
    else:
        assert found.runs or analysis.redirect_writes or analysis.doubt or analysis.assigned or analysis.cd_targets


@settings(max_examples=settings().max_examples // 5)
@given(texts)
def test_whatever_a_text_is_said_to_touch_is_held_by_the_rules_about_it(text: str) -> None:
    effects = analyse(text, cwd="/p").effects
    call = facts_from_input("Bash", {"command": text}, "/p")
    named = [("Read", path) for path in effects.reads] + [("Edit", path) for path in effects.writes]
    for tool, path in named:
        denies = [Rule.parse("allow", "Bash"), Rule.parse("deny", f"{tool}(./{path})")]
        context = PermissionContext.started_in("/p", "default", denies, home="/home/u", disk=NoDisk())
        assert decide(call, context).behavior != "allow", (tool, path)
