"""What an executor is put together from; loaded with the first one, because declaring tools needs none of it."""

from holdfast.contract import Resource
from holdfast.engine.approve import Approver
from holdfast.engine.call_hooks import CallHooks
from holdfast.engine.pipeline import Pipeline
from holdfast.engine.spill import SpillStore
from holdfast.engine.subcalls import SubCalls
from holdfast.hooks import Hooks
from holdfast.permissions import PermissionContext
from holdfast.registry import Pool, assemble

__all__ = [
    "Approver",
    "CallHooks",
    "Hooks",
    "PermissionContext",
    "Pipeline",
    "Pool",
    "SpillStore",
    "SubCalls",
    "assemble",
    "held_by",
]


def held_by(pool: Pool) -> tuple[Resource, ...]:
    """What the tools hold. A subagent shares its parent's tools and passes none: they are not its own to close."""
    return tuple(dict.fromkeys(held for tool in pool for held in tool.resources))
