"""Which events a hook is about: a plain list of names matches exactly, anything else is a JavaScript pattern."""

import re
from collections.abc import Callable, Sequence

from holdfast.contract import UsageError

__all__ = ["NameTest", "compile_matcher"]

NameTest = Callable[[Sequence[str]], bool]
_PLAIN = re.compile(r"[A-Za-z0-9_\- ,|]*")
_MAX_NAME_CHARS = 1_000


def _everything(names: Sequence[str]) -> bool:
    del names
    return True


def compile_matcher(matcher: str | None) -> NameTest:
    """A test on all names of a subject; `*`, an empty matcher or none match every one.

    Raises:
        UsageError: It is no regular expression, or one that cannot be read as JavaScript reads it.
    """
    text = (matcher or "").strip()
    if text in ("", "*"):
        return _everything
    if _PLAIN.fullmatch(text):
        wanted = frozenset(name.strip() for name in re.split(r"[,|]", text) if name.strip())
        return lambda names: not wanted.isdisjoint(names)
    from holdfast.lib.javascript_regex import compile_javascript  # noqa: PLC0415 - most matchers are lists of names

    try:
        pattern = compile_javascript(text)
    except ValueError as error:
        raise UsageError(f"the hook matcher {matcher!r} cannot be used: {error}") from error
    return lambda names: any(pattern.search(name[:_MAX_NAME_CHARS]) is not None for name in names)
