"""Raw JSON to exactly one reply."""

from holdfast.engine.askers import CoordinatorAsker, OpenQuestions, WorkerAsker
from holdfast.engine.executor import DEFAULT_MAX_CONCURRENCY, Executor, SiblingErrors

__all__ = [
    "DEFAULT_MAX_CONCURRENCY",
    "CoordinatorAsker",
    "Executor",
    "OpenQuestions",
    "SiblingErrors",
    "WorkerAsker",
]
