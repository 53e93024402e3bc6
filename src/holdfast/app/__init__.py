"""Wiring: the only room that knows everybody."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.app.build import OpenSession, build_executor, open_session
    from holdfast.app.options import Options
    from holdfast.app.rights import Rights, load_rights
    from holdfast.app.shell import ShellChoices, ShellKit
    from holdfast.app.tools import all_tools, assemble

__all__ = [
    "OpenSession",
    "Options",
    "Rights",
    "ShellChoices",
    "ShellKit",
    "all_tools",
    "assemble",
    "build_executor",
    "load_rights",
    "open_session",
]

# The first request is made before tools and executor are loaded, so this room loads nothing by itself.
export_lazily(
    __name__,
    {
        "build": ("OpenSession", "build_executor", "open_session"),
        "options": ("Options",),
        "rights": ("Rights", "load_rights"),
        "shell": ("ShellChoices", "ShellKit"),
        "tools": ("all_tools", "assemble"),
    },
)
