"""Text made ready for the grammar: `time` in front of a group, which it does not know, and lines that go on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.permissions.rules.command_index import RuleIndex, compile_bash_rule
from holdfast.permissions.shell.judge.coverage import deny_matches
from holdfast.permissions.shell.text.analysis import analyse
from holdfast.permissions.shell.words.quoting import join_lines


@pytest.mark.parametrize(
    "timed", ["(ls)", "{ ls; }", "for i in 1 2; do ls; done", "while ls; do break; done", "if ls; then ls; fi"]
)
@pytest.mark.parametrize("frame", ["time {}", "pwd; time {}", "pwd && time {}", "{{ time {}; }}", "(time {})"])
def test_what_is_timed_is_read_like_what_is_not(frame: str, timed: str) -> None:
    found = analyse(frame.format(timed))
    assert (found.read_only, found.doubt) == (True, "")
    assert {"time", "ls"} <= set(found.names)
    assert not analyse(frame.format(timed.replace("ls", "touch x"))).read_only


@pytest.mark.parametrize(
    "command", ['echo "time (ms)"', "cat <<'E'\ntime (x)\nE", "# time (x)\nls", "awk '{ time (x) }' f"]
)
def test_the_word_in_quotes_and_comments_is_text(command: str) -> None:
    found = analyse(command)
    assert (found.read_only, len(found.parts)) == (True, 1)


@pytest.mark.parametrize(
    "command", ["! time { cd sub; } || git status", "ls | time { ls; }", "time () { ls; }", "a=1 time { ls; }"]
)
def test_where_it_is_no_keyword_or_is_turned_around_it_is_asked_about(command: str) -> None:
    assert not analyse(command).read_only


def test_rules_see_the_text_as_written() -> None:
    found = analyse('echo "$(time (ls))"')
    assert found.parts[-1].text == 'echo "$(time (ls))"'
    assert deny_matches(RuleIndex([compile_bash_rule("time:*")], exact_words=False), analyse("time { ls; }"))


@given(st.text(alphabet="\\\na '\"", max_size=20))
def test_lines_are_joined_pair_by_pair(text: str) -> None:
    joined, at = "", 0
    while at < len(text):
        step = 2 if text[at] == "\\" else 1
        joined += "" if text[at : at + 2] == "\\\n" else text[at : at + step]
        at += step
    assert join_lines(text) == joined
