"""What an executor is put together from; loaded with the first one, because declaring tools needs none of it."""

from holdfast.engine.approve import Approver
from holdfast.engine.pipeline import Pipeline
from holdfast.engine.spill import SpillStore
from holdfast.hooks import Hooks
from holdfast.permissions import PermissionContext
from holdfast.registry import Pool, assemble

__all__ = ["Approver", "Hooks", "PermissionContext", "Pipeline", "Pool", "SpillStore", "assemble"]
