"""Many path patterns at once: the index finds exactly those that cover a path."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lib.gitignore import Pattern
from holdfast.permissions import PermissionContext, Rule
from holdfast.permissions.decision import decide
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.rules.path_index import Filed, PathIndex
from holdfast.permissions.rules.path_patterns import climb, relative_to
from holdfast.permissions.tool_facts import facts_from_input

CWDS = ("/proj",)


def find(
    filed: list[Filed[str]], path: str, *, cwds: tuple[str, ...] = CWDS, is_dir: bool | None = None
) -> tuple[str, ...]:
    return PathIndex(filed).find(path, cwds=cwds, grant_cwds=cwds, is_dir=is_dir)


def test_a_name_that_a_path_repeats_half_a_million_times_is_looked_up_once() -> None:
    """The rule is filed under `a`; asked anew for each `a`, the answer would take hours."""
    context = PermissionContext(
        rules=[Rule.parse("deny", "Read(**/a/**/b/**/c)")], working_directories=("/proj",), disk=NoDisk()
    )
    decision = decide(facts_from_input("Read", {"file_path": "a/" * 500_000 + "b"}, "/proj"), context)
    assert (decision.behavior, decision.layer) == ("deny", "guard")


@pytest.mark.parametrize(
    ("pattern", "root", "yes", "no"),
    [
        ("/src/a.py", None, ["/proj/src/a.py"], ["/proj/a.py", "/src/a.py", "/proj/x/src/a.py", "/project/src/a.py"]),
        ("/src/a.py", "/", ["/src/a.py"], ["/proj/src/a.py"]),
        ("/src/a.py", "/home/u", ["/home/u/src/a.py"], ["/home/src/a.py", "/home/u/a.py"]),
        ("/src", None, ["/proj/src", "/proj/src/a"], ["/proj", "/proj/srcs"]),
        ("/src/**", "/", ["/src/a", "/src/a/b"], ["/src", "/a"]),
        (".env", None, ["/proj/.env", "/proj/a/.env", "/proj/.env/x"], ["/.env", "/proj/.envs"]),
        (".env", "/", ["/.env", "/a/.env"], ["/a/.envs"]),
        ("*.pem", None, ["/proj/a.pem", "/proj/a/b.pem"], ["/a.pem", "/proj/a.pems", "/proj/pem"]),
        ("id_*", None, ["/proj/id_rsa", "/proj/id_x/y"], ["/proj/xid_rsa"]),
        ("*y", None, ["/proj/y", "/proj/ay/b"], ["/proj/yes"]),
        ("y*", None, ["/proj/y", "/proj/yes"], ["/proj/ay"]),
        ("*", None, ["/proj/a", "/proj/a/b"], ["/proj", "/a"]),
        ("", None, ["/proj", "/proj/a"], ["/", "/a", "/project"]),
        ("", "/", ["/", "/a"], []),
        ("*.d\u00e9j\u00e0", None, ["/proj/a.d\u00e9j\u00e0"], ["/proj/a.deja"]),
        ("/\u00e9/*.py", None, ["/proj/\u00e9/a.py"], ["/proj/e/a.py"]),
        ("x.py", "/\u00e9", ["/\u00e9/x.py", "/\u00e9/a/x.py"], ["/e/x.py"]),
    ],
)
def test_a_pattern_is_found_below_its_root_and_nowhere_else(
    pattern: str, root: str | None, yes: list[str], no: list[str]
) -> None:
    index = PathIndex([Filed(pattern, root, "it")])
    for expected, paths in ((("it",), yes), ((), no)):
        for path in paths * 2:  # the second time from what it remembers
            assert index.find(path, cwds=CWDS, grant_cwds=(), is_dir=None) == expected, path


def test_a_pattern_that_climbs_is_anchored_above_the_working_directory() -> None:
    filed = [Filed("/a.py", None, "one", 1), Filed("/b.py", None, "two", 2), Filed("", None, "all", 1)]
    assert find(filed, "/w/a.py", cwds=("/w/proj",)) == ("all", "one")
    assert find(filed, "/b.py", cwds=("/w/proj",)) == ("two",)
    assert find(filed, "/w/proj/a.py", cwds=("/w/proj",)) == ("all",)
    assert find(filed, "/a.py", cwds=("/",)) == ("all", "one")


@pytest.mark.parametrize("cwd", ["", "/proj", "/proj/sub"])
def test_a_pattern_is_anchored_at_the_working_directory_wherever_that_is(cwd: str) -> None:
    filed = [Filed("/src/a.py", None, "it")]
    assert find(filed, f"{cwd}/src/a.py", cwds=(cwd or "/",)) == ("it",)
    assert find(filed, f"{cwd}/x/src/a.py", cwds=(cwd or "/",)) == ()
    assert find(filed, f"{cwd}/a.py", cwds=(cwd or "/",)) == ()


def test_each_working_directory_anchors_and_a_grant_only_by_its_own() -> None:
    index = PathIndex([Filed("/a.py", None, "deny"), Filed("/a.py", None, "allow", grants=True)])
    for path, values in {"/p/a.py": {"deny"}, "/q/a.py": {"allow"}, "/r/a.py": set[str](), "/a.py": {"deny"}}.items():
        assert set(index.find(path, cwds=("/p", "/"), grant_cwds=("/q",), is_dir=None)) == values, path


@pytest.mark.parametrize(("is_dir", "values"), [(True, {"deny", "allow"}), (False, set[str]()), (None, {"deny"})])
def test_what_may_be_a_directory_counts_as_one_except_to_a_grant(is_dir: bool | None, values: set[str]) -> None:
    filed = [Filed("build/", None, "deny"), Filed("build/", None, "allow", grants=True)]
    assert set(find(filed, "/proj/build", is_dir=is_dir)) == values
    assert set(find(filed, "/proj/build/x", is_dir=is_dir)) == {"deny", "allow"}


def test_without_case_a_deny_is_found_and_a_grant_is_not() -> None:
    filed = [
        Filed("/Src/A.py", "/Home/U", "deny"),
        Filed("[[:upper:]].PEM", None, "key"),
        Filed("/Up.py", None, "up", 1),
        Filed("*.py", "/", "allow", grants=True),
    ]
    index = PathIndex(filed)
    for path, values in {
        "/home/u/sRC/a.PY": ("deny",),
        "/PROJ/sub/x.pem": ("key",),
        "/proj/sub/x.pem": ("key",),
        "/UP.PY": ("up",),
        "/proj/other.py": (),
    }.items():
        assert index.find_folded(path, cwds=("/Proj",), is_dir=None) == values, path
    assert not index.find("/home/u/sRC/a.PY", cwds=(), grant_cwds=(), is_dir=None)


def test_an_index_knows_whether_it_holds_anything() -> None:
    assert not PathIndex[str]([])
    assert PathIndex([Filed("a", None, "it")])
    assert find([], "/proj/a") == ()


def test_the_same_question_is_answered_from_memory_until_two_thousand_others_were_asked() -> None:
    index = PathIndex([Filed("", "/", "it")])

    def answer(path: str) -> tuple[str, ...]:
        return index.find(path, cwds=(), grant_cwds=(), is_dir=None)

    first = answer("/first")
    for number in range(2_047):
        answer(f"/{number}")
    assert answer("/first") is first
    answer("/one more")
    assert answer("/first") == first
    assert answer("/first") is not first


def test_nothing_is_remembered_of_a_path_longer_than_any_disk_has() -> None:
    index = PathIndex([Filed("", "/", "it")])

    def answers(path: str) -> list[tuple[str, ...]]:
        return [index.find(path, cwds=(), grant_cwds=(), is_dir=None) for _ in range(2)]

    long, too_long = answers("/" + "a" * 4_095), answers("/" + "a" * 4_096)
    assert long == too_long == [("it",)] * 2
    assert long[0] is long[1]
    assert too_long[0] is not too_long[1]


NAMES = ("a", "b", "ab", "a.py", "b.py", "aaaab", "\u00e9", "seventeen-letters", "other-seventeen-letters")
PIECES = (*NAMES, "*", "**", "*.py", "a*", "*b", "?", "[ab]", "*-letters", "sev*")
# All bodies are made beforehand: drawing up to 24 of them piece by piece costs more than the search.
bodies = st.one_of([st.sampled_from(list(map("/".join, product(PIECES, repeat=count)))) for count in (1, 2, 3)])
ends = st.sampled_from(list(product(("", "/", "**/"), ("", "/", "/**"))))
patterns = st.builds(str.join, bodies, ends)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))
roots = st.sampled_from(list(product((None, None, "/", "/a", "/a/b", "/\u00e9"), (0, 1), (False, True))))


@given(
    st.lists(st.tuples(patterns, roots), min_size=1, max_size=24),
    st.lists(paths, min_size=1, max_size=4),
    st.sampled_from((("/",), ("/a",), ("/a/b", "/a"), ("/\u00e9", "/"))),
    st.sampled_from((None, True, False)),
)
def test_many_patterns_find_what_each_finds_alone(
    made: list[tuple[str, tuple[str | None, int, bool]]], asked: list[str], cwds: tuple[str, ...], is_dir: bool | None
) -> None:
    filed = [
        Filed(pattern, root, number, up if root is None else 0, grants)
        for number, (pattern, (root, up, grants)) in enumerate(made)
    ]
    index = PathIndex(filed)
    for path in asked:
        found = index.find(path, cwds=cwds, grant_cwds=cwds[:1], is_dir=is_dir)
        assert set(found) == {item.value for item in filed if _covers(item, path, cwds, is_dir=is_dir)}, path


def _covers(item: Filed[int], path: str, cwds: tuple[str, ...], *, is_dir: bool | None) -> bool:
    """The slow way: one pattern below each of its roots."""
    anchors = [climb(cwd, item.up) for cwd in (cwds[:1] if item.grants else cwds)] if item.root is None else [item.root]
    taken = is_dir is True if item.grants else is_dir is not False
    below = [relative_to(anchor, path) for anchor in anchors]
    return any(rest and Pattern(item.pattern).matches(rest, is_dir=taken) for rest in below)
