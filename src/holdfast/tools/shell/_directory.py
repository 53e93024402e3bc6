"""Where a command leaves the session: its last directory counts while it is inside the allowed ones."""

import os
from collections.abc import Callable

from holdfast.contract import ContextModifier, CwdChanged, ToolContext, ToolResult
from holdfast.permissions import shell
from holdfast.permissions.paths import is_inside
from holdfast.tools.shell._output import BashOutput

__all__ = ["Inside", "InsideProject", "leave", "lost_directory", "may_move"]

Inside = Callable[[str, ToolContext], bool]
"""Whether a resolved directory is one of the allowed ones or below."""

_MAY_MOVE = frozenset({"cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "trap", "exec"})


class InsideProject:
    """Inside is what the caller's rights say; without any, what is below the project or where the first call began."""

    def __init__(self) -> None:
        self._root = ""

    def __call__(self, path: str, ctx: ToolContext) -> bool:
        """Whether the path is inside."""
        if ctx.rights is not None:
            return ctx.rights.is_inside(path)
        if not self._root:
            self._root = os.path.realpath(ctx.session.project_root or ctx.cwd)
        return is_inside(path, (self._root,))


def may_move(analysis: "shell.Analysis") -> bool:
    """Whether the shell may end in another directory; only a text that is understood whole can say no."""
    if analysis.doubt or not analysis.parsed or analysis.cd_targets or analysis.dynamic:
        return True
    return not _MAY_MOVE.isdisjoint(analysis.names)


def leave(reported: str | None, ctx: ToolContext, inside: Inside) -> tuple[tuple[ContextModifier, ...], str]:
    """The change that a command's last directory makes, and a notice where it makes none."""
    if reported is None or reported == ctx.cwd or reported == os.path.realpath(ctx.cwd):
        return (), ""
    if not os.path.isdir(reported):
        return (), f"The working directory stays {ctx.cwd}: {reported} is gone."
    if not inside(reported, ctx):
        return (), f"The working directory was set back to {ctx.cwd}: {reported} is outside the allowed directories."
    return (CwdChanged(reported),), ""


def lost_directory(ctx: ToolContext) -> ToolResult[BashOutput]:
    """The reply when the session's directory is gone: nothing runs elsewhere than where it was approved."""
    root = ctx.session.project_root
    reason = f"The working directory {ctx.cwd} is gone, so the command was not run."
    modifiers: tuple[CwdChanged, ...] = ()
    if root and root != ctx.cwd and os.path.isdir(root):
        reason += f" The working directory is now {root}; try again from there."
        modifiers = (CwdChanged(root),)
    data: BashOutput = {"stdout": "", "stderr": reason, "interrupted": False}
    return ToolResult(data, reason, is_error=True, modifiers=modifiers)
