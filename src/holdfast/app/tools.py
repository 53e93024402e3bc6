"""Layer 1: every built-in tool, made with what it needs."""

from collections.abc import Iterable

from holdfast.app.shell import ShellKit
from holdfast.contract import SessionFacts, Tool
from holdfast.host.ripgrep import Ripgrep
from holdfast.host.targets import Targets
from holdfast.permissions import PermissionContext
from holdfast.registry import Pool, ViewOptions, tools_for
from holdfast.registry import assemble as assemble_pool
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.notebook_edit import NotebookEdit
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.files.write import Write
from holdfast.tools.search.glob import Glob
from holdfast.tools.search.grep import Grep

__all__ = ["all_tools", "assemble"]


def all_tools(shell: ShellKit | None = None) -> list[Tool]:
    """A fresh set of every built-in tool."""
    ripgrep, targets = Ripgrep(), Targets()
    bench = Workbench(targets)
    return [
        Read(targets),
        Write(bench),
        Edit(bench),
        NotebookEdit(bench),
        Glob(ripgrep, targets),
        Grep(ripgrep, targets),
        *(shell or ShellKit()).tools(ripgrep),
    ]


def assemble(
    context: PermissionContext | None = None,
    mcp_tools: Iterable[Tool] = (),
    *,
    own_tools: Iterable[Tool] = (),
    options: ViewOptions | None = None,
    shell: ShellKit | None = None,
) -> Pool:
    """The pool a model is offered: built-ins sorted by name, then remote tools sorted by name.

    Tools that the context denies as a whole are left out before anybody sees them.
    """
    context = context or PermissionContext()
    options = options or ViewOptions(session=SessionFacts())
    return assemble_pool(
        tools_for(all_tools(shell), context, options),
        tools_for(mcp_tools, context, ViewOptions(session=options.session)),
        tools_for(own_tools, context, ViewOptions(session=options.session)),
    )
