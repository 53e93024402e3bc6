import os
from pathlib import Path

import pytest

import holdfast.permissions as room
from holdfast.contract import UsageError
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.rules.globs import StarGlob
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.tool_facts import facts_from_input

DENY, ALLOW = Rule.parse("deny", "Read(a)"), Rule.parse("allow", "Edit")


def test_a_context_cannot_be_changed() -> None:
    context = PermissionContext("default", [DENY])
    with pytest.raises(AttributeError):
        context.mode = "plan"
    with pytest.raises(UsageError):
        PermissionContext("fast")


def test_every_change_makes_a_new_context() -> None:
    context = PermissionContext("default", [DENY], working_directories=("/proj",), disk=NoDisk())
    plan = context.with_mode("plan")
    assert (context.mode, plan.mode, plan.effective_mode) == ("default", "plan", "plan")
    assert plan.book is context.book
    assert context.with_rules(ALLOW).rules == (DENY, ALLOW)
    assert context.replacing_rules([ALLOW]).rules == (ALLOW,)
    trusted = context.with_options(trusted=True, home="/h")
    assert (trusted.trusted, trusted.home, trusted.roots) == (True, "/h", context.roots)
    assert context.child().parent is context
    assert context.child("plan", [ALLOW]).rules == (DENY, ALLOW)


def test_a_child_without_more_rules_shares_what_is_compiled_and_stays_below_its_parent() -> None:
    context = PermissionContext("acceptEdits", [DENY], working_directories=("/proj",), disk=NoDisk())
    child = context.child("plan")
    assert child.book is context.book
    assert (child.parent, child.mode, context.mode) == (context, "plan", "acceptEdits")
    assert child.with_rules(ALLOW).parent is context
    assert child.child().ancestors() == (child, context)
    assert (context.parent, context.with_rules(ALLOW).parent) == (None, None)


def test_rules_are_found_by_tool_and_by_whether_they_look_at_the_input() -> None:
    context = PermissionContext("default", [DENY, ALLOW])
    assert (context.rules_for("Read"), context.rules_for("Other")) == ((DENY,), ())
    assert context.judges_input(("Read",))
    assert not context.judges_input(("Edit", "Other"))
    assert context.with_mode("plan").replacing_rules([]).child().judges_input(("Read",)) is False
    assert context.replacing_rules([]).with_options(parent=context).judges_input(("Read",))


def test_a_session_that_starts_in_a_directory_has_it_as_its_project(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    context = PermissionContext.started_in(str(tmp_path / "link"), "acceptEdits")
    assert set(context.roots.working) == {str(tmp_path / "link"), str(real)}
    call = facts_from_input("Write", {"file_path": "new"}, str(tmp_path / "link"))
    assert decide(call, context).behavior == "allow"


def test_this_sessions_own_files_read_as_inside_but_are_not_writable() -> None:
    context = PermissionContext("acceptEdits", readable=("/state/results",), disk=NoDisk())
    read, write = (facts_from_input(tool, {"file_path": "/state/results/1"}, "/proj") for tool in ("Read", "Write"))
    assert [decide(call, context).behavior for call in (read, write)] == ["allow", "ask"]


def test_the_rooms_names_load_on_first_use() -> None:
    assert all(getattr(room, name) is not None for name in room.__all__)
    with pytest.raises(AttributeError):
        getattr(room, "no_such_name")  # noqa: B009 - a name that the checker must not know


def test_star_patterns_match_whole_texts() -> None:
    cases = [
        ("a", "a"),
        ("a", "b"),
        ("a*c", "abc"),
        ("a*c", "ac"),
        ("a*c", "acb"),
        ("*b*d*", "abcde"),
        ("*b*d*", "adcb"),
    ]
    assert [StarGlob(pattern).matches(text) for pattern, text in cases] == [True, False, True, True, False, True, False]
    assert StarGlob("ab*ba").matches("aba") is False
    assert (StarGlob("a") == StarGlob("a"), StarGlob("a") == "a", len({StarGlob("a"), StarGlob("a")})) == (
        True,
        False,
        1,
    )
    assert repr(StarGlob("a*")) == "StarGlob('a*')"


def test_a_relative_directory_is_the_processs_own_and_never_the_whole_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for directory in (".", "", "./", "sub"):
        context = PermissionContext.started_in(directory)
        wanted = os.path.realpath(tmp_path / directory)
        assert set(context.roots.working) <= {wanted, str(tmp_path / directory)}
        outside = facts_from_input("Read", {"file_path": "/etc/hostname"}, wanted)
        assert decide(outside, context).behavior == "ask"
        assert decide(facts_from_input("Read", {"file_path": "a"}, wanted), context).behavior == "allow"


def test_where_the_settings_lie_is_protected_whatever_the_place_is_called() -> None:
    allow = Rule.parse("allow", "Edit")
    context = PermissionContext(
        "acceptEdits",
        [allow],
        working_directories=("/proj", "/cfg"),
        governing=("/cfg/holdfast", "/proj/state"),
        disk=NoDisk(),
    )

    def answer(path: str, mode: str = "acceptEdits") -> str:
        return decide(facts_from_input("Write", {"file_path": path}, "/proj"), context.with_mode(mode)).behavior

    assert [answer(path) for path in ("/cfg/holdfast/settings.json", "/proj/state/trust.json")] == ["ask", "ask"]
    assert [answer(path) for path in ("/cfg/other", "/proj/states", "/proj/a")] == ["allow", "allow", "allow"]
    assert answer("/cfg/holdfast/settings.json", "bypassPermissions") == "allow"
    assert answer("/cfg/holdfast/settings.json", "plan") == "deny"
    shell = facts_from_input("Bash", {"command": "echo x > /proj/state/trust.json"}, "/proj")
    assert decide(shell, context.with_rules(Rule.parse("allow", "Bash(echo *)"))).behavior == "ask"
