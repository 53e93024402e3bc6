"""Layer 1: every built-in tool, made with what it needs."""

from collections.abc import Iterable

from holdfast.app.files import FileKit
from holdfast.app.shell import ShellKit
from holdfast.app.web import web_tools
from holdfast.contract import SessionFacts, Tool
from holdfast.host.ripgrep import Ripgrep
from holdfast.permissions import PermissionContext
from holdfast.registry import Pool, ViewOptions, tools_for
from holdfast.registry import assemble as assemble_pool
from holdfast.settings import Settings

__all__ = ["all_tools", "assemble"]


def all_tools(
    shell: ShellKit | None = None, files: FileKit | None = None, settings: Settings | None = None
) -> list[Tool]:
    """A fresh set of every built-in tool."""
    files = files or FileKit()
    ripgrep = Ripgrep(outside=files.roots)
    return [*files.tools(ripgrep), *(shell or ShellKit()).tools(ripgrep), *web_tools(settings)]


def assemble(
    context: PermissionContext | None = None,
    mcp_tools: Iterable[Tool] = (),
    *,
    own_tools: Iterable[Tool] = (),
    options: ViewOptions | None = None,
    shell: ShellKit | None = None,
    files: FileKit | None = None,
    settings: Settings | None = None,
) -> Pool:
    """The pool a model is offered: built-ins sorted by name, then remote tools sorted by name.

    Tools that the context denies as a whole are left out before anybody sees them.
    """
    context = context or PermissionContext()
    options = options or ViewOptions(session=SessionFacts())
    return assemble_pool(
        tools_for(all_tools(shell, files, settings), context, options),
        tools_for(mcp_tools, context, ViewOptions(session=options.session)),
        tools_for(own_tools, context, ViewOptions(session=options.session)),
    )
