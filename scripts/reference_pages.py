"""The pages of docs/reference, from the code. What has no meaning written down here stops the generation."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from scripts.reference_words import ENVIRONMENT, SETTINGS

from holdfast import events
from holdfast.cli.main import cli
from holdfast.contract.function_tool import _described_parameters  # pyright: ignore[reportPrivateUsage] - the same reader
from holdfast.settings.schema import KNOWN

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "docs" / "reference"
_NAMES = ROOT / "tests" / "shape" / "public_names.txt"
_GENERATED = "Generated from the code by `make docs`."
_KINDS = {
    "_string": "text",
    "_boolean": "true or false",
    "_port": "port",
    "_count": "whole number",
    "_strings": "list of texts",
    "_string_or_strings": "text or list",
    "_object": "object",
    "_flag_or_object": "true, false or object",
    "_mode": "mode",
    "_text_or_object": "text or object",
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
of them. `null` means that a key is absent. Unknown keys are kept and ignored; one that nearly is a known key is told.
"""


def pages() -> dict[Path, str]:
    """Every page by its file."""
    return {
        PLACE / "settings.md": settings_page(),
        PLACE / "command-line.md": command_page(),
        PLACE / "python.md": python_page(),
        PLACE / "events.md": events_page(),
        PLACE / "environment.md": environment_page(),
    }


def settings_page() -> str:
    """Every key of the settings files."""
    lines = ["# Settings", "", _GENERATED, _FILES, "| key | type | default | meaning |", "|---|---|---|---|"]
    known = dict(_leaves(KNOWN, ""))
    _same("settings.py keys", set(known), set(SETTINGS))
    for key, kind in known.items():
        default, meaning = SETTINGS[key]
        lines.append(f"| `{key}` | {kind} | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def _leaves(rules: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, rule in rules.items():
        cells = [cell.cell_contents for cell in rule.__closure__ or ()]
        inner = next((cell for cell in cells if isinstance(cell, dict)), None)
        choices = next((cell for cell in cells if isinstance(cell, tuple)), None)
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
    lines += _command("holdfast [-p] [PROMPT]", printing, context)
    for name in cli.list_commands(context):
        found = cli.get_command(context, name)
        assert found is not None
        lines += _tree(f"holdfast {name}", found, context)
    lines += ["## Exit codes", "", "| code | meaning |", "|---|---|"]
    for code, meaning in (
        (0, "done"),
        (1, "it did not work: the model failed, a limit was reached, a test or check found something"),
        (2, "wrong use: an option, a file or a session that is not there"),
        (130, "interrupted; a result is still written"),
        (141, "nobody reads the output any more"),
        ("128 + n", "ended by the signal n"),
    ):
        lines.append(f"| {code} | {meaning} |")
    return "\n".join(lines) + "\n"


def _tree(words: str, command: click.Command, parent: click.Context) -> list[str]:
    lines = _command(words, command, parent)
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words, parent=parent)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            lines += _tree(f"{words} {name}", found, context)
    return lines


def _command(words: str, command: click.Command, parent: click.Context) -> list[str]:
    about = inspect.cleandoc(command.help or "").split("\b", maxsplit=1)[0].strip()
    lines = [f"## `{words}`", "", " ".join(about.split()), ""]
    context = click.Context(command, info_name=words, parent=parent)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
    arguments = [one for one in command.get_params(context) if isinstance(one, click.Argument)]
    if arguments:
        lines += [f"Arguments: {', '.join(f'`{one.make_metavar(context)}`' for one in arguments)}", ""]
    if options:
        lines += ["| option | |", "|---|---|"]
        lines += [f"| {_spelt(one, context)} | {_cell(one.help or '')} |" for one in options]
        lines.append("")
    return lines


def _spelt(option: click.Option, context: click.Context) -> str:
    value = "" if option.is_flag or option.count else f" {option.make_metavar(context)}"
    return _cell(", ".join(f"`{name}`" for name in option.opts) + (f" `{value.strip()}`" if value.strip() else ""))


def python_page() -> str:
    """Every promised name."""
    lines = ["# Python", "", _GENERATED, "", "These names are promised; all others may change.", ""]
    module = ""
    for line in _NAMES.read_text("utf-8").split():
        home, _, name = line.partition(":")
        if home != module:
            module = home
            lines += [f"## `{module}`", ""]
        lines += _named(name, getattr(importlib.import_module(home), name))
    return "\n".join(lines) + "\n"


def _named(name: str, value: Any) -> list[str]:
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return [f"### `{name}`", "", f"`{value!r}`" if isinstance(value, str) else f"A `{type(value).__name__}`.", ""]
    signature = _signature(value)
    lines = [f"### `{name}{signature}`", "", _first(value), ""]
    maker = vars(value).get("__init__") if inspect.isclass(value) else value
    told = _described_parameters(inspect.getdoc(maker) or "")
    if told:
        rows = [f"| `{argument}` | {_cell(meaning)} |" for argument, meaning in told.items()]
        lines += ["| argument | |", "|---|---|", *rows, ""]
    if inspect.isclass(value):
        own = [(key, member) for key, member in vars(value).items() if not key.startswith("_")]
        rows = [
            f"| `{key}{_signature(member) if callable(member) else ''}` | {_cell(_first(member))} |"
            for key, member in own
            if (callable(member) or isinstance(member, property)) and _first(member)
        ]
        lines += ["| member | |", "|---|---|", *rows, ""] if rows else []
    return lines


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    names = [
        ("*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else "") + one.name
        for one in found.parameters.values()
        if one.name != "self"
    ]
    return f"({', '.join(names)})"


def _first(value: Any) -> str:
    text = inspect.getdoc(value.fget if isinstance(value, property) else value) or ""
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def events_page() -> str:
    """Every event with its fields."""
    lines = ["# Events", "", _GENERATED, ""]
    lines.append("`Agent.stream`, `exec --events` and the journal tell these. `type` is the word in JSON.")
    lines += ["", "| event | `type` | when | fields |", "|---|---|---|---|"]
    for name in sorted(events.__all__):
        kind = getattr(events, name)
        if not (inspect.isclass(kind) and issubclass(kind, events.Event) and kind is not events.Event):
            continue
        fields = ", ".join(f"`{field}`" for field in kind.__struct_fields__)
        tag = msgspec.inspect.type_info(kind).tag  # pyright: ignore[reportAttributeAccessIssue]
        lines.append(f"| {name} | `{tag}` | {_cell(_first(kind))} | {fields} |")
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
        lines.append(f"| {', '.join(f'`{name}`' for name in names.split())} | {meaning} |")
    return "\n".join(lines) + "\n"


def _variables() -> set[str]:
    """What the code names as a variable of ours or of a provider."""
    pattern = re.compile(
        r'"((?:HOLDFAST|CLAUDE|MCP|ENABLE|MAX_MCP|ANTHROPIC|OPENAI|OLLAMA|SEARXNG|BRAVE|TAVILY|EXA)_[A-Z0-9_]*[A-Z0-9])"'
    )
    files = (ROOT / "src" / "holdfast").rglob("*.py")
    found = {name for file in files for name in pattern.findall(file.read_text("utf-8"))}
    return found - {"CLAUDE_CODE"}  # a beginning of names


def _same(what: str, found: set[str], written: set[str]) -> None:
    if missing := sorted(found - written):
        raise SystemExit(f"scripts/reference_words.py says nothing about these {what}: {', '.join(missing)}")
    if gone := sorted(written - found):
        raise SystemExit(f"scripts/reference_words.py speaks of {what} that are gone: {', '.join(gone)}")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
