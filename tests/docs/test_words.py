"""What people read is plain English: no word of our own that an engineer would not know."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from holdfast.cli.group import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
SOURCES = [path for path in sorted((ROOT / "src").rglob("*.py")) if "demo_project" not in path.parts]
BANNED = {
    r"\bdo(es)? not count\b": "is ignored, has no effect",
    r"\b(?<!there )(is|are) no (tool|directory|object|URL|JSON|option|key|kind|rule|field|session)\b": "is not a",
    r"\bso many (turns|days|sessions|tokens|calls)\b": "at most N …",
    r"\bour own words\b": "the built-in text",
    r"\bthe interactive face\b": "the interactive session",
    r"\bBehind (our|the)\b.*\bprompt\b": "added after",
}
BANNED_ON_PAGES = BANNED | {r"\bfaces?\b": "interface, terminal, host"}


def problems(text: str, banned: dict[str, str]) -> list[str]:
    found = ((pattern, re.search(pattern, text, re.IGNORECASE)) for pattern in banned)
    return [f"{match[0]!r}: write {banned[pattern]!r}" for pattern, match in found if match]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_uses_words_that_engineers_know(page: Path) -> None:
    assert problems(page.read_text("utf-8"), BANNED_ON_PAGES) == []


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in a module that somebody may read; not what stands there for those who change it."""
    tree = ast.parse(path.read_text("utf-8"))
    written = {
        id(line.value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        for line in node.body
        if isinstance(line, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in written:
            yield node.lineno, node.value


def test_messages_use_words_that_engineers_know() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {problem}"
        for path in SOURCES
        for line, text in messages(path)
        if " " in text
        for problem in problems(text, BANNED)
    ]
    assert found == []


def commands(group: click.Group, context: click.Context, name: str = "holdfast") -> Iterator[tuple[str, click.Command]]:
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        yield f"{name} {word}", command
        if isinstance(command, click.Group):
            yield from commands(command, click.Context(command, parent=context), f"{name} {word}")


def test_every_flag_has_a_help_in_one_style() -> None:
    context = click.Context(cli)
    odd: list[str] = []
    for name, command in commands(cli, context):
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                text = option.help or ""
                is_sentence = text[:1].isupper() or text.startswith(("`", "stream-json", "bypassPermissions"))
                if not is_sentence or not text.endswith(".") or problems(text, BANNED):
                    odd.append(f"{name} {option.opts[0]}: {text!r}")
    assert odd == []


def test_the_list_finds_what_it_bans() -> None:
    for text in (
        "the key x does not count",
        "'a' is no directory",
        "So many turns with tools.",
        "Instead of our own words.",
    ):
        assert problems(text, BANNED), text
    for text in ("there is no tool of that name", "it is not a directory", "no key"):
        assert not problems(text, BANNED), text
