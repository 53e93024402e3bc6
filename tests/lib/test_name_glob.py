import fnmatch
import glob
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lib.name_glob import fnmatchcase, matching_paths

PIECES = st.sampled_from(
    [*"ab-]!^[\\.&~|\n", "*", "*", "?", "[", "[!", "[a-b]", "[!a]", "[]-a]", "[b-a]", "[!b-a]", "**"]
)


@pytest.mark.skipif(sys.version_info < (3, 11, 5), reason="the standard module matches wrongly there")
@given(st.lists(st.sampled_from("ab-]!^[\\.&\n"), max_size=8), st.lists(PIECES, max_size=8))
def test_a_name_fits_as_the_standard_library_says(letters: list[str], pieces: list[str]) -> None:
    name, pattern = "".join(letters), "".join(pieces)
    assert fnmatchcase(name, pattern) == fnmatch.fnmatchcase(name, pattern)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        (".env", ".e*v", True),
        (".env", "*.env", True),
        (".env", ".[!a-d]nv", True),
        (".env", "?env", True),
        (".ENV", ".env", False),
        ("a", "a*a", False),
        ("aa", "a*a", True),
        ("abcab", "a*b*ab", True),
        ("x]", "x[]]", True),
        ("x[", "x[", True),
        ("😀", "[😀-😁]", True),
        ("a\nb", "a*b", True),
        ("", "*", True),
    ],
)
def test_these_patterns_mean_the_same_on_every_python(name: str, pattern: str, expected: bool) -> None:
    assert fnmatchcase(name, pattern) is expected


def test_many_stars_take_no_time() -> None:
    assert not fnmatchcase("a" * 10_000 + "c", "*a" * 200 + "b")


@pytest.mark.parametrize(
    "pattern", ["*", ".*", "a*/*.py", "a/x.py", "no/*", "*/", "a*/", "*/[xy].py", "a/../*", "none", "[!.]*"]
)
def test_paths_are_found_as_the_standard_library_finds_them(pattern: str, tmp_path: Path) -> None:
    for name in ("a/x.py", "ab/y.py", ".hidden/z.py", "b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    expected = sorted(glob.glob(pattern, root_dir=tmp_path))
    assert sorted(matching_paths(pattern, str(tmp_path))) == expected
    rooted = f"{tmp_path}/{pattern}"
    assert sorted(matching_paths(rooted, "/")) == sorted(glob.glob(rooted))
