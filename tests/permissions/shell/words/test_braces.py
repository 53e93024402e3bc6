"""Words that bash makes of braces."""

import random
import subprocess

import pytest

from holdfast.permissions.shell.words.expansion import spread
from holdfast.permissions.shell.words.patterns import MAX_BRACE_WORDS, brace_words

FORMS = [
    "a", "a{b,c}", "{a,b}c", "{a,b}{c,d}", "a{b,{c,d}}e", "a{b,}", "{,a}b", "n{1..3}", "n{3..1}", "n{01..03}",
    "n{1..9..3}", "n{-1..1}", "{a..e..2}", "{c..a}", "{a}", "{}", "a{b", "a}b", "{a,b", "a,b}", "{a,b}}", "{{a,b}",
    "{{a,b},c}", "x{a,b}y{1..2}z", "{a..}", "{..a}", "{1..a}", "{a,b}.{c,d}.{e,f}", "{a{1..2},b}", "{1..2}{a,b}",
    "{,}x", "a{,,}b", "{-01..1}", "{a,b}{", "}{a,b}", "out/{new,b2}", "{out,sub}/n", "{1..3..0}", "{3..1..-1}",
]  # fmt: skip


def test_bash_makes_the_same_words() -> None:
    script = "\n".join(f"printf '%s ' {form}; echo" for form in FORMS)
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20, check=True).stdout
    for form, line in zip(FORMS, told.split("\n"), strict=False):
        found = brace_words(form)
        assert found is not None
        assert " ".join(filter(None, found)) == " ".join(line.split()), form


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("'a,b'{c,d}", ["'a,b'c", "'a,b'd"]),
        ('{"a,b",c}', ['"a,b"', "c"]),
        (r"{a\,b,c}", [r"a\,b", "c"]),
        ('"{a,b}"', ['"{a,b}"']),
        ("${X}{a,b}", ["${X}a", "${X}b"]),
        ("$(echo {a,b}){c,d}", ["$(echo {a,b})c", "$(echo {a,b})d"]),
        ("`x,y`{c,d}", ["`x,y`c", "`x,y`d"]),
    ],
)
def test_quotes_and_expansions_are_left_alone(form: str, words: list[str]) -> None:
    assert brace_words(form) == words


@pytest.mark.parametrize(
    "form", ["{1..100000}", "{1..999999999}", "{a,b}" * 20, "{" * 5_000, "{1..17}{1..17}", "{a,b}" * 8 + "x" * 200_000]
)
def test_too_many_words_are_not_told(form: str) -> None:
    assert brace_words(form) is None


def test_as_many_words_as_are_followed_are_told() -> None:
    found = brace_words("{1..256}")
    assert found is not None
    assert len(found) == MAX_BRACE_WORDS


ODD = [
    "{x}b,.env}", "{a}b}c,d}", "{{x}b,.env}", "{x}b,{c}d,e}", "p{x}b,.env}s", "{1..2}b,c}", "{}a,b}", "{},a}", "a{},b}",
    "{a{b}c,d}", "{a,b}{c}d,e}", "{{}a,b}", "{a..}b,c}", "{..a}b,c}", "{a..{b,c}}", "{a..{1..2}}x", "{1..x}{a,b}",
    "x{}{a,b}",
]  # fmt: skip


PIECES = ["{", "{", "}", "}", ",", ",", "a", "b", "1..3", "..", ".env", "x"]
QUOTED = [
    *PIECES,
    "'a,b'",
    '"c}"',
    "\\,",
    "${X}",
    "${X:-{a,b}}",
    "03..1",
    "-2..2..2",
    "$(echo a,b)",
    "`echo a,z`",
    "'{'",
    '"$X,"',
]


def drawn(count: int, pieces: list[str]) -> list[str]:
    chance = random.Random(4)
    return ["".join(chance.choice(pieces) for _ in range(chance.randint(3, 11))) for _ in range(count)]


def printed(lines: list[str]) -> list[str]:
    script = "X=v\n" + "\n".join(lines)
    return subprocess.run(["bash"], input=script, capture_output=True, text=True, timeout=20, check=True).stdout.split(
        "\n"
    )


def test_words_with_quotes_and_expansions_in_them_are_made_as_bash_makes_them() -> None:
    forms = [form for form in drawn(1_500, QUOTED) if brace_words(form) is not None]
    told = printed([f"printf '%s|' {form}; echo" for form in forms])
    ours = printed(["set +B", *(f"printf '%s|' {' '.join(brace_words(form) or ())}; echo" for form in forms)])
    assert [pair for pair in zip(forms, told, ours, strict=False) if pair[1] != pair[2]] == []


def test_every_reader_of_braces_reads_them_as_bash_does() -> None:
    forms = [*ODD, *drawn(1_500, PIECES)]
    script = "\n".join(f"printf '%s ' {form}; echo" for form in forms)
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20, check=True).stdout
    for form, line in zip(forms, told.split("\n"), strict=False):
        words = line.split()
        assert [word for word in brace_words(form) or () if word] == words, form
        assert set(words) <= set(brace_words(form, 1_024, ranges_as_patterns=True) or ()), form
        assert set(words) <= set(spread(form, "/home").names), form


def test_too_many_braces_are_not_followed() -> None:
    for form in ("{" * 10_000, "{a,b}" * 40, "{a," * 60 + "}" * 60 + "{a,b}" * 9, "{x}" * 5_000):
        assert brace_words(form) is None
        assert brace_words(form, 1_024, ranges_as_patterns=True) is None
        assert spread(form, "/home").untold
