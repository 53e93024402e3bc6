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
    r"\bnot looked at\b|\bis (un)?known and not looked\b": "is ignored, is not read",
    r"\bcounts? for nothing\b": "has no effect",
    r"\bcounts? (only )?(from|in) (a policy|skills|the start)\b": "takes effect, is read",
    r"\b(so that these|which of these|rules) count\b": "apply",
    r"\bis called so\b": "has that name",
    r"\bleft in peace\b": "is not asked again",
    r"\b(agents are|is still|is) at work\b": "is running",
    r"\b(be|is|give|write) a texts?\b|\b(list|object) of texts\b": "a string, a list of strings",
    r"\bwhat is no\b|\bis none that\b": "what is not a …",
    r"\b(which|one|policy that) nobody knows\b": "is unknown",
    r"\bwaits? for your word\b": "waits for your answer",
    r"\b(of ours|of us|for us|to us|our (keys|login|proxy|tools|words))\b": "Holdfast's, or leave it out",
    r"\b(is|are) told (as|in the log)\b|\bmisses are told\b": "is reported",
    r"\bwhat is odd\b|\bis in a bad way\b": "problems",
    r"\bBehind (our|the)\b.*\bprompt\b": "added after",
}
BANNED_ON_PAGES = BANNED | {r"\bfaces?\b": "interface, terminal, host"}


def problems(text: str, banned: dict[str, str]) -> list[str]:
    found = ((pattern, re.search(pattern, text, re.IGNORECASE)) for pattern in banned)
    return [f"{match[0]!r}: write {banned[pattern]!r}" for pattern, match in found if match]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_uses_words_that_engineers_know(page: Path) -> None:
    assert problems(page.read_text("utf-8"), BANNED_ON_PAGES) == []


NAMES = (
    r"\b(A|CI|I|HTTP|JSON|API|MCP|SDK|ACP|OAuth|Python|Holdfast|Linux|macOS|Windows|Claude|Codex|Landlock|Agent|"
    r"([A-Z][a-z]+){2,})\b"
)


def capitals(text: str) -> Iterator[str]:
    """Headings and heads of tables that are not in the one style: `# A heading`, `| a column |`."""
    lines = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()
    for line, beneath in zip(lines, [*lines[1:], ""], strict=True):
        plain = re.sub(NAMES, "x", re.sub(r"`[^`]*`", "X", line).replace("# X", "# Code"))
        if re.match(r"#+ ", line) and not re.fullmatch(r"#+ (\d+\. )?[A-Zx][^A-Z]*", plain.replace(" X", " x")):
            yield line
        if re.fullmatch(r"\|[-:| ]+\|", beneath) and re.search(r"\| [A-WYZ]", plain):
            yield line


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_headings_and_heads_of_tables_have_one_style_of_capitals(page: Path) -> None:
    assert list(capitals(page.read_text("utf-8"))) == []


def test_another_style_of_capitals_is_found() -> None:
    text = (
        "# A Heading\n\n## lower\n\n| Option | meaning |\n|---|---|\n\n## An MCP server of `Foo`\n\n| a `B` |\n|---|\n"
    )
    assert list(capitals(text)) == ["# A Heading", "## lower", "| Option | meaning |"]


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
        "is not known and not looked at",
        "their yes counts for nothing",
        "args must be a list of texts",
        "'x' must be a text, got 7",
        "the agent is still at work",
        "the rule is told as malformed",
        "the network is reached only through our proxy",
    ):
        assert problems(text, BANNED), text
    for text in (
        "there is no tool of that name",
        "it is not a directory",
        "no key",
        "it counts lines from 1",
        "a text file, or text between quotes",
        "it works with 3 agents",
    ):
        assert not problems(text, BANNED), text
