"""Skills and commands in folders: every field of the open specification and beyond, every place, and odd files."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.definitions.fields import first_line
from holdfast.definitions.library import Library, open_library
from holdfast.definitions.skills import Skill

FULL = """---
name: pdf-forms
description: Fills in PDF forms. Use it when a form has to be filled.
license: Apache-2.0
compatibility: Needs python3 and network.
metadata:
  author: somebody
  version: "1.0"
allowed-tools: Bash(git add *) Read mcp__docs
when_to_use: The user names a form.
argument-hint: "[file] [field]"
arguments: file field
disable-model-invocation: false
user-invocable: true
disallowed-tools: WebFetch, MultiEdit
model: haiku
effort: low
context: fork
agent: Explore
background: true
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./check.sh}]
paths: ["forms/**", "*.pdf"]
shell: bash
something-else: 1
---

# Forms

Fill $file.
"""


def library(folders: Any, **where: Any) -> Library:
    return open_library(folders.where(**where))


def one(folders: Any, text: str | bytes, name: str = "pdf-forms") -> Skill:
    folders.write(f".claude/skills/{name}/SKILL.md", text)
    (found,) = library(folders)
    return found


def test_every_field_of_a_skill_is_read(folders: Any) -> None:
    skill = one(folders, FULL)
    assert (skill.name, skill.source, skill.is_command) == ("pdf-forms", "project", False)
    assert skill.about == "Fills in PDF forms. Use it when a form has to be filled. The user names a form."
    assert skill.fields.text("license") == "Apache-2.0"
    assert skill.fields.text("compatibility") == "Needs python3 and network."
    assert skill.fields.mapping("metadata") == {"author": "somebody", "version": "1.0"}
    assert skill.allowed_tools.rules == ("Bash(git add *)", "Read", "mcp__docs")
    assert skill.disallowed_tools.rules == ("WebFetch", "Edit")
    assert (skill.argument_hint, skill.arguments) == ("[file] [field]", ("file", "field"))
    assert (skill.for_model, skill.for_user, skill.forks, skill.agent, skill.background) == (
        *(True, True, True, "Explore", True),
    )
    assert (skill.model, skill.effort, skill.shell) == ("haiku", "low", "bash")
    assert [(hook.event, hook.matcher) for hook in skill.hook_entries()] == [("PreToolUse", "Bash")]
    assert skill.paths == ("forms/**", "*.pdf")
    assert skill.load().body == "# Forms\n\nFill $file."
    assert skill.warnings() == []


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("name: Other_Name", "is not its directory's"),
        ("description: " + "x" * 1_025, "1,025 characters, more than 1,024"),
        ("compatibility: " + "x" * 501, "more than 500 characters"),
        ("metadata: {nested: {a: b}}", "more than strings"),
        ("metadata: plain", "metadata is not a mapping"),
        ("allowed-tools: Reed Read", "a tool 'Reed'"),
        ("model: gpt of mine", "is not a known one"),
        ("effort: enormous", "use one of low"),
        ("shell: fish", "use one of bash, powershell"),
        ("background: perhaps", "write true or false"),
        ("user-invocable: maybe", "write true or false"),
        ("disable-model-invocation: maybe", "write true or false"),
        ("hooks: none", "hooks is not a mapping"),
        ("title: a: b: c", "not valid YAML"),
    ],
)
def test_what_is_odd_about_a_skill_is_said_and_it_loads(folders: Any, field: str, says: str) -> None:
    text = "" if field.startswith("description") else "description: Fills in forms.\n"
    skill = one(folders, f"---\n{text}{field}\n---\nDo it.\n")
    assert skill.name == "pdf-forms"
    assert any(says in warning for warning in skill.warnings()), skill.warnings()
    assert skill.load().body == "Do it."


@pytest.mark.parametrize("name", ["-edge", "two--hyphens", "Capital", "with_underscore", "x" * 65])
def test_a_name_against_the_specification_is_told_and_loads(folders: Any, name: str) -> None:
    skill = one(folders, "---\ndescription: d\n---\nx\n", name)
    assert skill.name == name
    assert any("a-z, 0-9 and single hyphens" in warning for warning in skill.warnings())


@pytest.mark.parametrize("spelled", ["allowed-tools", "allowed_tools", "allowedTools"])
@pytest.mark.parametrize(
    ("written", "rules"),
    [
        ("Read Grep", ("Read", "Grep")),
        ("Read, Bash(npm test:*)", ("Read", "Bash(npm test:*)")),
        ("[Read, LS]", ("Read", "Glob")),
        ("\n  - MultiEdit\n  - NotebookRead", ("Edit", "Read")),
    ],
)
def test_tools_are_read_in_every_form(folders: Any, spelled: str, written: str, rules: tuple[str, ...]) -> None:
    skill = one(folders, f"---\ndescription: d\n{spelled}: {written}\n---\nx\n")
    assert skill.allowed_tools.rules == rules


def test_a_long_description_is_cut_where_a_model_reads_it(folders: Any) -> None:
    skill = one(folders, f"---\ndescription: {'word ' * 600}\n---\nx\n")
    assert len(skill.about) == 1_536
    assert skill.about.endswith("…")


@pytest.mark.parametrize(
    ("text", "about"),
    [
        (b"\xef\xbb\xbf---\nname: x\ndescription: With a mark.\n---\nBody.\n", "With a mark."),
        (b"---\r\nname: x\r\ndescription: Windows.\r\n---\r\nBody.\r\n", "Windows."),
        (b"\n\n---\ndescription: Blank lines first.\n---\nBody.\n", "Blank lines first."),
        (b"# A title\n\nBody without front matter.\n", "A title"),
        (b"---\ndescription: never closed\nBody.\n", "description: never closed"),
        (b"---\ndescription: [a list, of words]\n---\nBody.\n", "[a list, of words]"),
        (b"---\ndescription: Use: when a colon stands here\n---\nBody.\n", "Use: when a colon stands here"),
        (b"---\ndescription: >-\n  Two\n  lines.\n---\nBody.\n", "Two lines."),
        ("---\ndescription: schön\n---\nBody.\n".encode("utf-16"), "schön"),
        (b"---\ndescription: 3.0\nversion: 2024-01-01\n---\nBody.\n", "3.0"),
    ],
)
def test_files_as_people_write_them_load(folders: Any, text: bytes, about: str) -> None:
    skill = one(folders, text)
    assert skill.about == about
    assert "ody" in skill.load().body


def test_places_have_their_ranks_and_the_hidden_ones_are_kept(folders: Any) -> None:
    text = "---\ndescription: {}\n---\nx\n"
    places = {
        "/skills/same/SKILL.md": "policy",
        "~/.config/holdfast/skills/same/SKILL.md": "native of the user",
        "~/.claude/skills/same/SKILL.md": "existing of the user",
        "~/.agents/skills/same/SKILL.md": "shared of the user",
        ".holdfast/skills/same/SKILL.md": "native of the project",
        ".claude/skills/same/SKILL.md": "existing of the project",
        ".agents/skills/same/SKILL.md": "shared of the project",
        ".claude/commands/same.md": "command",
    }
    for path, about in places.items():
        folders.write(path, text.format(about))
    for about in list(places.values())[:-1]:
        (found,) = library(folders)
        assert found.about == about
        next(iter(path for path, said in places.items() if said == about))
        Path(found.path).unlink()
    (found,) = library(folders)
    assert (found.about, found.is_command) == ("command", True)


def test_an_untrusted_folder_brings_no_skills_but_the_users_count(folders: Any) -> None:
    folders.write(".claude/skills/theirs/SKILL.md", "---\ndescription: d\n---\nx\n")
    folders.write("~/.claude/skills/mine/SKILL.md", "---\ndescription: d\n---\nx\n")
    assert [skill.name for skill in library(folders, trusted=False)] == ["mine"]


def test_commands_have_their_directories_in_their_names_and_the_first_line_describes(folders: Any) -> None:
    folders.write(".claude/commands/git/tidy.md", "Tidy the branches.\n\nAll of them.\n")
    folders.write(".claude/commands/README.md", "About these.\n")
    found = library(folders)
    (tidy,) = found
    assert (tidy.name, tidy.about, tidy.warnings()) == ("git:tidy", "Tidy the branches.", [])
    assert found.find("tidy") is tidy
    assert found.find("project:tidy") is tidy


def test_a_first_line_keeps_the_marks_that_belong_to_it() -> None:
    lines = {"## Tidy `x`": "Tidy `x`", "**Bold.**": "Bold.", "`all`": "all", '> Say "hi"': 'Say "hi"', "# A #": "A"}
    assert {line: first_line(f"{line}\nmore") for line in lines} == lines


def test_skills_below_come_up_with_a_file_and_those_with_paths_with_theirs(folders: Any) -> None:
    folders.write("packages/web/.claude/skills/deploy/SKILL.md", "---\ndescription: Deploys the web.\n---\nx\n")
    folders.write(".claude/skills/forms/SKILL.md", "---\ndescription: d\npaths: forms/**\n---\nx\n")
    found = library(folders)
    assert found.listed() == []
    assert [skill.name for skill in found.for_file("packages/web/src/a.ts")] == ["deploy"]
    assert found.for_file("packages/web/src/b.ts") == []
    assert [skill.name for skill in found.for_file("forms/a.pdf")] == ["forms"]


def test_links_lead_to_skills_inside_the_project_only(folders: Any) -> None:
    inside = folders.write("shared/inside/SKILL.md", "---\ndescription: d\n---\nx\n").parent
    outside = folders.write("~/elsewhere/outside/SKILL.md", "---\ndescription: d\n---\nx\n").parent
    place = folders.project / ".claude" / "skills"
    place.mkdir(parents=True)
    (place / "inside").symlink_to(inside)
    (place / "outside").symlink_to(outside)
    assert [skill.name for skill in library(folders)] == ["inside"]


def test_a_listing_keeps_its_limit_with_thousands_of_skills(folders: Any) -> None:
    for number in range(300):
        text = f"---\nname: skill-{number}\ndescription: {'Words about it. ' * 30}\n---\nBody.\n"
        folders.write(f"~/.claude/skills/skill-{number:04d}/SKILL.md", text)
    text = library(folders).listing()
    assert len(text) <= 15_000
    assert text.count("\n") == 299
    assert "skill-0299" in text
    short = library(folders).listing(2_000)
    assert len(short) <= 2_000
    assert "more: a call with words of what you need" in short


def test_only_the_beginning_of_a_file_is_searched_for_its_front_matter(folders: Any) -> None:
    skill = one(folders, "---\ndescription: d\n" + "#" * 70_000 + "\n---\nBody.\n")
    assert not skill.has_front_matter
