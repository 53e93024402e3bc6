"""Holdfast: the hands of an AI agent. Every tool call typed, permission-checked, concurrent and streaming."""

TYPE_CHECKING = False  # `typing` itself would cost more than all of `holdfast --version`
if TYPE_CHECKING:
    from holdfast.app import assemble
    from holdfast.app.agent import Agent
    from holdfast.app.results import Run, RunFailed, RunResult
    from holdfast.contract import Tool, ToolContext, ToolFailed, ToolResult, tool
    from holdfast.engine import Executor

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Executor",
    "Run",
    "RunFailed",
    "RunResult",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "ToolResult",
    "__version__",
    "assemble",
    "tool",
]

_HOME = {
    "Agent": "holdfast.app.agent",
    "Executor": "holdfast.engine",
    "Run": "holdfast.app.results",
    "RunFailed": "holdfast.app.results",
    "RunResult": "holdfast.app.results",
    "Tool": "holdfast.contract",
    "ToolContext": "holdfast.contract",
    "ToolFailed": "holdfast.contract",
    "ToolResult": "holdfast.contract",
    "assemble": "holdfast.app",
    "tool": "holdfast.contract",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import holdfast` and `holdfast --version` cost nothing."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - see above

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
