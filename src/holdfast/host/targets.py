"""The place a call is about: judged once, and used as it was judged.

A path is resolved when permissions look at the call. What is opened later is that resolved place, walked without
following links, so a link swapped in between is refused instead of followed.
"""

from collections import OrderedDict

from holdfast.contract import ToolContext, ToolFailed
from holdfast.lib.resolve import Resolved, resolve_path

__all__ = ["Targets"]

_KEPT = 1024


class Targets:
    """Remembers, per call, where its path led when it was judged."""

    def __init__(self) -> None:
        self._judged: OrderedDict[tuple[str | None, str, str, str], Resolved] = OrderedDict()

    def judge(self, ctx: ToolContext, path: str) -> list[str]:
        """Resolve a path for the permission layers: the name that was given, and where it leads if that differs."""
        given = str(ctx.resolve(path))
        try:
            resolved = resolve_path(given)
        except (OSError, UnicodeEncodeError):
            return [given]  # it cannot be opened either; `take` says why
        if ctx.tool_use_id:
            self._judged[_key(ctx, path)] = resolved
            while len(self._judged) > _KEPT:
                self._judged.popitem(last=False)
        return [given] if resolved.path == given else [given, resolved.path]

    def take(self, ctx: ToolContext, path: str) -> str:
        """Return the resolved place, as it was judged.

        Raises:
            ToolFailed: The path cannot be resolved, or its way goes through /proc, /sys or /dev.
        """
        resolved = self._judged.get(_key(ctx, path)) if ctx.tool_use_id else None
        if resolved is None:
            try:
                resolved = resolve_path(str(ctx.resolve(path)))
            except OSError as error:
                raise ToolFailed(f"{path!r} leads nowhere: {error.strerror}", error_code=1) from error
            except UnicodeEncodeError as error:
                raise ToolFailed(f"{path!r} is not a file name: it holds a lone surrogate", error_code=1) from error
        if resolved.kernel is not None:
            raise ToolFailed(
                f"{path!r} goes through {resolved.kernel!r}, which is a device or a view into the kernel, not a stored "
                "file; use Bash if you need what it shows"
            )
        return resolved.path


def _key(ctx: ToolContext, path: str) -> tuple[str | None, str, str, str]:
    """Agents that share the tools may use the same ids, and what was judged for one counts for no other."""
    return ctx.session.agent_id, ctx.tool_use_id, ctx.cwd, path
