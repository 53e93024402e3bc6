"""Shell text: what it would do, which rules cover it, and what to tell people about it."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.permissions.shell.risk.classes import high_risk
    from holdfast.permissions.shell.risk.removals import critical_removal
    from holdfast.permissions.shell.text.analysis import Analysis, analyse

__all__ = ["Analysis", "analyse", "critical_removal", "high_risk"]

export_lazily(
    __name__,
    {
        "risk.classes": ("high_risk",),
        "risk.removals": ("critical_removal",),
        "text.analysis": ("Analysis", "analyse"),
    },
)
