"""Which tools exist: all of them, those of a session, and the pool a model is offered."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.registry.deferral import Deferral
    from holdfast.registry.names import ALIASES, BUILTIN_NAMES, canonical_name
    from holdfast.registry.pool import Found, Pool, apply_call_name, assemble
    from holdfast.registry.projection import Provider, project, project_bytes, tool_list_bytes
    from holdfast.registry.view import AgentKind, ViewOptions, for_subagent, preset_names, tools_for

__all__ = [
    "ALIASES",
    "BUILTIN_NAMES",
    "AgentKind",
    "Deferral",
    "Found",
    "Pool",
    "Provider",
    "ViewOptions",
    "apply_call_name",
    "assemble",
    "canonical_name",
    "for_subagent",
    "preset_names",
    "project",
    "project_bytes",
    "tool_list_bytes",
    "tools_for",
]

# Names are known without the tools: the command line and the settings need no more.
export_lazily(
    __name__,
    {
        "deferral": ("Deferral",),
        "names": (
            "ALIASES",
            "BUILTIN_NAMES",
            "canonical_name",
        ),
        "pool": (
            "Found",
            "Pool",
            "apply_call_name",
            "assemble",
        ),
        "projection": (
            "Provider",
            "project",
            "project_bytes",
            "tool_list_bytes",
        ),
        "view": (
            "AgentKind",
            "ViewOptions",
            "for_subagent",
            "preset_names",
            "tools_for",
        ),
    },
)
