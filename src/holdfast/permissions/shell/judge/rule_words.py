"""What the words of a command rule leave open, and variables in front of a command, there and in a rule."""

import re
from collections.abc import Callable
from typing import Final

from holdfast.permissions.rules.command_index import GAP, BashRule, RuleIndex
from holdfast.permissions.shell.programs.program import having, runs_code, told, words_told
from holdfast.permissions.shell.programs.wrappers import is_assignment
from holdfast.permissions.shell.words.parts import Part

_RUNS_ANYTHING: Final = having("runs-anything", "privilege", "fetches") | frozenset(
    (*told("wraps"), *(name for name, words in words_told("runs").items() if not words))
)
"""Programs that run or fetch whatever their arguments say, besides interpreters and shells."""
_RUNNING_WORDS: Final = frozenset({("npm", "exec"), ("pnpm", "dlx"), ("pnpm", "exec"), ("yarn", "dlx"), ("uv", "run")})


def is_too_wide_command(content: str) -> bool:
    """Whether a command pattern leaves open what is run."""
    words = content.replace(":*", " *").split()
    if not words or content.strip("* :") == "" or words[0].startswith("*"):
        return True
    if "*" not in content:
        return False
    name = words[0].rstrip("*").rsplit("/", 1)[-1].rstrip("0123456789.")
    if tuple(words[:2]) in _RUNNING_WORDS:
        return len(words) < 4
    fixed = len(words) > 2 and "*" not in words[1] and not words[1].startswith("-")
    return (name in _RUNS_ANYTHING or runs_code(name)) and not fixed


_SET: Final = re.compile(
    r"""[ \t]*([A-Za-z_][A-Za-z0-9_]*)=((?:[A-Za-z0-9_./:@%+,=-]|'[^']*'|"[^"$`\\!]*")*)(?=[ \t])"""
)
_QUOTES: Final = re.compile("['\"]")


def named_with_variables(index: "RuleIndex", part: "Part", covered: "Callable[[str], bool]") -> "BashRule | None":
    """Find an allow rule that names variables set in front of a command, as they are written there.

    Those in front of the named ones need to be `covered` without a rule.
    """
    settings = settings_of(part)
    for at, name in enumerate(part.assigns if settings else ()):
        lead = GAP.join(settings[at:])
        rule = index.find_behind(lead, f"{lead}{GAP}{part.exact}")
        if rule is not None:
            return rule
        if not covered(name):
            break
    return None


def names_whole(rule: "BashRule", part: "Part") -> bool:
    """Whether a rule spells out this command with every variable in front of it, and nothing else."""
    settings = settings_of(part)
    return bool(settings) and rule.kind == "exact" and rule.words[0] == GAP.join((*settings, part.exact))


def names_settings(rule: "BashRule", part: "Part", harmless: "Callable[[str], bool]") -> bool:
    """Whether a rule for a family begins with every variable in front of this command, none of which chooses code."""
    settings = settings_of(part)
    if not settings or rule.kind != "prefix" or not all(map(harmless, part.assigns)):
        return False
    return f"{rule.words[0]}{GAP}".startswith(GAP.join((*settings, part.texts[0], "")))


def settings_of(part: "Part") -> tuple[str, ...]:
    """The words `NAME=value` in front of a command without their quotes; none when some value is not certain."""
    found: list[str] = []
    position = 0
    for name in part.assigns:
        setting = _SET.match(part.source, position)
        if setting is None or setting[1] != name:
            return ()
        found.append(f"{name}={_unquoted(setting[2])}")
        position = setting.end()
    return tuple(found)


def _unquoted(value: str) -> str:
    """Remove the quotes around pieces of a value; a quote inside the other kind stays."""
    out: list[str] = []
    while value:
        quote = _QUOTES.search(value)
        if quote is None:
            out.append(value)
            break
        end = value.index(quote[0], quote.end())
        out += (value[: quote.start()], value[quote.end() : end])
        value = value[end + 1 :]
    return "".join(out)


def uncovered_variable(rule: "BashRule", covered: "Callable[[str], bool]") -> str:
    """Why an allow rule that begins with variables can never match, or ""."""
    if rule.kind in ("all", "exact") or not is_assignment(rule.words[0].partition(GAP)[0]):
        return ""
    words = rule.words[0].split(GAP)
    last = len(words) if rule.kind == "prefix" else len(words) - 1
    for at, word in enumerate(words):
        if not is_assignment(word):
            return ""
        name = word.partition("=")[0]
        if at >= last:
            return f"the value of {name} and the command must be written out, without *"
        if not covered(name):
            return f"{name} may change what runs, so only a rule for the exact command covers it, without *"
    return "no command stands behind the variables"
