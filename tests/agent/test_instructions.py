"""Instruction files: found, ordered, trusted, excluded; one test per sentence of the conventions users already have."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from holdfast.agent.instructions import InstructionOptions, load_instructions
from holdfast.permissions import LiveDisk, PermissionContext, Rule, denies_read
from holdfast.settings import SourceKind, load_settings

from .conftest import Place, texts

# -- places and order


def test_policy_user_and_every_directory_down_to_the_working_directory_are_read_in_that_order(place: Place) -> None:
    place.write(place.policy / "claude-code" / "CLAUDE.md", "policy")
    place.write(place.home / ".claude" / "CLAUDE.md", "user")
    place.write(place.home / "code" / "CLAUDE.md", "above the project")
    place.write("CLAUDE.md", "root")
    place.write("src/CLAUDE.md", "middle")
    place.write("src/web/CLAUDE.md", "here")
    found = place.load()
    assert texts(found) == ["policy", "user", "above the project", "root", "middle", "here"]
    assert [file.kind for file in found.files] == ["managed", "user", *["project"] * 4]
    assert found.warnings == ()


def test_a_directory_gives_its_file_or_the_one_in_its_folder_then_the_local_one(place: Place) -> None:
    place.write(".claude/CLAUDE.md", "in the folder")
    place.write("CLAUDE.local.md", "local")
    place.write("src/CLAUDE.md", "plain")
    found = place.load()
    assert [(file.text, file.kind) for file in found.files] == [
        ("in the folder", "project"),
        ("local", "local"),
        ("plain", "project"),
    ]


def test_both_spellings_in_one_directory_are_both_read(place: Place) -> None:
    place.write("CLAUDE.md", "plain")
    place.write(".claude/CLAUDE.md", "in the folder")
    assert texts(place.load()) == ["plain", "in the folder"]


def test_native_and_existing_files_are_both_read_and_the_native_one_has_the_last_word(place: Place) -> None:
    place.write("AGENTS.md", "native")
    place.write("CLAUDE.md", "existing")
    place.write(".holdfast/AGENTS.md", "in our folder")
    place.write(place.home / ".config" / "holdfast" / "AGENTS.md", "user, native")
    place.write(place.home / ".claude" / "CLAUDE.md", "user, existing")
    place.write(place.policy / "holdfast" / "AGENTS.md", "policy, native")
    assert texts(place.load()) == [
        "policy, native",
        "user, existing",
        "user, native",
        "existing",
        "native",
        "in our folder",
    ]


def test_agents_files_are_read_from_the_repository_root_down_and_not_above_it(place: Place) -> None:
    place.write(place.home / "code" / "AGENTS.md", "above")
    place.write("AGENTS.md", "root")
    place.write("src/web/AGENTS.md", "here")
    assert texts(place.load()) == ["root", "here"]


def test_an_override_file_is_preferred_to_the_agents_file_beside_it(place: Place) -> None:
    place.write("AGENTS.md", "shared")
    place.write("AGENTS.override.md", "mine")
    assert texts(place.load()) == ["mine"]


def test_configured_names_stand_in_where_a_directory_has_no_agents_file(place: Place) -> None:
    place.write("TEAM.md", "team")
    place.write("src/AGENTS.md", "agents")
    place.write("src/TEAM.md", "unused")
    options = InstructionOptions(fallback_names=("../x", "TEAM.md"))
    assert texts(place.load(options=options)) == ["team", "agents"]


def test_one_file_under_two_names_is_told_once(place: Place) -> None:
    place.write("AGENTS.md", "only once")
    (place.project / "CLAUDE.md").symlink_to("AGENTS.md")
    assert texts(place.load()) == ["only once"]


def test_a_copy_under_the_other_name_is_told_once(place: Place) -> None:
    place.write("AGENTS.md", "the same words")
    place.write("CLAUDE.md", "the same words")
    assert texts(place.load()) == ["the same words"]


def test_above_the_project_only_files_count_that_nobody_else_can_write(place: Place) -> None:
    planted = place.write(place.home / "code" / "CLAUDE.md", "planted")
    planted.chmod(0o666)
    found = place.load()
    assert texts(found) == []
    assert "others may write to it" in found.warnings[0]


def test_a_repository_around_the_project_counts_only_when_it_is_trusted_itself(place: Place) -> None:
    place.write(place.home / "CLAUDE.md", "home")
    place.write(place.home / "code" / "CLAUDE.md", "outer")
    (place.home / "code" / ".git").mkdir()
    (place.home / ".git").mkdir()
    assert texts(place.load()) == ["home"]
    trusted = InstructionOptions(trusts=lambda root: root == str(place.home / "code"))
    assert texts(place.load(options=trusted)) == ["home", "outer"]


def test_in_the_home_directory_the_users_own_files_are_the_users(place: Place) -> None:
    place.write(place.home / ".claude" / "CLAUDE.md", "user")
    place.write(place.home / ".claude" / "rules" / "a.md", "rule")
    place.write(place.home / "AGENTS.md", "not trusted")
    found = load_instructions(str(place.home), root=str(place.home), roots=place.roots, trusted=False)
    assert [(file.text, file.kind) for file in found.files] == [("user", "user"), ("rule", "user")]
    assert found.withheld == (str(place.home / "AGENTS.md"),)


def test_a_moved_configuration_directory_leaves_the_old_one_unread(place: Place) -> None:
    place.write(place.home / ".claude" / "CLAUDE.md", "old")
    place.write(place.base / "moved" / "CLAUDE.md", "moved")
    place.roots = msgspec.structs.replace(place.roots, user_existing=str(place.base / "moved"))
    assert texts(place.load()) == ["moved"]


def test_the_sources_the_user_chose_are_the_ones_that_are_read(place: Place) -> None:
    place.write(place.policy / "claude-code" / "CLAUDE.md", "policy")
    place.write(place.home / ".claude" / "CLAUDE.md", "user")
    place.write("CLAUDE.md", "project")
    place.write("CLAUDE.local.md", "local")
    assert texts(place.load(options=InstructionOptions(sources=frozenset()))) == ["policy"]
    only_local = InstructionOptions(sources=frozenset({SourceKind.LOCAL}))
    assert texts(place.load(options=only_local)) == ["policy", "local"]


# -- trust


def test_an_untrusted_folder_gives_nothing_but_the_names_of_its_files(place: Place) -> None:
    place.write(place.home / ".claude" / "CLAUDE.md", "user")
    place.write("CLAUDE.md", "hostile")
    place.write("src/web/AGENTS.md", "hostile")
    place.write("src/web/deep/CLAUDE.md", "hostile")
    found = place.load(trusted=False)
    assert texts(found) == ["user"]
    assert found.withheld == (str(place.project / "CLAUDE.md"), str(place.cwd / "AGENTS.md"))
    assert found.for_file(str(place.cwd / "deep" / "x.py")) == []


def test_the_users_own_rules_hold_in_an_untrusted_folder(place: Place) -> None:
    place.write(place.home / ".claude" / "rules" / "python.md", '---\npaths: "**/*.py"\n---\nuser rule')
    found = place.load(trusted=False)
    assert [file.text for file in found.for_file(str(place.cwd / "x.py"))] == ["user rule"]


@pytest.mark.parametrize("target", ["secret.md", "../secret.md"])
def test_a_link_out_of_the_project_is_not_followed_unless_approved(place: Place, target: str) -> None:
    outside = place.write(place.base / "secret.md", "secret")
    (place.project / "CLAUDE.md").symlink_to(outside if target == "secret.md" else Path("../../..") / "secret.md")
    found = place.load()
    assert texts(found) == []
    assert "out of the folder" in found.warnings[0]
    approved = InstructionOptions(approves_outside=lambda path: path == str(outside))
    assert texts(place.load(options=approved)) == ["secret"]


def test_an_import_out_of_the_project_is_not_followed_unless_approved(place: Place) -> None:
    secret = place.write(place.home / ".ssh" / "id", "key")
    place.write("CLAUDE.md", f"@~/.ssh/id\n@{secret}\n@../../.ssh/id")
    found = place.load()
    assert texts(found) == [f"@~/.ssh/id\n@{secret}\n@../../.ssh/id"]
    assert len(found.warnings) == 1
    assert "out of the folder" in found.warnings[0]
    assert found.outside == (str(secret),)
    approved = InstructionOptions(approves_outside=lambda path: path == str(secret))
    assert texts(place.load(options=approved))[0] == "key"


def test_the_users_own_file_may_import_from_anywhere(place: Place) -> None:
    shared = place.write(place.base / "shared.md", "shared")
    place.write(place.home / ".claude" / "CLAUDE.md", f"@{shared} and @~/notes.md")
    place.write(place.home / "notes.md", "notes")
    assert texts(place.load())[:2] == ["shared", "notes"]


def test_a_rule_that_forbids_reading_holds_for_instructions_and_imports(place: Place) -> None:
    place.write("CLAUDE.md", "See @.env.md")
    place.write(".env.md", "secret")
    place.write("src/CLAUDE.md", "denied")
    denied = {str(place.project / ".env.md"), str(place.project / "src" / "CLAUDE.md")}
    found = place.load(options=InstructionOptions(may_read=lambda path: path not in denied))
    assert texts(found) == ["See @.env.md"]
    assert all("a rule forbids" in warning for warning in found.warnings)
    assert len(found.warnings) == 2


def test_a_deny_rule_of_the_settings_holds_for_an_import(place: Place) -> None:
    place.write("CLAUDE.md", "See @keys/a.md and @docs/a.md")
    place.write("keys/a.md", "secret")
    place.write("docs/a.md", "docs")
    root = str(place.project)
    context = PermissionContext(
        "default", [Rule.parse("deny", "Read(./keys/**)")], working_directories=(root,), disk=LiveDisk()
    )
    options = InstructionOptions(may_read=lambda path: denies_read(path, context, cwd=root) is None)
    assert texts(place.load(options=options)) == ["docs", "See @keys/a.md and @docs/a.md"]


WATCHED = """
import sys
def hook(event, arguments):
    if event.startswith(("subprocess.", "os.exec", "os.posix_spawn", "os.fork", "os.system", "socket.connect")):
        print("RAN", event, arguments); raise SystemExit(1)
import asyncio, datetime
from holdfast.agent.environment import describe_environment
from holdfast.agent.instructions import load_instructions
from holdfast.permissions import LiveDisk, PermissionContext, Rule, denies_read
from holdfast.settings import SettingsRoots
sys.addaudithook(hook)
root = sys.argv[1]
for trusted in (False, True):
    found = load_instructions(root, root=root, roots=SettingsRoots.from_environment(), trusted=trusted)
    found.for_file(root + "/sub/x.py")
now = datetime.datetime.now(datetime.UTC)
asyncio.run(describe_environment(root, now=now, model="m", trusted=False))
print("quiet", len(found.files))
"""


def test_reading_starts_no_program_and_no_connection(place: Place) -> None:
    place.write("CLAUDE.md", "!`touch ran` @sub/a.md $(touch ran)")
    place.write("sub/a.md", "a")
    place.write("sub/CLAUDE.md", "sub")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(place.project)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["quiet", "2"], done.stderr


# -- on demand


def test_a_subdirectory_is_read_when_a_file_in_it_is_used_and_only_once(place: Place) -> None:
    place.write("src/web/pages/CLAUDE.md", "pages")
    place.write("src/web/pages/admin/AGENTS.md", "admin")
    found = place.load()
    assert texts(found) == []
    later = found.for_file(str(place.cwd / "pages" / "admin" / "index.py"))
    assert [(file.text, file.reason) for file in later] == [
        ("pages", "nested_traversal"),
        ("admin", "nested_traversal"),
    ]
    assert found.for_file("pages/admin/other.py") == []


def test_a_sibling_directory_of_the_project_is_read_on_demand_too(place: Place) -> None:
    place.write("docs/CLAUDE.md", "docs")
    assert [file.text for file in place.load().for_file(str(place.project / "docs" / "a.md"))] == ["docs"]


def test_files_outside_of_the_project_bring_no_instructions(place: Place) -> None:
    place.write(place.base / "other" / "CLAUDE.md", "other")
    assert place.load().for_file(str(place.base / "other" / "a.md")) == []


@pytest.mark.parametrize("folder", ["node_modules/pkg", "vendored"])
def test_installed_code_and_nested_repositories_bring_no_instructions(place: Place, folder: str) -> None:
    place.write(f"{folder}/CLAUDE.md", "foreign")
    place.write(f"{folder}/lib/CLAUDE.md", "foreign")
    if folder == "vendored":
        place.write("vendored/.git", "gitdir: elsewhere")
    found = place.load(cwd=place.project)
    assert found.for_file(str(place.project / folder / "lib" / "x.js")) == []
    assert found.for_file(str(place.project / folder / "x.js")) == []


def test_after_the_conversation_was_shortened_nested_instructions_are_told_again(place: Place) -> None:
    place.write("CLAUDE.md", "root")
    place.write("docs/CLAUDE.md", "docs")
    found = place.load()
    used = str(place.project / "docs" / "a.md")
    assert [file.text for file in found.for_file(used)] == ["docs"]
    found.tell_again()
    assert [file.text for file in found.for_file(used)] == ["docs"]
    assert found.for_file(used) == []


# -- rules


def test_rules_without_globs_hold_from_the_start_in_any_subdirectory(place: Place) -> None:
    place.write("CLAUDE.md", "file")
    place.write(".claude/rules/b.md", "rule b")
    place.write(".claude/rules/a/deep.md", "rule a")
    place.write(".claude/rules/ignored.txt", "no")
    place.write(".holdfast/rules/own.md", "own rule")
    place.write(place.home / ".claude" / "rules" / "mine.md", "user rule")
    assert texts(place.load()) == ["user rule", "file", "rule a", "rule b", "own rule"]


@pytest.mark.parametrize(
    "paths",
    [
        'paths: "src/**/*.ts, docs/*"',
        "paths: src/**/*.ts, docs/*",
        "paths: ['src/**/*.ts', \"docs/*\"]",
        "paths:\n  - src/**/*.ts  # code\n  - 'docs/*'",
        "globs: src/**/*.{js,ts},docs/*",
        "description: x\npaths:\n- ./src/**/*.ts\n- docs/*",
    ],
)
def test_a_rule_with_globs_waits_for_a_file_that_fits(place: Place, paths: str) -> None:
    place.write(".claude/rules/ts.md", f"---\n{paths}\n---\ntyped")
    found = place.load()
    assert texts(found) == []
    assert found.for_file(str(place.project / "src" / "a.py")) == []
    assert found.for_file(str(place.project / "lib" / "docs" / "x")) == []
    later = found.for_file(str(place.project / "src" / "web" / "a.ts"))
    assert [(file.text, file.reason) for file in later] == [("typed", "path_glob_match")]
    assert found.for_file(str(place.project / "docs" / "x")) == []


def test_a_glob_without_a_slash_means_the_top_directory_only(place: Place) -> None:
    place.write(".claude/rules/md.md", "---\npaths: '*.md'\n---\nprose")
    found = place.load()
    assert found.for_file(str(place.project / "docs" / "a.md")) == []
    assert len(found.for_file(str(place.project / "a.md"))) == 1


def test_rules_of_a_subdirectory_count_from_there(place: Place) -> None:
    place.write("pkg/.claude/rules/go.md", "---\npaths: 'cmd/*.go'\n---\ngo")
    found = place.load()
    assert found.for_file(str(place.project / "cmd" / "a.go")) == []
    assert [file.text for file in found.for_file(str(place.project / "pkg" / "cmd" / "a.go"))] == ["go"]


def test_rules_directories_that_lead_in_a_circle_or_outside_end(place: Place) -> None:
    place.write(".claude/rules/a.md", "a")
    (place.project / ".claude" / "rules" / "loop").symlink_to("..", target_is_directory=True)
    place.write(place.base / "shared" / "s.md", "shared")
    (place.project / ".claude" / "rules" / "shared").symlink_to(place.base / "shared", target_is_directory=True)
    os.mkfifo(place.project / ".claude" / "rules" / "pipe.md")
    found = place.load()
    assert texts(found) == ["a"]
    assert len(found.warnings) == 2


def test_there_is_an_end_to_the_number_of_files(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.agent.prompt.reading.MAX_FILES", 3)
    for number in range(5):
        place.write(f".claude/rules/{number}.md", f"rule {number}")
    place.write("src/CLAUDE.md", "one too many")
    found = place.load()
    assert len(found.files) == 3
    assert any("too many files" in warning for warning in found.warnings)
    assert any("more than 3 files" in warning for warning in found.warnings)


def test_a_directory_that_cannot_be_listed_is_named(place: Place) -> None:
    (place.project / ".claude").mkdir()
    (place.project / ".claude" / "rules").symlink_to("rules")
    found = place.load()
    assert texts(found) == []
    assert len(found.warnings) == 1


# -- exclusions


def test_excluded_files_are_not_read_unless_they_are_the_policys(place: Place) -> None:
    place.write(place.policy / "claude-code" / "CLAUDE.md", "policy")
    place.write(place.home / "code" / "CLAUDE.md", "team")
    place.write("CLAUDE.md", "root")
    place.write("src/CLAUDE.md", "middle")
    place.write(".claude/rules/x.md", "rule")
    excludes = (str(place.policy) + "/**", "~/code/CLAUDE.md", "**/{app,lib}/CLAUDE.md", "**/rules/**")
    assert texts(place.load(options=InstructionOptions(excludes=excludes))) == ["policy", "middle"]


def test_exclusions_and_names_come_from_the_settings(place: Place) -> None:
    place.write(
        place.home / ".claude" / "settings.json",
        '{"claudeMdExcludes": ["**/src/CLAUDE.md", 5], "agentsMdFallbackNames": ["TEAM.md"]}',
    )
    place.write("src/CLAUDE.md", "excluded")
    place.write("TEAM.md", "team")
    settings = load_settings(str(place.cwd), place.roots)
    assert texts(place.load(options=InstructionOptions.from_settings(settings))) == ["team"]


@pytest.mark.parametrize("folder", [".claude", ".holdfast"])
def test_a_rules_directory_that_leads_out_of_the_folder_is_not_walked(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    place.write(elsewhere / "secret.md", "theirs")
    place.write(f"{folder}/CLAUDE.md", "ours")
    linked = place.project / folder / "rules"
    linked.symlink_to(elsewhere)
    walked: list[str] = []
    scan = os.scandir

    def scandir(path: str) -> object:
        walked.append(os.path.realpath(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = place.load()
    assert "theirs" not in texts(found)
    assert str(elsewhere) not in walked
    assert any("leads out of the folder" in line for line in found.warnings)
