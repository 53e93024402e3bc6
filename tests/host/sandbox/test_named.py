"""Places that the settings name, where a command may have put a link since."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from holdfast.host.command import Finished, StartError
from holdfast.host.sandbox import Found, Policy
from holdfast.host.sandbox.mounts import plan_mounts, writable_roots
from holdfast.host.sandbox.named import roots_among, trusted

Run = Callable[..., Finished]


@pytest.fixture
def home(project: Path) -> Path:
    place = project.parent / "home"
    (place / "deep").mkdir(parents=True)
    (place / "kept").write_text("kept", encoding="utf-8")
    return place


def test_a_writable_place_that_a_command_made_a_link_opens_nothing(
    run: Run, policy: Policy, project: Path, home: Path
) -> None:
    named = (str(project), str(project / "build"), str(project / "a" / "cache"))
    given = msgspec.structs.replace(policy, writable=named, changeable=named)
    run("ln -s ../home build; ln -s ../home/deep/.. a; ln -s /etc b", given)
    (home / "cache").mkdir()
    done = run(f"echo x > {home}/kept; echo x > build/new; echo x > {home}/cache/new; echo fine > c", given)
    assert done.output.stderr.text().count("Read-only file system") == 3
    assert (home / "kept").read_text(encoding="utf-8") == "kept"
    assert os.listdir(home / "cache") == []
    assert (project / "c").read_text(encoding="utf-8") == "fine\n"


def test_what_is_shown_or_reached_is_not_what_a_command_led_there(
    run: Run, policy: Policy, project: Path, home: Path
) -> None:
    named = (str(project),)
    given = msgspec.structs.replace(
        policy, hidden=(str(home),), shown=(str(project / "keys"),), sockets=(str(project / "s"),), changeable=named
    )
    run("ln -s ../home/kept keys; ln -s ../home/kept s", given)
    assert run(f"cat {home}/kept keys s", given).output.stdout.text() == ""
    nothing = msgspec.structs.replace(given, writable=())  # as in plan mode, after commands that could write
    assert run(f"cat {home}/kept keys s", nothing).output.stdout.text() == ""


def test_links_of_the_user_himself_are_followed(project: Path, home: Path) -> None:
    above = project.parent
    (above / "short").symlink_to("project")
    (above / "caches").symlink_to("home/deep")
    named = [str(above / "short"), str(above / "caches"), str(above / "missing")]
    assert roots_among(named, named) == [str(project), str(home / "deep")]
    assert trusted([str(above / "caches")], [str(project)], named) == [str(home / "deep")]


def test_a_link_in_a_place_that_itself_is_named_by_a_link_counts_too(project: Path, home: Path) -> None:
    above = project.parent
    (above / "short").symlink_to("project")
    (project / "out").symlink_to(home)
    for order in (1, -1):
        named = [str(above / "short"), str(above / "short" / "out")][::order]
        assert roots_among(named, named) == [str(project)]
    (project / "around").symlink_to("around")
    assert roots_among([str(project / "around"), str(project)], []) == [str(project)]


def test_a_path_that_leads_up_is_where_the_kernel_would_find_it(project: Path, home: Path) -> None:
    above = project.parent
    (above / "down").symlink_to("home/deep")
    path = str(above / "down" / ".." / "kept")
    assert roots_among([path], []) == [os.path.realpath(path)] == [str(home / "kept")]


def test_what_may_not_be_changed_may_not_be_made_either(run: Run, policy: Policy, project: Path) -> None:
    given = msgspec.structs.replace(policy, denied=(str(project / "no" / "such"), str(project / "never")))
    done = run("mkdir -p no/such; echo x > never; rmdir never no; mv .git g; ls -A", given)
    assert done.output.stdout.text().split() == [".claude", ".git", ".holdfast", ".mcp.json", "code.py", "never", "no"]
    assert sorted(os.listdir(project)) == [".git", "code.py"]


def test_the_sessions_own_place_is_writable_in_something_that_is_not(project: Path) -> None:
    own = project / "private" / "tmp"
    own.mkdir(parents=True)
    given = Policy(writable=(str(project),), denied=(str(project / "private"),), temporary=str(own))
    kinds = {os.path.relpath(one.path, project): one.kind for one in plan_mounts(given).mounts}
    assert (kinds["private"], kinds["private/tmp"]) == ("fixed", "writable")
    assert writable_roots(given) == [str(project)]


def test_where_everything_may_be_written_devices_and_processes_are_still_the_commands_own(
    run: Run, policy: Policy, project: Path
) -> None:
    given = msgspec.structs.replace(policy, writable=("/",))
    script = "ls /dev | grep -cE '^(sd|vd|nvme|loop|mem|kmsg|kvm)'; ls -d /proc/[0-9]* | wc -l; echo x >> .git/config"
    done = run(f"{script}; echo fine > made", given)
    disks, processes = map(int, done.output.stdout.text().split())
    assert disks == 0
    assert processes < 8
    assert "Read-only file system" in done.output.stderr.text()
    assert (project / "made").exists()


def test_what_covers_things_cannot_be_changed_for_something_else(
    found: Found, run: Run, policy: Policy, project: Path, home: Path, tmp_path: Path
) -> None:
    """Whoever may write where the covers lie puts a link in their place; sessions let nobody write there besides."""
    if not found.binds_handles:
        pytest.skip("this bubblewrap mounts by name")
    journal = tmp_path / "journal"
    journal.mkdir()
    named = (str(project), str(journal))
    given = msgspec.structs.replace(policy, writable=named, changeable=named, hidden=(str(home),))
    swap = f"cd {journal}/*.blanks && mv closed c2 && ln -s {home} closed && mv file f2 && ln -s {home}/kept file"
    assert run(swap, given).exit.code == 0
    done = run(f"cat {home}/kept; ls {home}", given)
    assert done.output.stdout.text() == ""
    assert run(f"cd {journal}/*.blanks && rm -rf c2", given).exit.code == 0
    with pytest.raises(StartError, match="was removed"):
        run("true", given)
