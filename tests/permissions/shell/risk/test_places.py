import pytest

from holdfast.permissions.shell.risk.places import Places

PLACES = Places("/w/a/project", "/home/u", dotted=False)


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("/", None),
        ("/*", None),
        ("/w", None),
        ("/w/a", None),
        ("/w/?", None),
        ("/w/a/p*", None),
        ("/*/a/project", None),
        ("/**/project", None),
        ("/w/**", None),
        ("/home/u", None),
        ("/h*/u", None),
        ("/home/other", None),
        ("/Users/x", None),
        ("/HOME/U", None),
        ("/root", None),
        ("../p*", "/w/a/project"),
        ("..", "/w/a/project"),
        (".g*", "/w/a/project"),
        (".g*", None),
        ("x/.gi?", "/w/a/project"),
        (".g*/*", "/w/a/project"),
        ("**/*", "/w/a/project"),
        ("*/../*", "/w/a/project"),
        ("../*/*", "/w/a/project"),
        ("?*", "/w/a/project"),
        (".GIT", "/w/a/project"),
        ("usr", "/"),
        ("/proc/self/cwd/*", None),
        ("/proc/1/root/usr", None),
        ("/proc/self/cwd/", "/w/a/project"),
        ("*", None),
        ("../x", None),
        (".", None),
    ],
)
def test_places_that_matter_are_known_behind_wildcards(text: str, base: str | None) -> None:
    assert PLACES.judge(text, base, wild=True)


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("build", "/w/a/project"),
        ("*.o", "/w/a/project"),
        ("../q*", "/w/a/project"),
        ("/w/b*", None),
        ("/tmp/*", None),
        (".github", "/w/a/project"),
        (".*cache", "/w/a/project"),
        ("*/dist", "/w/a/project"),
        ("**/x", "/w/a/project"),
        ("/home/u/.cache/*", None),
        ("build", None),
        ("/proc/self/cwd", None),
        ("/w/a/project/*/x", None),
        ("src/*", "/w/a/project"),
    ],
)
def test_others_are_not(text: str, base: str | None) -> None:
    assert PLACES.judge(text, base, wild=True) is None


def test_what_is_quoted_is_a_name_and_no_pattern() -> None:
    assert PLACES.judge(".g*", "/w/a/project", wild=False) is None
    assert Places("/w/[x]", "/home/u", dotted=False).judge("build", "/w/[x]", wild=True) is None
    assert Places("/w/[x]", "/home/u", dotted=False).judge("../[x]", "/w/[x]", wild=False)


def test_with_dotglob_a_wildcard_finds_the_history() -> None:
    assert Places("/w", "/home/u", dotted=True).judge("?git", "/w", wild=True)
