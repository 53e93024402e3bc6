"""A program that has nothing but its entry is right in all seven uses; docs/extend/program.md shows it."""

import pytest

from holdfast.permissions import NoDisk, PermissionContext, Rule, decide, facts_from_input
from holdfast.permissions.policy.suggest_commands import suggest_rules
from holdfast.permissions.shell import analyse, critical_removal, high_risk

NAMES = ("fdupes", "jdupes")


def verdict(command: str, mode: str, *rules: str) -> str:
    parsed = [Rule.parse("deny" if text != "Bash" else "allow", text) for text in rules]
    context = PermissionContext.started_in("/project", mode, parsed, home="/home/user", disk=NoDisk())
    return decide(facts_from_input("Bash", {"command": command}, "/project"), context).behavior


@pytest.mark.parametrize("name", NAMES)
def test_a_listing_is_proven_to_read_and_a_removal_is_not(name: str) -> None:
    assert analyse(f"{name} -r src docs").read_only
    assert verdict(f"{name} -r src docs", "default") == "allow"
    assert verdict(f"{name} -dN src", "default") == "ask"


@pytest.mark.parametrize("name", NAMES)
def test_rules_about_files_hold_for_what_it_is_given(name: str) -> None:
    assert verdict(f"{name} .env", "default", "Bash", "Read(.env)") == "deny"
    assert verdict(f"{name} -r src/../.env", "default", "Bash", "Read(.env)") == "deny"
    assert verdict(f"{name} -dN locked/x", "default", "Bash", "Edit(locked/**)") == "deny"


@pytest.mark.parametrize("name", NAMES)
def test_a_critical_removal_is_asked_about_in_every_mode(name: str) -> None:
    for target in ("/", ".", "/home", ".git"):
        assert critical_removal(analyse(f"{name} -dN {target}"), cwd="/project") is not None
    assert verdict(f"{name} -dN /", "bypassPermissions") == "ask"
    assert critical_removal(analyse(f"{name} -dN src/cache"), cwd="/project") is None


@pytest.mark.parametrize("name", NAMES)
def test_accept_edits_asks_about_a_removal(name: str) -> None:
    assert verdict(f"{name} -dN src", "acceptEdits") == "ask"


@pytest.mark.parametrize("name", NAMES)
def test_auto_mode_knows_a_removal_outside(name: str) -> None:
    assert (high_risk(analyse(f"{name} -dN ../other/x"), cwd="/project") or "").startswith("deletes-outside")
    assert verdict(f"{name} -dN src/cache", "auto") == "allow"
    assert verdict(f"{name} -dN /etc/x", "auto") == "ask"


@pytest.mark.parametrize("name", NAMES)
def test_two_listings_may_run_side_by_side(name: str) -> None:
    analysis = analyse(f"{name} -r src")
    assert analysis.read_only  # what the scheduler goes by
    assert not analysis.effects.writes


@pytest.mark.parametrize("name", NAMES)
def test_people_see_what_it_does(name: str) -> None:
    assert analyse(f"{name} -r src").kind == "search"
    removal = analyse(f"{name} -dN src")
    assert removal.parts[0].kind == "remove"
    assert "option '-d' is not read-only" in removal.reason
    assert removal.effects.deletes == ("src",)
    assert suggest_rules(removal) == (f"{name} *",)


def test_a_program_of_another_kind_needs_no_more() -> None:
    """`podman-compose` runs commands, gives containers the host, and takes options in front of its subcommand."""
    assert verdict("podman-compose --file x.yml exec web rm -rf /data", "default", "Bash", "Bash(rm *)") == "deny"
    assert (high_risk(analyse("podman-compose run -v /:/x web")) or "").startswith("container")
    assert verdict("podman-compose -f x up", "default", "Bash", "Bash(podman-compose up *)") == "deny"
