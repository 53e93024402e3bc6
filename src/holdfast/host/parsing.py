"""What a parser in a limited process may use, and how it says no. Imports nothing: every process pays for it."""

__all__ = ["CPU_S", "MAX_ANSWER_BYTES", "MEMORY_BYTES", "ParseError"]

MEMORY_BYTES = 512 * 1024 * 1024
CPU_S = 10
MAX_ANSWER_BYTES = 64 * 1024 * 1024


class ParseError(Exception):
    """The file cannot be shown, and why, in words for the model."""
