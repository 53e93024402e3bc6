"""Gates of a folder that cannot be read or may not run: they must not disappear, because somebody relied on them."""

from collections.abc import Iterator

from holdfast.lib.positions import Array, Node, Object, Scalar
from holdfast.settings.merge import Layer
from holdfast.settings.model import HookEntry
from holdfast.settings.project_view import FolderView
from holdfast.settings.schema import GATE_EVENTS

__all__ = ["broken_gates", "unapproved_gates"]


def broken_gates(root: Object, layer: Layer, folder: str) -> Iterator[HookEntry]:
    """The gates of a file that have no readable form, each with what it would have matched as far as that is known."""
    hooks = root.members.get("hooks")
    if not isinstance(hooks, Object):
        if hooks is not None:
            yield _entry(GATE_EVENTS[0], None, "hooks is not an object", hooks, layer, folder)
        return
    for event in GATE_EVENTS:
        groups = hooks.members.get(event)
        if groups is None:
            continue
        if not isinstance(groups, Array):
            yield _entry(event, None, f"hooks.{event} is not a list", groups, layer, folder)
            continue
        for group in groups.items:
            yield from _of_group(event, group, layer, folder)


def unapproved_gates(view: FolderView | None, layer: Layer, folder: str) -> Iterator[HookEntry]:
    """The gates of a file that changed since they were approved, or came later: they do not run, and do not vanish."""
    for event, matcher, handler in () if view is None else view.unapproved_gates:
        reason = "it is not what was approved here; look at it and run `holdfast trust` again"
        yield _entry(event, matcher, reason, handler, layer, folder)


def _of_group(event: str, group: Node, layer: Layer, folder: str) -> Iterator[HookEntry]:
    if not isinstance(group, Object):
        yield _entry(event, None, f"a group of hooks.{event} is not an object", group, layer, folder)
        return
    matcher = group.members.get("matcher")
    if matcher is not None and not (isinstance(matcher, Scalar) and isinstance(matcher.value, str | None)):
        yield _entry(event, None, "its matcher is not a string", matcher, layer, folder)
        return
    pattern = matcher.value if isinstance(matcher, Scalar) and isinstance(matcher.value, str) else None
    handlers = group.members.get("hooks")
    if not isinstance(handlers, Array):
        yield _entry(event, pattern, "the group has no list of hooks", handlers or group, layer, folder)
        return
    for handler in handlers.items:
        if not isinstance(handler, Object):
            yield _entry(event, pattern, "the handler is not an object", handler, layer, folder)


def _entry(event: str, matcher: str | None, reason: str, node: Node, layer: Layer, folder: str) -> HookEntry:
    return HookEntry(event, matcher, {}, layer.origin(node), folder, reason)
