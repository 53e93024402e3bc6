"""The pages of docs/reference, from the code. What has no meaning written down here stops the generation."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from scripts.reference_lines import lines_made
from scripts.reference_python import cell, first_sentence, python_page, type_cell
from scripts.reference_words import ENVIRONMENT, LINES, SETTINGS, USED_ELSEWHERE

from holdfast import events
from holdfast.cli.group import cli
from holdfast.settings.schema import KNOWN

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "docs" / "reference"
_COMMON = 10
"""An option of so many commands is told once."""
_GENERATED = "Generated from the code by `make docs`."
_KINDS = {
    "_string": "string",
    "_boolean": "true or false",
    "_port": "port",
    "_count": "whole number",
    "_strings": "list of strings",
    "_string_or_strings": "string or list",
    "_object": "object",
    "_flag_or_object": "true, false or object",
    "_mode": "mode",
    "_text_or_object": "string or object",
    "_hooks": "object",
    "_env": "object",
}
_FILES = """
| file | whose | precedence |
|---|---|---|
| `/etc/holdfast/managed-settings.json`, `/etc/claude-code/managed-settings.json` | the organisation's | highest |
| `--settings FILE` or JSON, and other options | yours, for this run | |
| `.holdfast/settings.local.json`, `.claude/settings.local.json` | yours, for this project | |
| `.holdfast/settings.json`, `.claude/settings.json` | the project's; most of it waits for trust | |
| `~/.config/holdfast/settings.json`, `~/.claude/settings.json` | yours, for all projects | lowest |

A scalar of a higher file wins; lists are joined. Rules never rank by their file: deny before ask before allow, over all
of them. `null` means that a key is absent. Unknown keys are kept and ignored; a likely misspelling is reported.
"""


def pages() -> dict[Path, str]:
    """Every page by its file."""
    return {
        PLACE / "settings.md": settings_page(),
        PLACE / "command-line.md": command_page(),
        PLACE / "python.md": python_page(),
        PLACE / "events.md": events_page(),
        PLACE / "stream-json.md": lines_page(),
        PLACE / "environment.md": environment_page(),
    }


def settings_page() -> str:
    """Every key of the settings files."""
    lines = ["# Settings", "", _GENERATED, _FILES]
    known = dict(_leaves(KNOWN, ""))
    _same("settings", set(known), set(SETTINGS))
    _same("settings that are read where they are used", keys_read() - set(known), set(USED_ELSEWHERE))
    rows = {key: (kind, *SETTINGS[key]) for key, kind in known.items()} | USED_ELSEWHERE
    areas: dict[str, list[str]] = {}
    for key in rows:
        areas.setdefault(key.partition(".")[0], []).append(key)
    alone = [keys[0] for keys in areas.values() if len(keys) == 1]
    for title, keys in [*((f"`{area}`", keys) for area, keys in areas.items() if len(keys) > 1), ("Others", alone)]:
        lines += [f"## {title}", "", "| key | type | default | meaning | example |", "|---|---|---|---|---|"]
        for key in keys:
            kind, default, meaning, example = rows[key]
            lines.append(f"| `{key}` | {kind} | {default} | {sentence(meaning)} | {example_cell(example)} |")
        lines.append("")
    return "\n".join(lines)


def sentence(meaning: str) -> str:
    """One style of capitals: every meaning in a table is a sentence."""
    return f"{meaning[0].upper()}{meaning[1:]}{'' if meaning.endswith('.') else '.'}"


def example_cell(example: str) -> str:
    """JSON in a cell; a pipe would end it."""
    return f"`{example}`".replace("|", "\\|")


def keys_read() -> set[str]:
    """Every key that the code asks the settings for by name, with what it keeps in a constant first."""
    found: set[str] = set()
    for file in (ROOT / "src" / "holdfast").rglob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                found |= _asked(ast.unparse(node.func), node.args[0], constants)
    sections = {".".join(key.split(".")[:n]) for key in dict(_leaves(KNOWN, "")) for n in (1, 2)}
    return {name for name in found if name not in sections or name in dict(_leaves(KNOWN, ""))}


def _asked(function: str, key: ast.expr, constants: dict[str, Any]) -> set[str]:
    if function != "get" and not re.search(r"settings\.(get|where|origins)$", function):
        return set()
    value = key.value if isinstance(key, ast.Constant) else constants.get(ast.unparse(key))
    return {value} if isinstance(value, str) else set()


def _leaves(rules: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, rule in rules.items():
        held = {type(cell.cell_contents).__name__: cell.cell_contents for cell in rule.__closure__ or ()}
        inner, choices = held.get("dict"), held.get("tuple")
        if inner is not None:
            yield from _leaves(inner, f"{prefix}{name}.")
        else:
            kind = " or ".join(f"`{word}`" for word in choices) if choices else _KINDS[rule.__name__]
            yield f"{prefix}{name}", kind


def command_page() -> str:
    """Every command with its options."""
    lines = ["# Command line", "", _GENERATED, ""]
    context = click.Context(cli, info_name="holdfast")
    printing = cli.get_command(context, "print")
    assert printing is not None
    every = [("holdfast [-p] [PROMPT]", printing, context), *_tree("holdfast", cli, None)]
    told = [_options(command, parent) for _, command, parent in every]
    common = [row for row in told[0] if sum(row in rows for rows in told) >= _COMMON]
    lines += ["Most commands take [the common options](#common-options), which stand at the end.", ""]
    for (words, command, parent), rows in zip(every, told, strict=True):
        lines += _command(words, command, parent, rows, common)
    lines += ["## Common options", "", "| option | meaning |", "|---|---|", *common, ""]
    lines += ["## Exit codes", "", "| code | meaning |", "|---|---|"]
    for code, meaning in (
        (0, "done"),
        (1, "it did not work: the model failed, a limit was reached, a test or check found something"),
        (2, "wrong use: an option, a file or a session that is not there"),
        (130, "interrupted; a result is still written"),
        (141, "nobody reads the output any more"),
        ("128 + n", "ended by the signal n"),
    ):
        lines.append(f"| {code} | {sentence(meaning)} |")
    return "\n".join(lines) + "\n"


def _tree(
    words: str, group: click.Group, parent: click.Context | None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(group, info_name=words, parent=parent)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield f"{words} {name}", found, context
        if isinstance(found, click.Group):
            yield from _tree(f"{words} {name}", found, context)


def _options(command: click.Command, parent: click.Context) -> list[str]:
    context = click.Context(command, parent=parent)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
    return [f"| {_spelt(one, context)} | {cell(one.help or '')} |" for one in options if "--help" not in one.opts]


def _command(
    words: str, command: click.Command, parent: click.Context, rows: list[str], common: list[str]
) -> list[str]:
    about = inspect.cleandoc(command.help or "").split("\b", maxsplit=1)[0].strip()
    lines = [f"## `{words}`", "", " ".join(about.split()), ""]
    context = click.Context(command, info_name=words, parent=parent)
    arguments = [one for one in command.get_params(context) if isinstance(one, click.Argument)]
    if arguments:
        lines += [f"Arguments: {', '.join(f'`{one.make_metavar(context)}`' for one in arguments)}", ""]
    own = [row for row in rows if row not in common]
    shared = [row for row in common if row in rows]
    if own:
        lines += ["| option | meaning |", "|---|---|", *own, ""]
    if shared and len(shared) == len(common):
        lines += ["And [the common options](#common-options).", ""]
    elif shared:
        names = ", ".join(row.split(" ", 2)[1].rstrip(",") for row in shared)
        lines += [f"And of [the common options](#common-options): {names}.", ""]
    return lines


def _spelt(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.is_flag or option.count:
        return names
    if isinstance(option.type, click.IntRange | click.FloatRange) and option.metavar is None:
        return f"{names} `N`"
    words = option.make_metavar(context).removeprefix("[").removesuffix("]").split("|")  # a pipe would end the cell
    return f"{names} {' or '.join(f'`{word}`' for word in words)}"


def events_page() -> str:
    """Every event with its fields."""
    lines = ["# Events", "", _GENERATED, ""]
    lines.append("`Agent.stream`, `exec --events` and the journal tell these. `type` is the word in JSON.")
    lines += ["", "| event | `type` | when | fields |", "|---|---|---|---|"]
    for name in sorted(events.__all__):
        kind = getattr(events, name)
        if not (inspect.isclass(kind) and issubclass(kind, events.Event) and kind is not events.Event):
            continue
        hints = get_annotations(kind)
        fields = ", ".join(f"`{field}`: {type_cell(hints[field])}" for field in kind.__struct_fields__)
        about: Any = msgspec.inspect.type_info(kind)
        lines.append(f"| {name} | `{about.tag}` | {cell(first_sentence(kind))} | {fields} |")
    return "\n".join(lines) + "\n"


def get_annotations(kind: type) -> dict[str, str]:
    """The types of the fields as they are written, also of those that come from a base."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        found |= {name: inspect.formatannotation(value) for name, value in inspect.get_annotations(base).items()}
    return found


def lines_page() -> str:
    """Every line of stream-json."""
    made = lines_made()
    _same("lines", set(made), set(LINES))
    lines = ["# Lines of stream-json", "", _GENERATED, ""]
    lines += [
        "`holdfast -p --output-format stream-json` writes one JSON object a line. Every line has `type`, `session_id`",
        "and `uuid`; those of `type` `system` have a `subtype`. Lines that answer a prompt with a `uuid` name it in",
        "`user_message_uuid`. What hosts write (`control_request`), and what they are asked, is on [the page for",
        "hosts](../hosts.md); the lines of `holdfast exec` are on [the first page](../start.md#one-call-at-a-time).",
        "",
        "| line | meaning | fields |",
        "|---|---|---|",
    ]
    for kind, fields in made.items():
        named = ", ".join(f"`{field}`" for field in fields)
        lines.append(f"| `{kind}` | {cell(sentence(LINES[kind]))} | {named} |")
    return "\n".join(lines) + "\n"


def environment_page() -> str:
    """Every variable that is read."""
    lines = ["# Environment variables", "", _GENERATED, ""]
    lines.append(
        "Where two names stand together the first wins. `env` of settings files reaches commands only, never these."
    )
    lines += ["", "| variable | meaning |", "|---|---|"]
    _same("variables", _variables(), {name for names in ENVIRONMENT for name in names.split()} & _variables())
    for names, meaning in ENVIRONMENT.items():
        lines.append(f"| {', '.join(f'`{name}`' for name in names.split())} | {sentence(meaning)} |")
    return "\n".join(lines) + "\n"


def _variables() -> set[str]:
    """What the code names as a variable of ours or of a provider, and what it asks its environment for."""
    ours = re.compile(
        r'"((?:HOLDFAST|CLAUDE|MCP|ENABLE|MAX_MCP|ANTHROPIC|OPENAI|GEMINI|GOOGLE|AWS|OLLAMA|SEARXNG|BRAVE|TAVILY|EXA|OTEL)'
        r'_[A-Z0-9_]*[A-Z0-9])"'
    )
    asked = re.compile(r'\b(?:environ|env|getenv)(?:\.get)?[\[(]\s*"([A-Z][A-Z0-9_]+)"')
    texts = [file.read_text("utf-8") for file in (ROOT / "src" / "holdfast").rglob("*.py")]
    found = {name for text in texts for pattern in (ours, asked) for name in pattern.findall(text)}
    # The beginning of a name, names of every system, and names that are only kept from commands.
    others = {"CLAUDE_CODE", "HOME", "PATH", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES"}
    return found - others - {"GOOGLE_AI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"}


def _same(what: str, found: set[str], written: set[str]) -> None:
    if missing := sorted(found - written):
        raise SystemExit(f"scripts/reference_words.py says nothing about these {what}: {', '.join(missing)}")
    if gone := sorted(written - found):
        raise SystemExit(f"scripts/reference_words.py speaks of {what} that are gone: {', '.join(gone)}")
