import os

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.policy.cases import judge, run_case
from holdfast.permissions.rules.path_index import Filed, PathIndex
from holdfast.permissions.rules.path_patterns import PathRule, climb, compile_path_rule, relative_to

# rule content, path, does allow cover it, does deny cover it (cwd /project/sub, project root /project, home /home/user)
ANCHORS = [
    ("//etc/hosts", "/etc/hosts", True, True),
    ("//etc", "/etc/a/b", True, True),
    ("//**/.env", "/any/where/.env", True, True),
    ("~/notes/**", "/home/user/notes/a", True, True),
    ("~/notes/**", "/home/user2/notes/a", False, False),
    ("~", "/home/user/x", True, True),
    ("~/", "/home/user/x", True, True),
    ("/src/**", "/project/src/a", True, True),
    ("/src/**", "/project/sub/src/a", False, False),
    ("/src/**", "/src/a", False, False),
    ("./src/**", "/project/sub/src/a", True, True),
    ("./src/**", "/project/sub/x/src/a", False, False),
    ("src/lib/**", "/project/sub/src/lib/a", True, True),
    ("src/lib/**", "/project/sub/x/src/lib/a", False, False),
    ("src/**", "/project/sub/src/a", True, True),
    ("src/**", "/project/sub/x/src/a", False, True),
    ("src/**", "/project/src/a", False, False),
    ("*.log", "/project/sub/a/b/c.log", True, True),
    ("*.log", "/project/c.log", False, False),
    ("name", "/project/sub/a/name/b", True, True),
    ("src/*", "/project/sub/src/a/b", True, True),
    ("src/*.py", "/project/sub/src/a/b.py", False, False),
    ("src/?.py", "/project/sub/src/a.py", True, True),
    ("build/", "/project/sub/build/x", True, True),
    ("build/", "/project/sub/build", False, True),
    ("d/**", "/project/sub/d", False, False),
    (".", "/project/sub/a", True, True),
    ("../x/**", "/project/x/a", False, True),
    ("a/../b", "/project/sub/b", False, True),
    ("a/**/../b", "/project/sub/a/b", False, True),
    ("a/**/../b", "/project/sub/a/x/b", False, True),
    ("$HOME/x", "/home/user/x", False, True),
    ("${HOME}/x", "/home/user/x", False, True),
    ("//proj", "/proj-evil/x", False, False),
    ("//", "/etc/x", True, True),
    ("/", "/project/a", True, True),
    ("../../../../x", "/x", False, True),
    (".//x", "/project/sub/x", True, True),
    ("./**", "/project/sub/a", True, True),
    ("./**", "/project/a", False, False),
    ("**", "/project/sub/a/b", True, True),
    ("src/.", "/project/sub/src/a", False, True),
    ("/.", "/project/a", False, True),
    ("/./", "/project/a", False, True),
    (".//", "/project/sub/a", False, True),
    ("~/.", "/home/user/a", False, True),
    ("~//", "/home/user/a", True, True),
    ("d/**/", "/project/sub/d/e/f", True, True),
    ("d/**/", "/project/sub/x/d/e/f", False, False),
]


@pytest.mark.parametrize(("content", "path", "allows", "denies"), ANCHORS)
def test_the_four_anchors(content: str, path: str, allows: bool, denies: bool) -> None:
    def verdict(behavior: str) -> str:
        case = {
            "tool": "Edit",
            "input": {"file_path": path},
            "cwd": "/project/sub",
            "project_root": "/project",
            "rules": {behavior: [f"Edit({content})"]},
        }
        return run_case(case, PermissionContext(home="/home/user")).decision.behavior

    assert (verdict("allow"), verdict("deny")) == ("allow" if allows else "ask", "deny" if denies else "ask")


@given(
    st.sampled_from(("", "./", "/", "//", "~/")),
    st.lists(st.sampled_from(("a", "b", ".", "..", "")), min_size=1, max_size=6),
)
@example("./", ["", ""])
@example("a/", ["."])
def test_a_deny_written_like_a_path_holds_for_what_that_path_names(anchor: str, parts: list[str]) -> None:
    content = anchor + "/".join(parts)
    assume(content)
    place = "/" if content.startswith("//") else "/home/user" if content.startswith("~") else "/project/sub"
    meant = os.path.normpath(f"{place}/{content.removeprefix('~').lstrip('/')}")
    for path in (meant, f"{meant}/x"):
        answer = judge("Read", {"file_path": path}, cwd="/project/sub", deny=[f"Read({content})"]).behavior
        assert answer == "deny", path


def test_relative_paths_are_cut_by_whole_components() -> None:
    cases = [("/a", "/a"), ("/a", "/a/b/c"), ("/a", "/ab"), ("/", "/x"), ("/", "/")]
    assert [relative_to(*case) for case in cases] == ["", "b/c", None, "x", ""]
    assert [climb("/a/b", up) for up in range(4)] == ["/a/b", "/a", "/", "/"]


def test_a_doubtful_pattern_of_a_deny_rule_is_read_in_the_wider_way() -> None:
    assert compile_path_rule("a//b/./c", widened=True) == PathRule("cwd", "a/b/c")
    assert compile_path_rule("./", widened=True) == PathRule("cwd", "")
    assert compile_path_rule("../..", widened=True) == PathRule("cwd", "", 2)
    assert compile_path_rule("/a/..", widened=True) == PathRule("source", "")


def test_thousands_of_patterns_are_found_by_their_literal_parts() -> None:
    filed = [Filed(f"/dir{i}/**", "/r", i) for i in range(50)]
    filed += [Filed(f"name{i}", "/r", 100 + i) for i in range(50)]
    filed += [Filed(f"*.tail{i}", "/r", 200 + i) for i in range(50)]
    filed += [Filed(f"head{i}-*", "/r", 300 + i) for i in range(50)]
    filed += [Filed(f"src/*/f{i}.py", None, 400 + i, 0, True) for i in range(50)]
    filed += [Filed("[a-z]", "/r", 500), Filed("", "/whole", 600), Filed("x/y", None, 700, 1)]
    index = PathIndex(filed)

    def find(path: str) -> list[int]:
        return sorted(index.find(path, cwds=("/cwd",), grant_cwds=("/start",), is_dir=None))

    assert find("/r/dir7/x1") == [7]
    assert find("/r/a1/name3") == [103]
    assert find("/r/q1.tail49/b1") == [249]
    assert find("/r/head12-z") == [312]
    assert find("/start/src/m/f5.py") == [405]
    assert find("/cwd/src/m/f5.py") == []
    assert find("/r/q") == [500]
    assert find("/whole/a") == [600]
    assert find("/x/y") == [700]
    assert find("/r") == find("/other/dir7/x") == []
    assert not PathIndex[int]([])


def test_anchored_patterns_hold_in_judged_calls_too() -> None:
    assert judge("Read", {"file_path": "/project/é/ü"}, deny=["Read(é/**)"]).behavior == "deny"
    assert judge("Read", {"file_path": "\udcff"}, deny=["Read(\udcff)"]).behavior == "deny"


def test_the_longest_pattern_is_exact() -> None:
    assert isinstance(compile_path_rule("a" * 4_096, widened=True), PathRule)
    assert isinstance(compile_path_rule("a" * 4_097, widened=True), str)


@pytest.mark.parametrize(
    ("text", "widened", "anchor", "pattern"),
    [
        ("~", False, "home", ""),
        ("~/", False, "home", ""),
        ("~/a", False, "home", "/a"),
        ("./a", False, "cwd", "/a"),
        ("./a/**", True, "cwd", "/a/**"),
        ("//a/**", True, "root", "/a/**"),
        ("~/a/b", True, "home", "/a/b"),
        ("a//b", True, "cwd", "a/b"),
        ("a//b", False, "cwd", "a/b"),
        ("/a///b//**", False, "source", "/a/b/**"),
        ("~//a", False, "home", "/a"),
        ("///a//b", False, "root", "/a/b"),
        ("a/./b", True, "cwd", "a/b"),
        ("/a//b/", True, "source", "/a/b/"),
        ("a/b", True, "cwd", "a/b"),
    ],
)
def test_a_pattern_is_read_from_its_anchor(text: str, widened: bool, anchor: str, pattern: str) -> None:
    found = compile_path_rule(text, widened=widened)
    assert isinstance(found, PathRule)
    assert (found.anchor, found.pattern) == (anchor, pattern)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("./a/../b", "it contains '..' as a name"),
        ("../shared/**", "it contains '..' as a name"),
        ("~/../x", "it contains '..' as a name"),
        ("//a/./b", "it contains '.' as a name"),
        ("././a", "it contains '.' as a name"),
        ("a/\\../b", "as a name"),
        ("a\\", "single backslash"),
        ("[a", "bracket expression"),
        ("~root/x", "only ~/ (your own home directory) is known"),
        ("$HOME/x", "variables are not expanded in allow rules"),
        ("${HOME}/x", "variables are not expanded in allow rules"),
        ("a\0", "NUL character"),
        ("!a", "cannot be negated"),
    ],
)
def test_a_pattern_that_an_allow_rule_cannot_use_says_why(text: str, reason: str) -> None:
    found = compile_path_rule(text, widened=False)
    assert isinstance(found, str)
    assert reason in found
