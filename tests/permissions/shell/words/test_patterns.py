import random
import shutil
import subprocess

import pytest

from holdfast.permissions.shell.words.patterns import brace_words, fits, matches_text, takes_all

BASH = shutil.which("bash") or "/bin/bash"
FORMS = [
    "{a,b}",
    "{a,b}{c,d}",
    "x{a,b{c,d}}y",
    "{a}",
    "{}",
    "{a,b",
    "a}b{c,d}",
    "{{a,b}",
    "{a,{b}",
    "{,a}",
    "{a..e}",
    "{e..a}",
    "{1..4}",
    "{4..1}",
    "{-2..2}",
    "{01..03}",
    "{1..a}",
    "{a..}",
    "'{a,b}'",
    '"{a,b}"',
    "\\{a,b}",
    "{'a,b',c}",
    "{a\\,b,c}",
    "/{u,}sr",
    "..{,/}",
    ".{.,x}",
    "{~,x}",
    "a{b,c}d{e,f}g",
]


def by_bash(forms: list[str]) -> list[list[str]]:
    """What bash makes of each form."""
    script = "\n".join(f"printf '%s\\0' {form}; printf '\\n'" for form in forms)
    told = subprocess.run([BASH, "-f", "-c", script], capture_output=True, check=True, timeout=20, env={"HOME": "~"})
    return [sorted(line.split("\0")[:-1]) for line in told.stdout.decode().split("\n")[:-1]]


def unquoted(words: list[str] | None) -> list[str]:
    assert words is not None
    return sorted(word.translate(str.maketrans("", "", "'\"\\")) for word in words)


def made_up(seed: int) -> str:
    chance = random.Random(seed)
    return "".join(
        chance.choice(["{", "}", ",", "a", "b", "/", "1..3", "..", "x"]) for _ in range(chance.randint(2, 14))
    )


def test_braces_become_the_words_that_bash_makes() -> None:
    forms = FORMS + [made_up(seed) for seed in range(300)]
    ours = [unquoted(brace_words(form)) for form in forms]
    differing = [
        (form, one, two) for form, one, two in zip(forms, ours, by_bash(forms), strict=True) if two not in (one, [""])
    ]
    assert [entry for entry in differing if not set(entry[2]) <= set(entry[1])] == []


def test_braces_of_an_expansion_are_left_to_it() -> None:
    assert brace_words("${HOME}") == ["${HOME}"]
    assert brace_words("${HOME}{,}") == ["${HOME}", "${HOME}"]
    assert sorted(brace_words("{${HOME},$(echo {a,b})}") or ()) == ["$(echo {a,b})", "${HOME}"]


def test_a_long_range_is_a_pattern_and_too_many_words_are_not_followed() -> None:
    assert brace_words("out{1..99999}", ranges_as_patterns=True) == ["out[0-9-]*"]
    assert brace_words("{a,b}" * 12) is None
    assert brace_words("{a," * 900 + "}" * 900) is None


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (".g*", ".git"),
        (".gi?", ".git"),
        (".[g]it", ".git"),
        (".[!a]it", ".git"),
        (".[^a]it", ".git"),
        ("*", "x"),
        (".GIT", ".git"),
        ("w[]s]", "ws"),
        ("w[a-z]", "ws"),
        ("[[:alpha:]]s", "ws"),
        ("@(a|ws)", "ws"),
        ("[", "["),
        ("a[", "a["),
        ("*" * 40 + "a", "ba"),
        ("?" * 513, "x"),
    ],
)
def test_a_pattern_fits_a_name(pattern: str, name: str) -> None:
    assert fits(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("*", ".git"),
        ("?git", ".git"),
        ("[.]git", ".git"),
        (".[a-f]*", ".git"),
        ("w[!s]", "ws"),
        ("w", "ws"),
        ("", "x"),
        ("*a*a*a*a*a*a*a*a*b", "a" * 200),
    ],
)
def test_a_pattern_leaves_other_names(pattern: str, name: str) -> None:
    assert not fits(pattern, name)


def test_a_wildcard_takes_a_leading_dot_only_when_the_shell_is_told_so() -> None:
    assert fits("?git", ".git", dotted=True)
    assert matches_text("*/x", "/a/.b/x")


@pytest.mark.parametrize("pattern", ["*", "?*", "[a-z]*", "[!.]*", ".*", ".?*", "**", "!(keep)", "*[!x]"])
def test_some_patterns_stand_for_nearly_everything(pattern: str) -> None:
    assert takes_all(pattern)


@pytest.mark.parametrize("pattern", ["*.o", "*.*", "[0-9]*", "build*", ".*cache", "*_cache", "x", ".git"])
def test_others_for_some(pattern: str) -> None:
    assert not takes_all(pattern)
