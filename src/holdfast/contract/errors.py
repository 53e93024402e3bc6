"""Every error Holdfast raises on purpose, named by what the reader should do next.

    HoldfastError
    ├── ToolFailed          the tool could not do it: the model reads why and adapts
    ├── ArgumentsInvalid    the arguments do not fit: the model corrects them and calls again
    ├── Denied              a rule, a mode or a person said no
    ├── UsageError          the developer or user configured or called Holdfast wrongly
    └── Fatal               the run cannot go on

Cancellation (`asyncio.CancelledError`) is not an error and passes through untouched. Anything else that
escapes a tool is a bug: it is logged once at the engine's edge and the model reads "internal error".
"""

__all__ = ["ArgumentsInvalid", "Denied", "Fatal", "HoldfastError", "ToolFailed", "UsageError"]


class HoldfastError(Exception):
    """Base of every error that Holdfast raises on purpose."""


class ToolFailed(HoldfastError):
    """The tool could not do its work; the message tells the model what happened and what to try instead."""

    def __init__(self, message: str, *, error_code: int | None = None) -> None:
        super().__init__(message)
        self.error_code = error_code


class ArgumentsInvalid(HoldfastError):
    """The arguments do not fit the tool; `problems` lists each one in words."""

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), error_code: int | None = None) -> None:
        super().__init__(message)
        self.problems = problems
        self.error_code = error_code


class Denied(HoldfastError):
    """A rule, a mode or a person refused the call."""


class UsageError(HoldfastError):
    """Holdfast was configured or called wrongly by a developer or user."""


class Fatal(HoldfastError):
    """The run has to stop: going on could lose work or do harm."""
