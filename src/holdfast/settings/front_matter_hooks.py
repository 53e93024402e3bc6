"""Hooks in the front matter of agents and skills: the form of a settings file, in YAML whose scalars are all texts.

A folder's are approved as they are written: the lines of the block, and the files of the folder that they name. To show
them nothing is parsed. What is run is read from those very lines again, so that nothing else in the file can mean more.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from holdfast.lib.front_matter import front_matter_text, read_front_matter
from holdfast.lib.guarded_read import read_guarded
from holdfast.settings.hook_items import item_hash, pinned_files
from holdfast.settings.merge import Origin, freeze
from holdfast.settings.model import HookEntry
from holdfast.settings.project_view import FolderItem
from holdfast.settings.schema import HOOK_EVENTS
from holdfast.settings.sources import SourceKind

__all__ = ["front_matter_hooks", "hook_items_of_file", "what_it_runs"]

_NUMBERS: Final = frozenset({"timeout"})
_SWITCHES: Final = frozenset({"async", "asyncRewake", "once"})
_LIMIT_BYTES: Final = 1 << 20
_SHOWN_CHARS: Final = 1_800
"""A longer block cannot be shown whole, so nobody can agree to it."""
_BLOCK: Final = re.compile(r"^hooks:[^\n]*(?:\n(?:[ \t#-][^\n]*)?)*", re.MULTILINE)


class _FileHook(HookEntry, frozen=True):
    """A hook of a file that a folder brings."""

    def is_as_approved(self, approved: frozenset[str]) -> bool:
        """Whether its block, with the scripts as they are now, is what the user approved, and says the same."""
        block = _block_of(self.origin.path or "")
        if not block or self.folder is None or _identity(block, self.origin.path or "", self.folder) not in approved:
            return False
        return any(_is_same(self, other) for other in _entries(_parsed(block), self.origin, self.folder))


def front_matter_hooks(
    hooks: Mapping[str, Any], *, source: SourceKind, path: str, folder: str | None, of_skill: bool = False
) -> tuple[HookEntry, ...]:
    """The hooks as entries, in their order; one that cannot be read is broken, and as a gate fails."""
    found = _entries(hooks, Origin(source, path or None), folder)
    return tuple(msgspec.structs.replace(entry, is_of_skill=of_skill) for entry in found)


def hook_items_of_file(path: str, folder: str) -> list[FolderItem]:
    """The hooks that a file of a folder brings, to be approved together."""
    block = _block_of(path)
    if not block:
        return []
    text = " ".join(block.split())
    needs = "approval" if len(text) <= _SHOWN_CHARS else "refused"
    return [FolderItem("hook", text, path, 0, needs, _identity(block, path, folder))]


def what_it_runs(entry: HookEntry) -> str:
    """A hook in one line: when, and what."""
    handler = entry.handler
    what = next((str(handler[name]) for name in ("command", "url", "prompt", "tool") if handler.get(name)), "")
    return f"{entry.event}({entry.matcher or '*'}): {what}"


def _block_of(path: str) -> str:
    """The lines of `hooks:` in a file's front matter."""
    try:
        data = read_guarded(path, limit_bytes=_LIMIT_BYTES, follow=False)
    except OSError:
        return ""
    front = front_matter_text((data or b"").decode("utf-8", "replace")) or ""
    found = _BLOCK.search(front)
    return "" if found is None else found[0].rstrip()


def _identity(block: str, path: str, folder: str) -> str:
    pinned = dict(pinned_files({"command": block}, folder))
    return item_hash("hooks of a file", os.path.relpath(path, folder), block, pinned)


def _parsed(block: str) -> Mapping[str, Any]:
    found: Any = read_front_matter(f"---\n{block}\n---\n").fields.get("hooks")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _is_same(one: HookEntry, other: HookEntry) -> bool:
    return (one.event, one.matcher, dict(one.handler)) == (other.event, other.matcher, dict(other.handler))


def _entries(hooks: Mapping[str, Any], origin: Origin, folder: str | None) -> Iterator[HookEntry]:
    for event, groups in hooks.items():
        if event in HOOK_EVENTS:
            for group in cast("list[Any]", groups) if isinstance(groups, list) else [groups]:
                yield from _of_group(event, group, origin, folder)


def _of_group(event: str, group: Any, origin: Origin, folder: str | None) -> Iterator[HookEntry]:
    given = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
    matcher, handlers = given.get("matcher"), given.get("hooks")
    pattern = matcher if isinstance(matcher, str) and matcher else None
    if not isinstance(handlers, list):
        yield HookEntry(event, pattern, {}, origin, folder, "the group has no list of hooks")
        return
    for handler in cast("list[Any]", handlers):
        if not isinstance(handler, dict):
            yield HookEntry(event, pattern, {}, origin, folder, "the handler is not a mapping")
            continue
        values = cast("dict[str, Any]", handler)
        plain = cast("Any", freeze({name: _meant(name, value) for name, value in values.items()}))
        made = HookEntry if folder is None else _FileHook
        yield made(event, pattern, plain, origin, folder)


def _meant(name: str, value: Any) -> Any:
    """A scalar as the field means it."""
    if not isinstance(value, str):
        return value
    if name in _SWITCHES:
        return value.strip().lower() in {"true", "yes", "on"}
    if name in _NUMBERS:
        try:
            return float(value)
        except ValueError:
            return value
    return value
