"""Raw JSON to exactly one reply."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
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

# Who may be asked is a matter of faces; a plain executor asks nobody.
export_lazily(
    __name__,
    {
        "askers": ("CoordinatorAsker", "OpenQuestions", "WorkerAsker"),
        "executor": ("DEFAULT_MAX_CONCURRENCY", "Executor", "SiblingErrors"),
    },
)
