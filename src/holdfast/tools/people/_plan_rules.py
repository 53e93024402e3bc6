"""Which Bash rules a plan asks for: those it spells out, and those that it only names."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.contract import UsageError
from holdfast.permissions import Rule
from holdfast.permissions.policy.suggest_commands import suggest_rules
from holdfast.permissions.shell.text.analysis import analyse
from holdfast.permissions.shell.words.word import names

__all__ = ["PlanRules", "rules_of_plan"]

_MAX_OFFERED: Final = 12
_MAX_CHARS: Final = 300
_PROGRAMS: Final = names(
    "alembic ansible apt apt-get aws az bazel brew bun bundle cargo cmake composer conda curl deno docker dotnet eslint"
    " flake8 gcc gcloud gem gh git glab go golangci-lint gradle helm jest kubectl ls mkdir mvn mypy ninja node nox npm"
    " npx nx pdm php phpunit pip pip3 pnpm poetry podman pre-commit prettier psql pylint pyright pytest python python3"
    " rake rspec rubocop ruff rustc rustup sqlite3 swift terraform tox tsc turbo uv uvx vite vitest wget yarn zig"
)
"""Programs whose names are no words of a sentence."""
_WORDS: Final = names("make just task invoke black coverage hatch mix rails flask cp mv rm cat find grep sed")
"""Programs whose names are words, too: a command only where the plan shows it as one."""
_SUBCOMMANDED: Final = names("npm pnpm yarn bun cargo git go pip poetry uv make docker dotnet gradle mvn gh helm")
_RUNS_OTHERS: Final = names("exec x dlx config push api publish create init env alias clone submodule bisect")
"""Subcommands that run other code, publish, or change what is run later."""
_CHECKS: Final = names("pytest ruff mypy pyright tsc eslint flake8 pylint jest vitest rspec rubocop ls")
_SPAN: Final = re.compile(r"(?<!`)`([^`\n]{1,300})`(?!`)")
_FENCE: Final = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_SHELL: Final = frozenset({"", "sh", "bash", "shell", "zsh", "console", "terminal"})
_PATTERN: Final = re.compile(r":\*\Z|\*")
_WRAPPED: Final = re.compile(r"\ABash\((.*)\)\Z", re.DOTALL)


class PlanRules(NamedTuple):
    """Rules by what it takes to grant them."""

    given: tuple[str, ...]
    """Spelled out by the model: they come with the yes to the plan."""
    offered: tuple[str, ...]
    """They count only when the person picks them."""


def rules_of_plan(prompts: Sequence[str], plan: str, cwd: str) -> PlanRules:
    """The rules for what the model asks to run."""
    named = list(dict.fromkeys(_named(plan)))
    given: dict[str, None] = {}
    offered: dict[str, None] = {}
    has_prose = False
    for text in prompts:
        content = _content(text)
        if content is None:
            has_prose = True
        elif _is_clear(content, named) and not _is_wide(content):
            given[f"Bash({content})"] = None
        else:
            has_prose = True
            if _may_be_command(content):
                offered[f"Bash({content})"] = None
    for command in named if has_prose else ():
        for rule in suggest_rules(analyse(command, cwd=cwd)):
            offered[f"Bash({rule})"] = None
    left = [rule for rule in offered if rule not in given and _is_rule(rule)]
    return PlanRules(tuple(given), tuple(left[:_MAX_OFFERED]))


def _content(text: str) -> str | None:
    """The text as the content of a rule; none where it cannot be one."""
    text = text.strip()
    wrapped = _WRAPPED.match(text)
    text = wrapped[1].strip() if wrapped else text
    plain = text and len(text) <= _MAX_CHARS and text.isprintable() and not text.startswith("*")
    return text if plain and _is_rule(f"Bash({text})") else None


def _is_rule(text: str) -> bool:
    try:
        Rule.parse("allow", text)
    except UsageError:
        return False
    return True


def _first(content: str) -> str:
    return content.split(maxsplit=1)[0].removesuffix(":*")


def _is_clear(content: str, named: Sequence[str]) -> bool:
    """It is a command and no sentence."""
    return _first(content) in _PROGRAMS or content in named


def _may_be_command(content: str) -> bool:
    return _first(content) in _PROGRAMS | _WORDS


def _is_wide(content: str) -> bool:
    """The pattern lets a program run whatever it is told, so that nobody should get it in passing."""
    if not _PATTERN.search(content):
        return False
    first = _first(content)
    before = re.split(r":\*|\*", content, maxsplit=1)[0].split()[1:]
    if first in _SUBCOMMANDED:
        needed = 2 if before[:1] == ["run"] else 1
        return len(before) < needed or before[0].startswith("-") or before[0] in _RUNS_OTHERS
    return first not in _CHECKS


def _named(plan: str) -> Iterator[str]:
    """The commands that the plan shows, in code spans and in blocks of shell text."""
    for language, block in _FENCE.findall(plan):
        if language.lower() in _SHELL:
            for line in block.splitlines():
                yield from _as_command(line.strip().removeprefix("$ "))
    for span in _SPAN.findall(_FENCE.sub("", plan)):
        yield from _as_command(span.strip().removeprefix("$ "))


def _as_command(text: str) -> Iterator[str]:
    if text and len(text) <= _MAX_CHARS and text.isprintable() and _may_be_command(text):
        yield text
