"""Raw JSON to exactly one reply."""

from holdfast.engine.executor import DEFAULT_MAX_CONCURRENCY, Executor, SiblingErrors

__all__ = ["DEFAULT_MAX_CONCURRENCY", "Executor", "SiblingErrors"]
