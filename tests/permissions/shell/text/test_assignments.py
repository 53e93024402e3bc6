"""Assignments that stand alone: what the text itself uses is like a loop that goes round once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.permissions.shell.text.analysis import analyse

READING = [
    "D=src; ls $D",
    "N=3; head -n $N file",
    'X=$(cat f); echo "$X"',
    "F=$(git rev-parse HEAD); git show $F",
    'name=foo\ngrep -rn "$name" .',
    "A=1; B=2; echo $A ${B}",
    "D=src; for f in $D/*.py; do wc -l $f; done",
    "D=src && ls $D",
    "D=src && find $D -name x",
    "D=src || find $D -name x",
    "true && D=src && ls $D",
    "if true; then D=src; fi; ls $D",
    'count=$(ls | wc -l) && echo "$count"',
    'for f in *.md; do t=$(grep -c x "$f"); echo "$f: $t"; done',
    "while read -r l; do n=${l%%:*}; echo $n; done < f",
    "BASE=$(git merge-base main HEAD) && git diff $BASE..HEAD",
    "D=-delete; D=src && true | cat; find . $D",
]
ASKED = [
    "FILE=src/a.py",
    "X=1; ls",
    "D=src & find $D",
    "D=src | find $D",
    "(D=src); find $D",
    "true && D=src && find $D",
    "if true; then D=src; fi; find $D",
    "D=src && ls $D; find $D",
    "if true; then D=/dev; fi; cat $D/zero",
    "D=/dev && cat $D/zero",
    "for f in a b; do cat $D; D=/dev/zero; echo $D; done",
    "for f in a; do D=-delete; find . $D; done",
    "false && token=x; echo $token",
    "i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; done",
    "OPENAI_X=1 && echo $OPENAI_X",
    "D=-delete; D=src && true & find . $D",
    "D=-delete; (D=src && true); find . $D",
    "D=-delete; { D=src && true; } & find . $D",
    "D=-delete; { D=src && true; } | cat; find . $D",
    "D=-delete; true | D=src && true; find . $D",
    "D=-delete; false && D=src && true; find . $D",
    "D=-delete; while false; do D=src && true; done; find . $D",
    "D=-delete; D=src && true 2>f | cat; find . $D",
    "D=a; D+=b; ls $D",
    "D=(a b); ls $D",
    "D[0]=x; ls $D",
    "D=rm; $D x",
    "D=src; rm $D",
    "PATH=.; echo $PATH; ls",
    "RIPGREP_CONFIG_PATH=x; echo $RIPGREP_CONFIG_PATH; rg foo",
    "IFS=x; echo $IFS",
    "HOME=/x; cat $HOME/f ~/f",
    "LD_PRELOAD=./x.so; echo $LD_PRELOAD",
    'D=-delete; find . "$D"',
    "D=/dev/zero; cat $D",
    "D=src; D=/dev/zero; cat $D",
    "D=/proc/1/environ; cat $D",
    "D='a[$(id)]'; echo $((D)) $D",
    "D='a[$(id)]'; [[ $D -eq 0 ]]",
    "D='a[$(id)]'; test -v $D",
    "D='--pre=./evil'; rg \"$D\" foo",
    "O='-o out'; sort $O in",
    "E=--ext-diff; git diff $E",
    "S='1e id'; sed \"$S\" f",
    "S='BEGIN{system(\"id\")}'; awk \"$S\" f",
    "D='$(id)'; echo \"${D@P}\"",
    'D=x; eval "$D"',
    "X=$(./evil); echo $X",
    "declare -n D=IFS; D=x; echo $D",
]  # fmt: skip
VALUES = [
    "src",
    "3",
    "-n",
    "--pre=./x",
    "''",
    "'a b'",
    "'*'",
    "/dev/zero",
    "~/x",
    "../x",
    "a:~/b",
    "$(cat f)",
    "'a[$(id)]'",
]
BODIES = [
    "ls $D", 'ls "$D"', "cat $D", 'cat -- "$D"', "head -n $D f", "find . $D", "rg $D x", "grep -e $D f", "echo $((D))",
    "echo $(($D))", "[[ $D -eq 1 ]]", "[ $D = x ]", "test -v $D", "sort $D f", 'sed -n "$D" f', "git show $D",
    "git log $D", "cd $D; cat f", "cat < $D", "echo ${#D} > /dev/null", "wc -l $D/*.py", "printf '%s' $D", "printf $D",
    "$D f", "jq $D f",
]  # fmt: skip
NESTS = [
    "false && {0}; {1}", "if true; then {0}; fi; {1}", "for x in a b; do {0}; {1}; done", "{0} & {1}", "({0}); {1}",
    "while read -r x; do {0}; done < f; {1}", "case a in b) {0};; esac; {1}", "true | {0}; {1}", "{0} | cat; {1}",
]  # fmt: skip


@pytest.mark.parametrize("text", READING)
def test_a_variable_that_the_text_itself_uses_may_be_set(text: str) -> None:
    analysis = analyse(text)
    assert analysis.read_only, analysis.reason


@pytest.mark.parametrize("text", ASKED)
def test_a_variable_that_may_steer_something_is_asked_about(text: str) -> None:
    assert not analyse(text).read_only


@given(st.sampled_from(VALUES), st.sampled_from(BODIES), st.sampled_from(["; ", "\n", " && ", " || "]))
def test_an_assignment_passes_only_where_a_loop_over_its_value_does(value: str, body: str, between: str) -> None:
    if analyse(f"D={value}{between}{body}").read_only:
        loop = analyse(f"for D in {value}; do {body}; done")
        assert loop.read_only, f"{value!r}, {body!r}: {loop.reason}"


@given(st.sampled_from(VALUES), st.sampled_from(BODIES), st.sampled_from(NESTS))
def test_an_assignment_that_may_not_happen_says_no_more_than_an_unknown_variable(
    value: str, body: str, nest: str
) -> None:
    if analyse(nest.format(f"D={value}", body)).read_only:
        unknown = analyse(nest.format("true", body))
        assert unknown.read_only, f"{value!r}, {body!r}: {unknown.reason}"
