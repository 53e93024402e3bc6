"""Wiring: the only room that knows everybody."""

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
