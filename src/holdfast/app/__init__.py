"""Wiring: the only room that knows everybody."""

from holdfast.app.build import Options, build_executor
from holdfast.app.shell import ShellChoices, ShellKit
from holdfast.app.tools import all_tools, assemble

__all__ = ["Options", "ShellChoices", "ShellKit", "all_tools", "assemble", "build_executor"]
