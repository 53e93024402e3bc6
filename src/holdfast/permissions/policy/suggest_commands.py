"""Rules worth saving after a yes: the shortest that are still safe, one per command."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.judge.coverage import allowed_environment, named_environment
from holdfast.permissions.shell.judge.rule_words import settings_of
from holdfast.permissions.shell.programs.program import having, runs_code, told, words_told
from holdfast.permissions.shell.programs.runners import WRAPPERS
from holdfast.permissions.shell.programs.tool_table import TOOLS
from holdfast.settings.steering import is_steering_variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.permissions.shell.text.analysis import Analysis
    from holdfast.permissions.shell.words.parts import Part

MAX_RULES: Final = 5
_PRIVILEGE: Final = having("privilege")
_OFFER: Final = told("offer")
_TWO: Final = frozenset(name for name, kind in _OFFER.items() if kind == "subcommand")
_EXACT_ONLY: Final = frozenset(name for name, kind in _OFFER.items() if kind == "exact") | (
    having("deletes", "modes", "kills", "system", "devices", "fetches", "sends", "places", "privilege") - TOOLS.keys()
)
_TAKES_DATA: Final = having("input-is-data")
"""Of those, programs to which their input is data and never a script."""
_THREE: Final = words_told("offer-deeper")
_NEVER_SECOND: Final = words_told("offer-never")
"""Subcommands that run other code, publish or destroy: only the very same call is saved."""
_PLACED_BY: Final = {**words_told("moves"), "git": ("-C",)}
_TOOL_RUNNERS: Final = {
    name: [() if word == "." else (word,) for word in text.split()] for name, text in told("starts-tools").items()
}
_KNOWN_TOOLS: Final = having("checker")
"""Checkers and test runners: what they run is the project's own, whoever starts them."""


def suggest_rules(analysis: "Analysis", is_covered: "Callable[[Part], bool] | None" = None) -> tuple[str, ...]:
    """Give the contents of the Bash rules to save, or none when no safe set of rules covers the command.

    `is_covered` says of which parts no rule is wanted, because one that is in force allows them.
    """
    if analysis.doubt or analysis.assigned or analysis.redirect_writes:
        return ()
    return rules_of_parts(analysis, is_covered) or ()


def rules_of_parts(
    analysis: "Analysis", is_covered: "Callable[[Part], bool] | None" = None, *, exact: bool = False
) -> tuple[str, ...] | None:
    """One rule for each command that needs one; None where some command is given none, or they are too many.

    Args:
        analysis: The text. Variables that it sets and places that it writes to are for others to look at.
        is_covered: See `suggest_rules`.
        exact: Commands that no family is safe for are given by their very words.
    """
    rules: dict[str, None] = {}
    spelled: set[int] = set()
    for number, part in enumerate(analysis.parts):
        if number in analysis.guessed or part.refusal is None or not part.argv or part.cover == "strip":
            continue
        parent = part.parent
        if parent >= 0 and (analysis.parts[parent].cover == "same" or parent in spelled):
            spelled.update((number,) if parent in spelled else ())
            continue
        if part.only_redirected or (is_covered is not None and is_covered(part)):
            continue
        rule = _rule_for(part)
        if rule is None and exact and part.name not in _PRIVILEGE:
            rule = _exact(part)
            spelled.add(number)
        if rule is None:
            return None
        rules[rule] = None
    return tuple(rules) if len(rules) <= MAX_RULES else None


def _rule_for(part: "Part") -> str | None:
    name = part.name
    words = [word.text for word in part.argv]
    if part.cover in ("", "opaque") and not part.more and (tool := _known_tool(part, words)):
        return tool
    if part.cover not in ("", "same") or part.more or not part.argv[0].static:
        return None
    if _OFFER.get(name) == "none" or name in _PRIVILEGE or runs_code(name):
        return None
    if name in WRAPPERS and name not in _TWO:
        return None
    if not words[0].isascii() or any(char in words[0] for char in " *\"'\\()"):
        return None
    if not all(map(allowed_environment, part.assigns)):
        return _named_settings(part, words) or _spelled(part, words)
    return _family(part, words)


def _family(part: "Part", words: list[str]) -> str | None:
    name = part.name
    at = _subcommand_at(part, words)
    second = words[at] if len(words) > at else ""
    if (name in _EXACT_ONLY and name not in _TWO) or second in _NEVER_SECOND.get(words[0], ()):
        return _exact(part)
    if name in _TWO:
        return _with_subcommand(part, words, at)
    return f"{words[0]} *"


def _named_settings(part: "Part", words: list[str]) -> str | None:
    """A command with variables that choose nothing that runs: a family, behind the variables as they are set."""
    settings = settings_of(part)
    rule = _family(part, words) if settings and all(map(named_environment, part.assigns)) else None
    if rule is None or not rule.endswith(" *"):
        return None
    return " ".join((*map(_quoted, settings), rule))


def _spelled(part: "Part", words: list[str]) -> str | None:
    """A command with variables that may change what it does: only the very same line, variables and all."""
    if any(is_steering_variable(assigned.partition("=")[0]) for assigned in part.assigns):
        return None  # such a variable chooses which program runs; no rule is worth that
    written = part.source.split()
    set_there = [word.partition("=")[0] for word in written[: -len(words)]]
    is_plain = all(char.isalnum() or char in "-_./:=@%+, " for char in part.source)
    if not (is_plain and part.certain_text and tuple(set_there) == part.assigns and written[-len(words) :] == words):
        return None
    return " ".join(written)


def _subcommand_at(part: "Part", words: list[str]) -> int:
    """Where the subcommand stands: behind a directory that is named first, as in `git -C dir log`."""
    moved = len(words) > 3 and words[1] in _PLACED_BY.get(part.name, ()) and part.argv[1].static and part.argv[2].static
    return 3 if moved and words[2].isprintable() and words[2][:1] not in ("", "-") else 1


def _with_subcommand(part: "Part", words: list[str], at: int) -> str | None:
    plain = at
    wanted = at + (2 if words[at : at + 1] and words[at] in _THREE.get(words[0], ()) else 1)
    while plain < wanted and plain < len(words) and part.argv[plain].static and _is_subcommand(words[plain]):
        plain += 1
    if plain < wanted:
        return _exact(part)
    return " ".join((*words[:2], *map(_quoted, words[2:at]), *words[at:plain]) if at > 1 else words[:plain]) + " *"


def _known_tool(part: "Part", words: list[str]) -> str | None:
    """The family of a well-known tool that a runner starts: `python3 -m pytest *`, `npx tsc *`."""
    if part.assigns or not words[0].isascii() or not all(word.static for word in part.argv[:4]):
        return None
    for runner in _TOOL_RUNNERS.get(words[0].rstrip("0123456789."), ()):
        at = 1 + len(runner)
        if tuple(words[1:at]) == runner and words[at : at + 1] and words[at] in _KNOWN_TOOLS:
            return " ".join(words[: at + 1]) + " *"
    return None


def _is_subcommand(text: str) -> bool:
    return text[:1].isalpha() and all(char.isalnum() or char in "-_:." for char in text)


def _exact(part: "Part") -> str | None:
    if not part.certain_text or (part.name not in _TAKES_DATA and _is_fed(part)):
        return None
    words: list[str] = []
    for word in part.argv:
        if "\n" in word.text or not word.text.isprintable():
            return None
        words.append(_quoted(word.text))
    return " ".join(words)


def _is_fed(part: "Part") -> bool:
    """Whether a command is given input: what it does may stand there, and no rule sees it."""
    return part.piped or any(redirect.kind not in ("write", "dup") for redirect in part.redirects)


def _quoted(text: str) -> str:
    if text and all(char.isalnum() or char in "-_./:=@%+,^~" for char in text):
        return text
    return "".join(f"\\{char}" if char in "*\\'\" \t;&|<>()$`" else char for char in text) or "''"
