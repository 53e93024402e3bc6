"""Which Bash rules a plan asks for: those it spells out, and those that it only names."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.contract import UsageError
from holdfast.permissions import Rule
from holdfast.permissions.policy.suggest_commands import suggest_rules
from holdfast.permissions.shell.programs.program import having, known, words_told
from holdfast.permissions.shell.text.analysis import analyse
from holdfast.permissions.shell.words.word import names

__all__ = ["PlanRules", "rules_of_plan"]

_MAX_OFFERED: Final = 12
_MAX_CHARS: Final = 300
_MORE_PROGRAMS: Final = names("golangci-lint phpunit pre-commit vite")
"""Programs of which nothing else is known."""
_WORDS: Final = names(
    "arch as at batch bear bench bind bison black builtin cage cap cat chamber coffee column command complete convert"
    " coverage cp crystal cut dash date defaults dig dune ed ex exec expand expect export factor false fetch file find"
    " fish flask flit flock fly fold foreman forever free grep groups halt hash hatch head history host hub hush info"
    " init install invoke join just keyring last launch less link links local locale logname look mail make man mix"
    " mocha more most mount mv nice on onchange open parallel paste patch pass perf please printf rails railway read"
    " rename retry rev rm route run rush screen script security sed seq serve serverless service set shuf size slack"
    " sleep snap sort source split sponge stack star stat state strings strip sum super tail task tee test time timeout"
    " toolbox top touch tr trap trash tree true tuna type unlink users vault view volta watch who wine wish yes"
)
"""Names of programs that are words, too, or are not granted in passing: commands where the plan shows them so."""
_SUBCOMMANDED: Final = names("npm pnpm yarn bun cargo git go pip poetry uv make docker dotnet gradle mvn gh helm")
_RUNS_OTHERS: Final = names("exec x dlx config push api publish create init env alias clone submodule bisect")
"""Subcommands that run other code, publish, or change what is run later."""
_NEVER_SECOND: Final = words_told("offer-never")
_STARTS_ANY: Final = names("uv poetry")
"""Their `run` starts any program at all, and not a script of the project."""
_CHECKS: Final = names("pytest ruff mypy pyright tsc eslint flake8 pylint jest vitest rspec rubocop ls")
_OFTEN: Final = names(
    "black cat coverage cp cut find flask grep hatch head invoke just make mix mv rails rm sed sort tail task timeout"
    " touch"
)
"""Those of them that begin a command oftener than a sentence about one."""
_NEVER_GIVEN: Final = ("privilege", "shell", "evaluates", "devices", "system", "kills", "deletes")
"""Such programs are granted only where somebody picks them, unless the plan shows the very command."""
_PATHS: Final = ("./", "../", "/")
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
    shown = list(dict.fromkeys(_shown(plan)))
    named = [text for text in shown if _may_be_command(text)]
    given: dict[str, None] = {}
    offered: dict[str, None] = {}
    has_prose = False
    for text in prompts:
        content = _content(text)
        if content is None:
            has_prose = True
        elif _is_clear(content, shown) and not _is_wide(content):
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


def _is_clear(content: str, shown: Sequence[str]) -> bool:
    """It is a command and no sentence, and nothing in it is too much for a yes in passing."""
    first, analysis = _first(content), analyse(content)
    started = {first, *analysis.names}
    if analysis.doubt or not started.isdisjoint(having("privilege", "shell", "evaluates")):
        return False
    is_program = known(first) is not None or first in _MORE_PROGRAMS
    return content in shown or (is_program and first not in _WORDS and started.isdisjoint(having(*_NEVER_GIVEN)))


def _may_be_command(content: str) -> bool:
    first = _first(content)
    is_program = first in _MORE_PROGRAMS or known(first) is not None
    return first.startswith(_PATHS) or (is_program and (first not in _WORDS or first in _OFTEN))


def _is_wide(content: str) -> bool:
    """The pattern lets a program run whatever it is told, so that nobody should get it in passing."""
    if not _PATTERN.search(content):
        return False
    first = _first(content)
    before = re.split(r":\*|\*", content, maxsplit=1)[0].split()[1:]
    if first not in _SUBCOMMANDED:
        return first not in _CHECKS
    if not before or before[0].startswith("-") or before[0] in (*_RUNS_OTHERS, *_NEVER_SECOND.get(first, ())):
        return True
    return before[0] == "run" and _starts_any(first, before[1:])


def _starts_any(first: str, words: list[str]) -> bool:
    """Whether words behind `uv run`, `npm run`, `docker run` leave open what is run, or with what rights."""
    if not words or words[0].startswith("-") or first == "docker":
        return True
    return first in _STARTS_ANY and words[0] not in _CHECKS


def _shown(plan: str) -> Iterator[str]:
    """What the plan shows as code, in spans and in blocks of shell text."""
    for language, block in _FENCE.findall(plan):
        if language.lower() in _SHELL:
            yield from (_bare(line) for line in block.splitlines() if _is_short(_bare(line)))
    yield from (_bare(span) for span in _SPAN.findall(_FENCE.sub("", plan)) if _is_short(_bare(span)))


def _bare(text: str) -> str:
    return text.strip().removeprefix("$ ")


def _is_short(text: str) -> bool:
    return bool(text) and len(text) <= _MAX_CHARS and text.isprintable()
