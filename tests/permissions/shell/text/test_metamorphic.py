"""Dressing a command up may only make the verdict stricter, and never hides it from a deny rule."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.permissions.rules.command_index import RuleIndex, compile_bash_rule
from holdfast.permissions.shell.judge.coverage import deny_matches
from holdfast.permissions.shell.text.analysis import analyse

READING = [
    "ls -la",
    "cat a.txt",
    "git status",
    "grep -rn x src",
    "wc -l a b",
    "head -5 f",
    "find . -name x",
    "sort f | uniq -c",
    "pwd",
]
CHANGING = [
    "rm -rf x",
    "touch y",
    "git push",
    "curl example.com",
    "ls > out",
    "x=1",
    "eval ls",
    "./run",
    "python3 s.py",
    "kill 1",
    "sed -i s/a/b/ f",
]
DRESSES = [
    "{0}; true", "true && {0}", "false || {0}", "{{ {0}; }}", "( {0} )", "! {0}", "if {0}; then :; fi",
    "if true; then {0}; fi", "while {0}; do break; done",
    "for i in 1 2; do {0}; done", "case a in a) {0};; esac", 'echo "$({0})"', "echo $({0})", "cat <({0})", "{0} | cat",
    "{0} 2>/dev/null", "{0} &", "{0} # comment",
    "# comment\n{0}", "{0}\ntrue", "[[ -n $({0}) ]]", 'test -n "$({0})"', "cat <<E\n$({0})\nE",
    "cat <<'E'\ntext\nE\n{0}", "  {0}  ", "time {0}",
]  # fmt: skip
STRICTER = [
    "sudo {0}", "FOO=1 {0}", "PATH=. {0}", "env A=b {0}", "bash -c '{0}'", "f() {{ {0}; }}; f", "x=$({0})",
    "{0} > out", "cd sub; {0}; touch z", "eval '{0}'",
    "export A=$({0})", "trap '{0}' EXIT", "exec {0}", "watch {0}",
]  # fmt: skip

commands = st.sampled_from(READING + CHANGING)
dresses = st.lists(st.sampled_from(DRESSES), max_size=4)


def dress(command: str, forms: list[str]) -> str:
    for form in forms:
        command = form.format(command)
    return command


@settings(max_examples=max(400, settings().max_examples))
@given(commands, dresses)
def test_a_dress_never_makes_a_change_read_only(command: str, forms: list[str]) -> None:
    if analyse(dress(command, forms)).read_only:
        assert analyse(command).read_only


@settings(max_examples=max(300, settings().max_examples))
@given(
    st.sampled_from(READING), st.lists(st.sampled_from([form for form in DRESSES if "<<E\n" not in form]), max_size=2)
)
def test_transparent_syntax_keeps_reading_read_only(command: str, forms: list[str]) -> None:
    text = dress(command, forms)
    analysis = analyse(text)
    assert analysis.read_only or analysis.doubt, f"{text!r}: {analysis.reason}"


@settings(max_examples=max(300, settings().max_examples))
@given(commands, st.sampled_from(STRICTER), dresses)
def test_unsafe_dresses_are_never_read_only(command: str, unsafe: str, forms: list[str]) -> None:
    assert not analyse(dress(unsafe.format(command), forms)).read_only


@settings(max_examples=max(400, settings().max_examples))
@given(dresses, st.sampled_from([*STRICTER, "{0}"]))
def test_a_deny_survives_every_dress(forms: list[str], unsafe: str) -> None:
    analysis = analyse(dress(unsafe.format("rm -rf x"), forms))
    index = RuleIndex([compile_bash_rule("rm:*")], exact_words=False)
    assert deny_matches(index, analysis) is not None


QUOTINGS = ["{0}", "'{0}'", '"{0}"', "\\{0}", "{1}''{2}", '{1}"{2}"', "$'{0}'", "{1}\\\n{2}", "{1}'{2}'"]


@pytest.mark.parametrize("style", QUOTINGS)
@pytest.mark.parametrize("flag", ["-delete", "-exec", "-fprint"])
def test_quoting_a_flag_never_hides_it(style: str, flag: str) -> None:
    spelled = style.format(flag, flag[:3], flag[3:])
    assert not analyse(f"find . {spelled} x").read_only


@pytest.mark.parametrize(
    "style",
    [*QUOTINGS, "$x", "-{{delete,print}}", "-del*", "$(echo -delete)", "`echo -delete`", "-d[e]lete", "-delet?"],
)
def test_dynamic_words_never_hide_a_flag(style: str) -> None:
    assert not analyse("find . " + style.format("-delete", "-de", "lete")).read_only


@pytest.mark.parametrize("quote", ["'", '"', ""])
@pytest.mark.parametrize("slashes", ["", "\\", "\\\\", "\\\\\\"])
@pytest.mark.parametrize("operator", [";", "&&", "|", "\n", "&"])
def test_backslashes_and_quotes_hide_no_command(quote: str, slashes: str, operator: str) -> None:
    for text in (f"echo {quote}a{slashes}{quote} {operator} rm x", f"echo a{slashes} {operator} rm x"):
        analysis = analyse(text)
        seen = any(part.name == "rm" for part in analysis.parts)
        inside = any("rm x" in word.text for part in analysis.parts for word in part.argv)
        assert seen or analysis.doubt or inside
        assert not analysis.read_only or not seen
