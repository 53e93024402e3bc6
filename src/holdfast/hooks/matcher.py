"""Which tools a hook is about. A plain list of names matches exactly, anything else is a regular expression."""

import re
from collections.abc import Callable, Sequence

from holdfast.contract import UsageError

__all__ = ["NameTest", "compile_matcher"]

NameTest = Callable[[Sequence[str]], bool]
_PLAIN = re.compile(r"[A-Za-z0-9_\- ,|]*")


def _everything(names: Sequence[str]) -> bool:
    del names
    return True


def compile_matcher(matcher: str | None) -> NameTest:
    """A test on all names of a tool; `*`, an empty matcher or none match every tool."""
    text = (matcher or "").strip()
    if text in ("", "*"):
        return _everything
    if _PLAIN.fullmatch(text):
        wanted = frozenset(name.strip() for name in re.split(r"[,|]", text) if name.strip())
        return lambda names: not wanted.isdisjoint(names)
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"the hook matcher {matcher!r} is no regular expression: {error}") from error
    return lambda names: any(pattern.search(name) is not None for name in names)
