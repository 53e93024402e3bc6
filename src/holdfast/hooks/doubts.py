"""What is odd about a hook that can be read: it names no tool that there is, or a condition that is no rule."""

import re
from collections.abc import Iterator
from typing import Final

from holdfast.contract import UsageError
from holdfast.contract.names import ALIASES, BUILTIN_NAMES, RETIRED
from holdfast.hooks.matcher import NameTest
from holdfast.lib.spelling import nearest_name

__all__ = ["doubts_about_condition", "doubts_about_matcher", "is_more_than_one_rule"]

_SEVERAL: Final = re.compile(r"\)[\s,|&;]*(?:or\b|and\b)?\s*(?:[A-Z]\w*|mcp__\w+)\(")
_SERVER: Final = re.compile(r"mcp__[\w\-]+")
_WORD: Final = re.compile(r"\w+")


def doubts_about_matcher(matcher: str, fits: NameTest) -> Iterator[str]:
    """What a matcher of tool names most likely does not do, although it was meant to."""
    for name, today in RETIRED.items():
        if re.search(rf"\b{name}\b", matcher) and fits((name,)) and not fits((today,)):
            yield f"the matcher {matcher!r} names {name}, a tool that was retired; {today} does its work and is heard"
    names = (*BUILTIN_NAMES, *ALIASES, *RETIRED)
    if any(fits((name,)) for name in names):
        return
    server = _SERVER.fullmatch(matcher.strip())
    if server is not None and "__" not in matcher.strip().removeprefix("mcp__"):
        yield f"the matcher {matcher!r} fits no tool; for all tools of that server write {server[0] + '__.*'!r}"
    elif "mcp__" not in matcher:
        near = (nearest_name(word, names) for word in _WORD.findall(matcher))
        meant = next((f" (did you mean {name}?)" for name in near if name is not None), "")
        yield f"the matcher {matcher!r} fits no built-in tool{meant}"


def doubts_about_condition(text: str) -> Iterator[str]:
    """Why an `if` filters nothing."""
    from holdfast.permissions import Rule  # noqa: PLC0415 - few hooks have one

    if is_more_than_one_rule(text):
        yield f"its `if` {text!r} is more than one rule, so it filters nothing; write one hook for each"
        return
    try:
        Rule.parse("deny", text, aliases=ALIASES)
    except UsageError as error:
        yield f"its `if` filters nothing: {error}"


def is_more_than_one_rule(text: str) -> bool:
    """Somebody joined rules, which would be read as one that speaks of no call."""
    return _SEVERAL.search(text) is not None
