"""The environment variables that Holdfast reads, each with the name that users of the original already set.

Ours counts first, the original when ours is unset or empty. A value that makes no sense is the default plus a problem.
Environment variables are not a level of the settings: nothing here changes a rule or a mode.
"""

import os
from collections.abc import Mapping

import msgspec

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_DAY_MS = 24 * 60 * 60 * 1000


class Variable(msgspec.Struct, frozen=True):
    """A variable: our name (with `HOLDFAST_` before it), the original name, and what values make sense."""

    name: str
    original: str
    default: int | bool
    minimum: int = 0
    maximum: int = 0


VARIABLES = {
    variable.name: variable
    for variable in (
        Variable("SIMPLE", "CLAUDE_CODE_SIMPLE", default=False),
        Variable("AUTO_BACKGROUND_TASKS", "CLAUDE_AUTO_BACKGROUND_TASKS", default=False),
        Variable("DISABLE_BACKGROUND_TASKS", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", default=False),
        Variable("ALLOW_MCP_TOOLS_FOR_SUBAGENTS", "CLAUDE_CODE_ALLOW_MCP_TOOLS_FOR_SUBAGENTS", default=False),
        Variable("ENABLE_LSP_TOOL", "ENABLE_LSP_TOOL", default=False),
        Variable("REPL_MODE", "CLAUDE_REPL_MODE", default=False),
        Variable("MAX_TOOL_CONCURRENCY", "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", default=10, minimum=1, maximum=1000),
        Variable("BASH_DEFAULT_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", default=120_000, minimum=1, maximum=_DAY_MS),
        Variable("BASH_MAX_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", default=600_000, minimum=1, maximum=_DAY_MS),
    )
}


class Environment:
    """The variables as they were when this was made; the process environment is never changed."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        source = os.environ if environ is None else environ
        self.problems: list[str] = []
        """Values that made no sense, in words."""
        self._values = {name: self._read(variable, source) for name, variable in VARIABLES.items()}
        self._set = {name for name, variable in VARIABLES.items() if _raw(variable, source) is not None}

    def flag(self, name: str) -> bool:
        """Return a switch by our name, without the prefix."""
        return bool(self._values[name])

    def number(self, name: str) -> int:
        """Return a number by our name, without the prefix."""
        return int(self._values[name])

    def is_set(self, name: str) -> bool:
        """Whether the user set the variable, under either name."""
        return name in self._set

    @property
    def bash_max_timeout_ms(self) -> int:
        """The longest time a command may ask for; never less than the default time."""
        return max(self.number("BASH_MAX_TIMEOUT_MS"), self.number("BASH_DEFAULT_TIMEOUT_MS"))

    def _read(self, variable: Variable, source: Mapping[str, str]) -> int | bool:
        found = _raw(variable, source)
        if found is None:
            return variable.default
        name, text = found
        if isinstance(variable.default, bool):
            word = text.strip().lower()
            if word in _TRUE or word in _FALSE:
                return word in _TRUE
            self.problems.append(f"{name} is {text!r}, which is neither true nor false; {variable.default} is used")
            return variable.default
        digits = text.strip()
        # isdecimal alone would take digits of every script, and int() thousands of them.
        if digits.isascii() and digits.isdecimal() and len(digits) <= 12 and int(digits) in _allowed(variable):
            return int(digits)
        limits = f"a whole number from {variable.minimum} to {variable.maximum}"
        self.problems.append(f"{name} is {text!r}, not {limits}; {variable.default} is used")
        return variable.default


def _allowed(variable: Variable) -> range:
    return range(variable.minimum, variable.maximum + 1)


def _raw(variable: Variable, source: Mapping[str, str]) -> tuple[str, str] | None:
    for name in (f"HOLDFAST_{variable.name}", variable.original):
        if source.get(name, "").strip():
            return name, source[name]
    return None
