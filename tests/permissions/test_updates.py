"""What a user's answer may change about the rights: nothing that a rule denies or asks about."""

import os
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contract import Answer, DirectoryUpdate, ModeUpdate, PermissionUpdate, RuleUpdate, UsageError
from holdfast.permissions.context import MODES, PermissionContext
from holdfast.permissions.decision import STRICTNESS, decide
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.paths import NoDisk, PathFacts
from holdfast.permissions.rules.grammar import Rule, RuleSource
from holdfast.permissions.tool_facts import facts_from_input
from holdfast.permissions.updates import change_mode, update_rights


class Folders(NoDisk):
    """Every path is a directory."""

    def look(self, path: str, cwd: str, *, home: str) -> PathFacts:
        return super().look(path, cwd, home=home)._replace(is_dir=True)


def context(mode: str = "default", rules: Any = (), **options: Any) -> PermissionContext:
    given: Any = {"working_directories": ("/proj",), "project_root": "/proj", "home": "/home/u", "disk": Folders()}
    return PermissionContext(mode, rules, **{**given, **options})


def read(path: str) -> CallFacts:
    return facts_from_input("Read", {"file_path": path}, "/proj")


# Directories.


def test_an_added_directory_is_inside_until_it_is_taken_away_again() -> None:
    wanted = DirectoryUpdate(("/data", "/data/"))
    added, refused, counted = update_rights(context(), wanted)
    assert (refused, added.added_directories, counted) == ((), (("/data",),), wanted)
    assert [decide(read(path), added).behavior for path in ("/data/a", "/database/a")] == ["allow", "ask"]
    kept = added.with_options(working_directories=("/proj", "/more")).with_rules(Rule.parse("deny", "Read(b)"))
    assert decide(read("/data/a"), kept).behavior == "allow", "settings that are read again leave it"
    gone, refused, _ = update_rights(kept, DirectoryUpdate(("/data/",), removes=True))
    assert refused == ()
    assert [decide(read(path), gone).behavior for path in ("/data/a", "/more/a")] == ["ask", "allow"]


def test_only_added_directories_are_taken_away() -> None:
    before = context()
    after, refused, _ = update_rights(before, DirectoryUpdate(("/proj", "data"), removes=True))
    assert after is before
    assert [text for text in refused if "no answer has added it" in text] == list(refused)
    assert len(refused) == 2


@pytest.mark.parametrize(
    ("directory", "reason"),
    [
        ("/", "everything"),
        ("//", "everything"),
        ("/home", "everything"),
        ("/home/u", "everything"),
        ("/home/u/", "everything"),
        ("/home/x/../U", "everything"),
        ("data", "whole path"),
        ("~", "whole path"),
        ("", "whole path"),
        ("/proj/.git", "governs"),
        ("/home/u/.claude", "governs"),
        ("/cfg/holdfast", "governs"),
        ("/home/u/.ssh", "governs"),
        ("/home/u/.aws", "secrets"),
        ("/etc", "system"),
        ("/etc/cron.d", "system"),
        ("/usr/local/bin", "system"),
        ("/var/lib/x", "system"),
        ("/root", "system"),
        ("/home/other", "somebody else"),
        ("/proc/self", "kernel"),
        ("/dev", "kernel"),
        ("/a\0b", "NUL"),
    ],
)
def test_a_directory_that_would_open_too_much_is_refused(directory: str, reason: str) -> None:
    before = context(governing=("/cfg/holdfast",))
    after, refused, counted = update_rights(before, DirectoryUpdate((directory, "/data")))
    assert len(refused) == 1
    assert reason in refused[0]
    assert after.added_directories == (("/data",),), "the others count"
    assert counted == DirectoryUpdate(("/data",)), "and only they are kept"


def test_what_is_no_directory_is_not_added_and_a_link_is_what_it_was_then(tmp_path: Path) -> None:
    for name in ("project", "data", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "link").symlink_to("data")
    (tmp_path / "home").symlink_to(os.path.expanduser("~"))
    rights = PermissionContext.started_in(str(tmp_path / "project"))
    names = tuple(str(tmp_path / name) for name in ("file", "missing", "home", "link"))
    added, refused, counted = update_rights(rights, DirectoryUpdate(names))
    assert len(refused) == 3
    assert counted == DirectoryUpdate(names[-1:])
    assert added.added_directories == ((str(tmp_path / "link"), str(tmp_path / "data")),)

    def answer(name: str, rights: PermissionContext) -> str:
        return decide(facts_from_input("Read", {"file_path": str(tmp_path / name)}, "/"), rights).behavior

    assert [answer(name, added) for name in ("link/a", "data/a", "elsewhere/a")] == ["allow", "allow", "ask"]
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("elsewhere")
    later = added.with_rules(Rule.parse("allow", "Edit(nothing)"))
    assert [answer(name, later) for name in ("link/a", "data/a", "elsewhere/a")] == ["ask", "allow", "ask"]


# Modes.


def test_a_mode_is_changed_unless_it_is_none_or_forbidden_or_lifts_every_question() -> None:
    rights = context(disabled_modes=("auto",))
    assert [change_mode(rights, mode, may_bypass=False).mode for mode in ("plan", "acceptEdits", "manual")] == [
        "plan",
        "acceptEdits",
        "default",
    ]
    for mode, reason in (("yolo", "no permission mode"), ("auto", "forbid"), ("bypassPermissions", "began with it")):
        with pytest.raises(UsageError, match=reason):
            change_mode(rights, mode, may_bypass=False)
        after, refused, counted = update_rights(rights, ModeUpdate(mode))
        assert (after, counted) == (rights, None)
        assert reason in refused[0]
    assert change_mode(rights, "bypassPermissions", may_bypass=True).effective_mode == "bypassPermissions"
    forbidden = context(disabled_modes=("bypassPermissions",))
    with pytest.raises(UsageError, match="forbid"):
        change_mode(forbidden, "bypassPermissions", may_bypass=True)


# Rules.


def test_allow_rules_are_removed_where_they_are_kept_and_nowhere_else() -> None:
    file = "/x/settings.local.json"
    rules = [
        Rule.parse("allow", "Read"),
        Rule.parse("allow", "Edit"),
        Rule.parse("allow", "Read", RuleSource(kept_in="localSettings")),
        Rule.parse("allow", "Read", RuleSource("local", file)),
        Rule.parse("allow", "Read", RuleSource("user", "/u")),
        Rule.parse("deny", "Read"),
        Rule.parse("ask", "Read"),
    ]
    rights = context(rules=rules)

    def left(update: RuleUpdate, *files: str) -> list[int]:
        found = rights.with_update(update, files=files).rules
        return [place for place, rule in enumerate(rules) if rule in found]

    assert left(RuleUpdate("allow", ("Read", "Other"), removes=True)) == [1, 2, 3, 4, 5, 6]
    assert left(RuleUpdate("allow", ("Read",), "localSettings", removes=True), file) == [0, 1, 4, 5, 6]
    for update in (RuleUpdate("deny", ("Read",), removes=True), RuleUpdate("ask", ("Read",), replaces=True)):
        with pytest.raises(UsageError, match="never taken away"):
            rights.with_update(update, files=(file,))


# The law.

TEXTS = (
    *("Read", "Edit", "Bash", "WebFetch", "Custom"),
    *("Read(//data/**)", "Read(//data/a)", "Edit(src/**)", "Edit(//data/**)", "Read(.env)", "Edit(//home/u/**)"),
    *("Bash(rm *)", "Bash(git *)", "Bash(cat *)", "WebFetch(domain:example.com)"),
)
PLACES = ("/proj", "/data", "/data/a", "/home/u/x", "/else")
behaviors = st.sampled_from(["allow", "ask", "deny"])
texts = st.sampled_from(TEXTS)
destinations = st.sampled_from(["session", "localSettings", "userSettings"])
sources = st.sampled_from(
    [RuleSource(), RuleSource(kept_in="localSettings"), RuleSource("local", "/l"), RuleSource("user", "/u")]
)
rules = st.builds(Rule.parse, behaviors, texts, sources)
updates: st.SearchStrategy[PermissionUpdate] = st.one_of(
    st.builds(
        RuleUpdate,
        behaviors,
        st.lists(texts, max_size=3).map(tuple),
        destinations,
        replaces=st.booleans(),
        removes=st.booleans(),
    ),
    st.builds(ModeUpdate, st.sampled_from(MODES)),
    st.builds(DirectoryUpdate, st.lists(st.sampled_from(PLACES), max_size=2).map(tuple), st.booleans()),
)
CALLS = [
    *(
        facts_from_input(tool, {"file_path": f"{place}/{name}"}, "/proj")
        for tool in ("Read", "Write")
        for place in (*PLACES, "/proj/src")
        for name in ("a", ".env")
    ),
    *(
        facts_from_input("Bash", {"command": command}, "/proj")
        for command in ("rm x", "git status && git push", "cat /data/a", "cat /data/a > b", "ls", "mkdir /data/x")
    ),
    facts_from_input("WebFetch", {"url": "https://example.com/"}, "/proj"),
    facts_from_input("Custom", {}, "/proj"),
]


@given(
    st.sampled_from(CALLS),
    st.sampled_from(MODES),
    st.lists(rules, max_size=6),
    st.lists(updates, min_size=1, max_size=4),
    st.sampled_from(["allow", "deny"]),
    st.booleans(),
)
def test_no_update_ever_lowers_what_a_rule_denies_or_asks_about(
    call: CallFacts,
    mode: str,
    rules: list[Rule],
    updates: list[PermissionUpdate],
    behavior: Literal["allow", "deny"],
    may_bypass: bool,
) -> None:
    rights = before = context(mode, rules, trusted=True)
    for update in Answer(behavior, updates=tuple(updates)).added:
        if isinstance(update, RuleUpdate):
            rights = rights.with_update(update, files=("/l",) if update.destination == "localSettings" else ())
        else:
            rights = update_rights(rights, update, may_bypass=may_bypass).context
    first, then = decide(call, before), decide(call, rights)
    if first.layer in ("deny", "ask"):
        # What asks because of a rule is refused in dontAsk only because of the mode, which an answer may change.
        assert STRICTNESS[then.behavior] >= STRICTNESS[first.layer]
    assert all(rule in rights.rules for rule in before.rules if rule.behavior != "allow")
    if behavior == "deny":
        assert STRICTNESS[then.behavior] >= STRICTNESS[first.behavior]
    if mode != "bypassPermissions" and not may_bypass:
        assert rights.mode != "bypassPermissions"
