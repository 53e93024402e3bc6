"""Every setting, option, variable and public name stands on a page of the reference, and what stands there is true."""

import ast
import inspect
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import dropwhile, groupby
from pathlib import Path
from typing import Any

import click
import pytest

from holdfast import Agent
from holdfast.cli.group import cli
from holdfast.lib.positions import Object, located
from holdfast.settings.schema import check, normalised

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SETTING = re.compile(r"^\| `([\w.]+)` \| (.+) \| (.+) \| (.+) \| `(.+)` \|$", re.MULTILINE)


def script(code: str) -> str:
    """What a script says that has the generator at hand, as `make docs` has it."""
    begin = f"import sys; sys.path[:0] = [{str(ROOT)!r}]; from scripts import reference_pages as pages; "
    done = subprocess.run(
        [sys.executable, "-c", begin + code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def examples() -> dict[str, str]:
    page = (REFERENCE / "settings.md").read_text("utf-8")
    return {key: example for key, _, _, _, example in SETTING.findall(page)}


def nested(key: str, value: Any) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


@pytest.mark.parametrize(("key", "example"), examples().items())
def test_the_example_of_a_setting_is_accepted(key: str, example: str) -> None:
    found = located(nested(key, json.loads(example)))
    assert isinstance(found, Object)
    assert check(normalised(found), path=None, strict=True) == []


def test_every_setting_that_the_code_reads_is_on_the_page() -> None:
    read = json.loads(script("import json; print(json.dumps(sorted(pages.keys_read())))"))
    assert {"mcp.waitMs", "transcripts.mirror", "model", "theme"} <= set(read)  # the scan sees what it should
    assert [key for key in read if key not in examples()] == []


def test_a_setting_or_variable_without_words_stops_the_generation() -> None:
    done = script(
        "\nfor table, page in ((pages.SETTINGS, pages.settings_page), (pages.USED_ELSEWHERE, pages.settings_page),"
        " (pages.ENVIRONMENT, pages.environment_page), (pages.LINES, pages.lines_page)):\n"
        "    table.pop(next(iter(table)))\n"
        "    try: page()\n"
        "    except SystemExit as error: print(error)\n"
    )
    assert len(re.findall("says nothing about these", done)) == 4


def commands(group: click.Group, context: click.Context, words: str) -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[f"{words} {name}"] = command
        if isinstance(command, click.Group):
            found |= commands(command, click.Context(command, parent=context), f"{words} {name}")
    return found


def test_every_option_stands_with_its_command_or_among_the_common_ones() -> None:
    page = (REFERENCE / "command-line.md").read_text("utf-8")
    sections = {part.partition("\n")[0].strip("`"): part for part in page.split("\n## ")[1:]}
    missing: list[str] = []
    known = commands(cli, click.Context(cli), "holdfast")
    assert len(known) > 50
    printing = cli.get_command(click.Context(cli), "print")
    assert printing is not None
    for words, command in {**known, "holdfast [-p] [PROMPT]": printing}.items():
        own = sections.get(words, "")
        common = sections["Common options"] if "(#common-options)" in own else ""
        options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
        missing += [f"{words} {one.opts[0]}" for one in options if f"`{one.opts[0]}`" not in own + common]
    assert missing == []


def test_every_line_of_a_session_is_on_the_page_with_its_fields(tmp_path: Path) -> None:
    page = (REFERENCE / "stream-json.md").read_text("utf-8")
    told = {
        kind: set(re.findall(r"`(\w+)`", fields)) | {"type", "subtype", "session_id", "uuid", "user_message_uuid"}
        for kind, fields in re.findall(r"^\| `([\w/]+)` \| .+ \| (.*) \|$", page, re.MULTILINE)
    }
    turns = [
        [{"tool": "Bash", "input": {"command": "touch x"}}, {"tool": "Glob", "input": {"pattern": "*"}}],
        [{"tool": "Agent", "input": {"description": "look", "prompt": "look", "subagent_type": "general-purpose"}}],
        "Looked.",
        "Done.",
    ]
    (tmp_path / "script.json").write_text(json.dumps(turns))
    options = "--output-format stream-json --verbose --include-partial-messages --permission-mode plan"
    argv = [sys.executable, "-m", "holdfast", "-p", "hi", "--model", "scripted:script.json", *options.split()]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = {f"{line['type']}/{line['subtype']}" if line["type"] == "system" else line["type"] for line in lines}
    assert {"system/init", "assistant", "user", "stream_event", "result", "system/task_started"} <= kinds
    for line in lines:
        kind = f"{line['type']}/{line['subtype']}" if line["type"] == "system" else line["type"]
        dynamic = {"permissionMode"} if kind == "system/status" else set[str]()
        assert set(line) - told[kind] - dynamic - {"user_message_uuids"} == set(), kind


def test_every_argument_of_an_agent_is_told_with_its_type_and_default() -> None:
    page = (REFERENCE / "python.md").read_text("utf-8")
    agent = page.partition("\n### `Agent`\n")[2].partition("\n### ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \| `.+?` \| .+ \|$", agent, re.MULTILINE))
    assert set(rows) == set(inspect.signature(Agent).parameters)
    assert rows["max_turns"] == "int or None"


def promised() -> set[str]:
    return set((ROOT / "tests" / "shape" / "public_names.txt").read_text("utf-8").split())


def test_every_promised_name_is_on_a_page() -> None:
    page = (REFERENCE / "python.md").read_text("utf-8")
    events = (REFERENCE / "events.md").read_text("utf-8")
    for entry in promised():
        name = entry.partition(":")[2]
        assert f"\n### `{name}`\n" in page or f"\n| {name} |" in events, entry


def test_pages_import_promised_names_only() -> None:
    found: set[str] = set()
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("holdfast"):
                    found |= {f"{node.module}:{name.name}" for name in node.names}
    assert len(found) > 20
    assert found - promised() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_is_drawn_as_it_is_meant(page: Path) -> None:
    text = page.read_text("utf-8")
    assert re.findall(r"^\|.*`[^`|\n]*\\\|[^`\n]*`.*$", text, re.MULTILINE) == []  # the site would show the backslash
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        assert re.search(r"^\s*\$ ", block, re.MULTILINE), f"without a prompt all of it is drawn as output: {block}"


def command_lines(text: str) -> Iterator[list[str]]:
    """Every command line of ours on a page, in blocks and in sentences, as a shell would hand it on."""
    lines = re.findall(r"`(holdfast [^`\n]+)`", text)
    for language, block in re.findall(r"^```(bash|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        start = r"^\s*\$ " if language == "console" else "^"
        lines += re.findall(f"{start}(.*)$", block.replace("\\\n", " "), re.MULTILINE)
    for line in lines:
        lexer = shlex.shlex(re.sub(r"\[(-.*?)\]", r"\1", line), posix=True, punctuation_chars="|;&<>")
        lexer.whitespace_split = True
        for is_mark, words in groupby(lexer, lambda word: set(word) <= set("|;&<>()")):
            left = list(dropwhile(lambda word: "=" in word, words))
            if not is_mark and left[:1] == ["holdfast"]:
                yield left[1:]


def problem(words: list[str]) -> str:
    """What our command line does not know about it; arguments that are left out and missing files are fine."""
    context, command = click.Context(cli), cli
    if not words or words[0].startswith("-") or " " in words[0]:  # a prompt
        words = ["print", *(word for word in words if word != "--version")]
    try:
        while isinstance(command, click.Group) and words:
            name, found, words = command.resolve_command(context, [*words])
            assert found is not None
            context, command = click.Context(found, info_name=name, parent=context), found
        command.make_context("", [*words], parent=context)
    except click.NoSuchOption as error:
        return error.format_message()
    except click.UsageError as error:
        return error.format_message() if "No such command" in error.format_message() else ""
    except click.exceptions.Exit:  # --help
        return ""
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_command_lines_on_a_page_are_known(page: Path) -> None:
    found = {" ".join(words): problem(words) for words in command_lines(page.read_text("utf-8"))}
    assert {line: said for line, said in found.items() if said} == {}


def test_unknown_command_lines_are_found() -> None:
    text = "`holdfast sessions shew ID`\n```bash\nX=1 holdfast -p hi --modle x | jq .\n```\n"
    assert len([words for words in command_lines(text) if problem(words)]) == 2
    assert problem(["mcp", "serve", "--transport", "http", "--port", "1"]) == ""
