"""Flags that hosts start us with and this version does not know, or knows only by name."""

import click

from holdfast.cli.options import tell
from holdfast.lib.spelling import nearest_name

__all__ = ["is_grave", "settle_flags"]

_NOT_DONE = {
    "--channels": 1, "--project-config-root": 1,
}  # fmt: skip
"""Known names without an effect here, and how many words follow; each is said."""
_ALWAYS_SO = frozenset({"--await-initialize"})
"""What they ask for is done in any case: the first request is waited for, and counts."""
_REFUSED = frozenset({
    "--managed-settings", "--managed-settings-in-initialize", "--sdk-url",
})  # fmt: skip
"""The host would believe in a limit, a person or a conversation that is not there."""
_MOVED = "--initialize-fields"
"""Names options that come with the first request instead of the command line."""
_MOVABLE = frozenset({"settings", "disallowedTools"})
_GRAVE = ("permission", "disallow", "restrict", "sandbox", "managed", "deny")


def settle_flags(args: list[str], known: frozenset[str]) -> list[str]:
    """The words that count. Where a program speaks stream-json with us, an unknown flag is said and left out.

    Raises:
        UsageError: It may be a mistyped flag, or one that was meant to limit what may happen.
    """
    kept: list[str] = []
    words = list(args)
    while words:
        word = words.pop(0)
        if word == "--":
            return [*kept, word, *words]
        name, equals, _ = word.partition("=")
        if name == "--replay-user-messages" and words and words[0] == "":
            del words[0]
        if name == _MOVED:
            _judge_moved(word.partition("=")[2] if equals else words[0] if words else "")
        if not word.startswith("--") or name in known:
            kept.append(word)
            if name in known and not equals and _takes_value(name) and words:
                kept.append(words.pop(0))
            continue
        if name in _ALWAYS_SO:
            continue
        has_value = bool(words) and not words[0].startswith("-")
        if name in _NOT_DONE:
            has_value = has_value and _NOT_DONE[name] == 1
            tell(f"this version does nothing with {name}")
        else:
            _judge(name, known)
        if has_value and not equals:
            del words[0]
    return kept


def _takes_value(name: str) -> bool:
    """Whose next word may begin with a dash and is still no flag."""
    return name in ("--system-prompt", "--append-system-prompt", "--settings", "--mcp-config")


def is_grave(name: str) -> bool:
    """Whether a name that nobody knows here may be meant to limit what may happen."""
    return any(word in name.lower() for word in _GRAVE)


def _judge_moved(names: str) -> None:
    if lost := sorted(set(names.split(",")) - _MOVABLE - {""}):
        raise click.UsageError(
            f"{_MOVED}: {', '.join(lost)} cannot come with the first request here; give it as an option"
        )


def _judge(name: str, known: frozenset[str]) -> None:
    if name in _REFUSED or is_grave(name):
        raise click.UsageError(f"this version cannot do what {name} asks for, and must not start without it")
    near = nearest_name(name[2:], [one[2:] for one in known if one.startswith("--")])
    if near is not None:
        raise click.UsageError(f"there is no option {name}. Did you mean --{near}?")
    tell(f"the option {name} is not known here and is left out")
