import os
import random
import subprocess
from pathlib import Path

import pytest

from holdfast.lib.gitignore import Pattern, Shape, as_bytes_text, fold_case, strip_trailing_spaces

ATOMS = [
    *("a", "b", "ab", "foo", "*", "**", "?", "/", "/", "/**", "**/", "[ab]", "[!a]", "\\a", "\\*", ".", "é", "[a-c]"),
    *("[]a]", "[[:alpha:]]", "[[:nope:]]", "[[:digit:]x]", "[[:]", "[a/b]", "***", "\\/", "-", "[b-", "[^b]", "x", "A"),
    *(" ", "#", "!", "\\", "[\\]a]", "[a-\\c]", "[a-", "[z-a]", "[[", "{a,b}"),
]
NAMES = [
    *("a", "b", "ab", "foo", "aa", "ba", ".a", "é", "x", "*", "-", "A", "abab", "foob", "a b", "[b-", "]", "c", "!a"),
    *("#", "\\a", "[", "a:", "1", "{a,b}"),
]
PAIRS = int(os.environ.get("HOLDFAST_GITIGNORE_PAIRS", "30000"))
"""`make fuzz` sets 200000."""


def git_ignored(repository: Path, pattern: str, paths: list[str]) -> set[str]:
    (repository / ".gitignore").write_text(pattern + "\n", encoding="utf-8")
    done = subprocess.run(
        ["git", "-C", str(repository), "check-ignore", "--stdin", "-z", "--no-index"],
        input="\0".join(paths).encode(),
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert done.returncode in (0, 1), done.stderr
    return {name.decode() for name in done.stdout.split(b"\0") if name}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    return tmp_path


@pytest.mark.slow
def test_random_pairs_get_the_answer_of_git(repository: Path) -> None:
    rng = random.Random(20260815)
    paths = sorted({"/".join(rng.choice(NAMES) for _ in range(rng.randint(1, 5))) for _ in range(300)})
    for _ in range(max(1, PAIRS // len(paths))):
        pattern = "".join(rng.choice(ATOMS) for _ in range(rng.randint(1, 7))).lstrip("#")
        stripped = strip_trailing_spaces(pattern)
        compiled = Pattern(stripped)
        ours = {path for path in paths if stripped and not compiled.negated and compiled.matches(path)}
        assert ours == git_ignored(repository, pattern, paths), pattern


@pytest.mark.parametrize("pattern", ["build/", "a/build/", "**/b/", "*/", "a/**/", "build**/x/"])
def test_directory_patterns_get_the_answer_of_git_on_real_directories(repository: Path, pattern: str) -> None:
    for directory in ("build", "a/build", "x/b/c", "a/q"):
        (repository / directory).mkdir(parents=True, exist_ok=True)
    for file in ("a/b", "build/f", "x/b/c/f"):
        (repository / file).write_text("")
    paths = ["build", "a/build", "x/b", "x/b/c", "a/b", "build/f", "x/b/c/f", "a", "a/q", "buildx", "a/none"]
    compiled = Pattern(pattern)
    ours = {path for path in paths if compiled.matches(path, is_dir=(repository / path).is_dir())}
    assert ours == git_ignored(repository, pattern, paths)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.env", "a/b/.env", True),
        ("d/**", "d", False),
        ("d/**", "d/x/y", True),
        ("d", "d/x/y", True),
        ("/d", "x/d", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b/c", True),
        ("a/*/b", "a/x/y/b", False),
        ("?", "é", False),
        ("??", "é", True),
        ("foo**/bar", "foobar", True),
        ("foo**/bar", "foox/y/bar", True),
        ("!a", "a", True),
        ("x\\", "x\\", False),
        ("[a", "a", False),
        ("a//b", "a/b", False),
        ("/", "a", False),
        ("", "a", False),
    ],
)
def test_known_answers(pattern: str, path: str, expected: bool) -> None:
    assert Pattern(pattern).matches(path) is expected


def test_a_broken_pattern_says_that_it_never_matches() -> None:
    assert [Pattern(text).never for text in ("[a", "a\\", "a//b", "/", "ok", "a/ok")] == [True] * 4 + [False] * 2


@pytest.mark.parametrize(
    ("line", "kept"),
    [("a  ", "a"), ("a\\ ", "a\\ "), ("a\\  ", "a\\ "), ("a b", "a b"), ("   ", ""), ("a \\", "a \\"), (" a ", " a")],
)
def test_trailing_spaces_go_unless_escaped(line: str, kept: str) -> None:
    assert strip_trailing_spaces(line) == kept


def test_text_that_is_not_ascii_is_compared_as_bytes() -> None:
    assert as_bytes_text("é") == "\xc3\xa9"
    assert as_bytes_text("\udcff") == "\xff"
    assert len(as_bytes_text("\ud800")) == 3
    assert Pattern("\udcff*").matches("\udcffx")


def test_folding_makes_equal_what_a_case_insensitive_disk_makes_equal() -> None:
    assert fold_case("SECRET.Env") == "secret.env"
    assert fold_case("ÉCOLE") == fold_case("e\u0301cole")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 400 + "b", "a" * 100_000),
        ("*" + "?" * 400 + "b*c", "a" * 100_000),
        ("*" + "[ab]" * 400 + "b*c", "a" * 100_000),
        ("**/a" * 400 + "/b", "a/" * 50_000 + "a"),
        ("**/" + "a/" * 400 + "b", "a/" * 50_000 + "a"),
        ("**/" + "*a/" * 400 + "b", "a/" * 50_000 + "a"),
        ("a/" * 2000 + "*", "a/" * 50_000),
        ("[" * 4000, "[" * 100_000),
    ],
)
def test_attacks_on_the_matcher_end_soon(pattern: str, path: str) -> None:
    Pattern(pattern).matches(path)


def test_the_shape_of_a_pattern_names_its_literal_parts() -> None:
    texts = ("name", "a/b/*.c", "**/dir/x*", "*.pem", "foo**/bar", "[x", "/")
    assert [Pattern(text).shape() for text in texts] == [
        Shape(components=("name",)),
        Shape(("a", "b"), ("a", "b"), (), (".c",)),
        Shape((), ("dir",), ("x",), ()),
        Shape(tails=(".pem",)),
        Shape(),
        Shape(),
        Shape(),
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*" + "?" * 40 + "z*", "a" * 50 + "z", True),
        ("*" + "?" * 40 + "z*", "a" * 50, False),
        ("*" + "[ab]" * 40 + "c*", "ab" * 25 + "c", True),
        ("*[ab]c*", "xxbcx", True),
        ("*[ab]c*", "xxcx", False),
        ("*[c-a]*", "b", False),
        ("a[[:space:]]b*", "a b", True),
        ("x[\\", "x", False),
        ("x[a-\\", "x", False),
        ("x[[:alpha:", "x", False),
        ("foo**\\/bar", "foox/bar", True),
        ("foo**\\/bar", "foobar", False),
        ("foo**x/bar", "foox/bar", True),
    ],
)
def test_long_and_odd_patterns(pattern: str, path: str, expected: bool) -> None:
    assert Pattern(pattern).matches(path) is expected
