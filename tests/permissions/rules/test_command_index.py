"""Many Bash rules at once: each finds what it would find alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.permissions.rules.command_index import GAP, RuleIndex, compile_bash_rule, wild_match


def index(*contents: str, exact_words: bool = False) -> RuleIndex:
    return RuleIndex([compile_bash_rule(content) for content in contents], exact_words=exact_words)


def found(rules: RuleIndex, text: str) -> str | None:
    rule = rules.find(text)
    return None if rule is None else rule.content


@pytest.mark.parametrize(
    ("content", "kind", "loose"),
    [
        ("*", "all", ()),
        ("'*'", "wild", ("", "")),
        ("**", "wild", ("", "", "")),
        ("a* *", "wild", ("a", " ", "")),
        ("a *b *", "wild", ("a ", "b ", "")),
        ("a  *", "prefix", ("a",)),
        ("a :*", "prefix", ("a",)),
        ("'a b' *", "prefix", ("a b",)),
        ("echo a\\", "exact", ("echo a\\",)),
        ("echo \\", "exact", ("echo \\",)),
        ("''make", "exact", ("make",)),
        ("'' make", "exact", ("make",)),
        ("make ''", "exact", ("make",)),
        ("it's \"", "exact", ("it's \"",)),
        ("a'\"'b", "exact", ('a"b',)),
        ("a\\ b", "exact", ("a b",)),
        ("a\\\\b c", "exact", ("a\\b c",)),
    ],
)
def test_a_rule_is_read_as_the_shell_reads_a_word(content: str, kind: str, loose: tuple[str, ...]) -> None:
    rule = compile_bash_rule(content)
    assert (rule.kind, rule.loose) == (kind, loose)


def test_a_rule_for_allowing_keeps_its_words_apart() -> None:
    assert compile_bash_rule("a 'b c' d").words == (f"a{GAP}b c{GAP}d",)
    assert compile_bash_rule("a 'b c' *").words == (f"a{GAP}b c",)
    assert compile_bash_rule("a * b").words == (f"a{GAP}", f"{GAP}b")
    rules = index("a 'b c'", "d 'e f' *", "g 'h i' * j", exact_words=True)
    for text in (f"a{GAP}b c", f"d{GAP}e f", f"d{GAP}e f{GAP}x", f"g{GAP}h i{GAP}x{GAP}j"):
        assert rules.find(text) is not None, text
        assert rules.find(text.replace(GAP, " ")) is None
        assert rules.find(text.replace(" ", GAP)) is None


@pytest.mark.parametrize(
    ("pieces", "yes", "no"),
    [
        (("ab",), ["ab"], ["a", "abb", "aab"]),
        (("ab", "ba"), ["abba", "ab-ba"], ["aba", "ab", "xabba", "abbax"]),
        (("", "a", ""), ["a", "ab", "ba", "bab"], ["", "b"]),
        (("", "a", "b", ""), ["ab", "xaybz"], ["ba", "a", "b"]),
        (("a", "b", "b", "c"), ["abbc", "axbxbxc"], ["abc", "abb", "bbc"]),
        (("a", "bc", "c"), ["abcc"], ["abc", "ac"]),
        (("", ""), ["", "a"], []),
    ],
)
def test_the_pieces_of_a_pattern_stand_in_order_and_never_overlap(
    pieces: tuple[str, ...], yes: list[str], no: list[str]
) -> None:
    assert [text for text in yes if not wild_match(pieces, text)] == []
    assert [text for text in no if wild_match(pieces, text)] == []


RULES = (
    "make all", "make test *", "make * fast", "make", "git push *", "git pull", "git * --force", "git push --tags*",
    "ls*", "lsof -i", "* --help", "a**b", "cd '*'", "tar * x *", "npm run *",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("make all", "make all"),
        ("make all x", None),
        ("make test", "make test *"),
        ("make test x", "make test *"),
        ("make tests", None),
        ("make b fast", "make * fast"),
        ("make", "make"),
        ("git pull", "git pull"),
        ("git push", "git push *"),
        ("git fetch --force", "git * --force"),
        ("git push --tags", "git push *"),
        ("git", None),
        ("ls", "ls*"),
        ("lsblk -f", "ls*"),
        ("lsof -i", "lsof -i"),
        ("l", None),
        ("tool --help", "* --help"),
        ("axb", "a**b"),
        ("ab", "a**b"),
        ("ax", None),
        ("tar c x", "tar * x *"),
        ("tar c x d", "tar * x *"),
        ("tar c y d", None),
        ("npm run", "npm run *"),
        ("npm ru", None),
        ("", None),
    ],
)
def test_rules_of_every_kind_do_not_hide_each_other(text: str, content: str | None) -> None:
    assert found(index(*RULES), text) == content
    # And the last of the kinds that are looked for is there also without the others.
    assert content is None or found(index(content), text) == content


@pytest.mark.parametrize(
    ("content", "met", "skipped"),
    [
        ("make all", ["make"], ["mak", "makes", "all"]),
        ("make *", ["make"], ["mak", "makes"]),
        ("make * x", ["make"], ["mak", "makes"]),
        ("make all*", ["make"], ["mak", "makes"]),
        ("make*", ["make", "makes"], ["mak"]),
        ("* x", ["make", "mak"], []),
        ("*", ["make", "mak"], []),
        ("'*'", ["make", "mak"], []),
    ],
)
def test_a_command_is_passed_over_only_when_no_rule_can_speak_to_it(
    content: str, met: list[str], skipped: list[str]
) -> None:
    rules = index("other", content)
    for _ in range(2):
        assert [name for name in [*met, *skipped] if rules.skips(name)] == skipped
    assert not rules.skips("other")


def test_the_first_of_two_rules_for_everything_is_named() -> None:
    first, second = compile_bash_rule("*", origin=1), compile_bash_rule(" * ", origin=2)
    rules = RuleIndex([compile_bash_rule("make"), first, second], exact_words=False)
    assert rules.everything is first
    assert rules.find("make") is rules.find_exact("make") is first
    assert rules.compound == ()


def test_a_text_is_found_exactly_or_with_its_stars_as_written() -> None:
    rules = index("find . -name '*.py' -delete", "find . *", "make", "cp a*", exact_words=True)
    assert rules.find_exact("make") is rules.rules[2]
    assert rules.find_exact(f"find{GAP}.{GAP}x") is None
    assert rules.find_verbatim(GAP.join(["find", ".", "-name", "*.py", "-delete"])) is rules.rules[0]
    assert rules.find_verbatim(f"cp{GAP}a*") is rules.rules[3]
    assert rules.find_verbatim(GAP.join(["find", ".", "-name", "x.py", "-delete"])) is None


contents = st.lists(st.sampled_from(["a", "ab", "b", "*", "a*", "*b", "-a"]), min_size=1, max_size=4).map(" ".join)
commands = st.lists(st.sampled_from(["a", "ab", "b", "-a", "aab"]), min_size=1, max_size=5).map(" ".join)


@given(st.lists(contents, min_size=1, max_size=6), commands)
def test_many_rules_find_a_command_exactly_when_one_of_them_does(many: list[str], command: str) -> None:
    alone = [content for content in many if index(content).find(command) is not None]
    rules = index(*many)
    assert (found(rules, command) in alone) if alone else found(rules, command) is None
    assert not (alone and rules.skips(command.partition(" ")[0]))
