"""What the question "do you trust this folder?" has to show, as data that any face can present.

All text from the folder is escaped here: nothing in it can move the cursor, hide its tail or fake a line.
"""

import os
from collections import Counter
from collections.abc import Iterable

import msgspec

from holdfast.lib.guarded_read import read_guarded
from holdfast.lib.positions import MAX_BYTES, JsonTextError, Object, decode, parse
from holdfast.lib.visible import visible
from holdfast.settings.directories import home_directory
from holdfast.settings.hook_items import item_hash, mcp_server_hash
from holdfast.settings.instruction_files import instruction_paths
from holdfast.settings.layout import ProjectLayout, is_placeholder
from holdfast.settings.model import Settings
from holdfast.settings.project_view import FolderItem, Needs
from holdfast.settings.sources import EXISTING_FOLDER, NATIVE_FOLDER

_MAX_TEXT_CHARS = 2000
_MAX_NAMES = 200
_BROUGHT_FOLDERS = ("agents", "skills", "commands")
_EFFECTS: dict[Needs, str] = {
    "nothing": "counts already",
    "trust": "applies when you trust the folder",
    "approval": "applies when you trust the folder and approve it",
    "refused": "never counts",
}


class QuestionLine(msgspec.Struct, frozen=True):
    """One thing the folder brings, safe to display."""

    kind: str
    text: str
    place: str
    """`file:line`, relative to the folder."""
    effect: str
    needs: Needs
    hash: str


class TrustQuestion(msgspec.Struct, frozen=True):
    """The question about one folder. The safe answer, and the default, is no."""

    folder: str
    """The resolved path, safe to display."""
    root: str
    """The same path for `TrustStore.trust`."""
    lines: tuple[QuestionLine, ...]
    default: bool = False

    @property
    def waiting(self) -> tuple[QuestionLine, ...]:
        """What a yes would put in force."""
        return tuple(line for line in self.lines if line.needs in {"trust", "approval"})

    @property
    def approvals(self) -> tuple[str, ...]:
        """The hashes that a yes to everything shown approves. MCP servers are asked about one by one instead."""
        return tuple(line.hash for line in self.lines if line.needs == "approval" and line.kind != "MCP server")


def trust_question(settings: Settings) -> TrustQuestion | None:
    """Return the question to ask about the project folder, or None when a yes would change nothing."""
    if settings.untrustable is not None:
        return None
    items = _not_in_force(settings)
    if not any(_waits(item, settings) for item in items):
        return None
    lines = tuple(_line(item, settings.root) for item in items)
    return TrustQuestion(visible(settings.root), settings.root, lines)


def _not_in_force(settings: Settings) -> list[FolderItem]:
    # A worktree's main checkout is another folder; what it brings waits for its own trust.
    inside = settings.root.rstrip(os.sep) + os.sep
    own = [item for item in settings.items if not item.counts and item.path.startswith(inside)]
    brought = [*brought_items(settings.root), *instruction_items(settings)]
    return [*own, *(item for item in brought if not _in_force(item, settings))]


def _waits(item: FolderItem, settings: Settings) -> bool:
    # In a trusted folder a new MCP server is asked about by itself, when it is to be started.
    return item.needs in {"trust", "approval"} and not (settings.trusted and item.kind == "MCP server")


def _in_force(item: FolderItem, settings: Settings) -> bool:
    return settings.trusted and (item.needs == "trust" or item.hash in settings.approved)


def explain_untrusted(settings: Settings) -> str:
    """Say, for a run with nobody to ask, what of the folder is not in force and how that can be changed."""
    waiting = [] if settings.trusted else [item for item in _not_in_force(settings) if _waits(item, settings)]
    if not waiting:
        return ""
    listed = ", ".join(f"{kind} ({count})" for kind, count in Counter(item.kind for item in waiting).items())
    way_out = "To trust it, run `holdfast trust` there."
    if settings.untrustable is not None:
        way_out = f"It cannot be trusted: {settings.untrustable}."
    return (
        f"The folder {visible(settings.root)} is not trusted, so what it brings is not in force: {listed}. Its deny "
        f"and ask rules are. {way_out} Rules and servers of your own can be given with --settings, --allowed-tools and "
        "--mcp-config."
    )


def _line(item: FolderItem, root: str) -> QuestionLine:
    relative = os.path.relpath(item.path, root) if item.path else ""
    place = visible(f"{relative}:{item.line}" if item.line else relative)
    text = visible(item.text, limit_chars=_MAX_TEXT_CHARS)
    return QuestionLine(item.kind, text, place, _EFFECTS[item.needs], item.needs, item.hash)


def brought_items(root: str) -> list[FolderItem]:
    """List what a folder brings beside its settings: MCP servers, agents, skills, commands and hooks of those.

    Nothing is run.
    """
    found = mcp_items(os.path.join(root, ".mcp.json"))
    for folder in (NATIVE_FOLDER, EXISTING_FOLDER):
        for kind in _BROUGHT_FOLDERS:
            place = os.path.join(root, folder, kind)
            for name in _names(place):
                identity = item_hash(kind, folder, os.fsencode(name).hex())
                path = os.path.join(place, name)
                found.append(FolderItem(kind.removesuffix("s"), name, path, 0, "trust", identity))
                found += _hooks_of(os.path.join(path, "SKILL.md") if kind == "skills" else path, root)
    return found


def _hooks_of(path: str, root: str) -> list[FolderItem]:
    from holdfast.settings.front_matter_hooks import hook_items_of_file  # noqa: PLC0415 - few folders bring such files

    return hook_items_of_file(path, root)


def instruction_items(settings: Settings) -> list[FolderItem]:
    """List the folder's instructions to agents as items; they are not opened."""
    fallbacks = settings.get("agentsMdFallbackNames")
    names = [name for name in fallbacks if isinstance(name, str)] if isinstance(fallbacks, tuple) else []
    paths = instruction_paths(
        ProjectLayout(cwd=settings.cwd, root=settings.root).directories,
        home=os.path.realpath(home_directory()),
        fallback_names=[name for name in names if name and os.path.basename(name) == name],
    )
    kind, text = "instructions", "what it says is told to the model"
    return [FolderItem(kind, text, path, 0, "trust", item_hash(kind, os.fsencode(path).hex())) for path in paths]


def mcp_items(path: str) -> list[FolderItem]:
    """Return the servers of an `.mcp.json` as items. A broken file is one item that never counts."""
    try:
        data = None if is_placeholder(path) else read_guarded(path, limit_bytes=MAX_BYTES)
        node = parse(decode(data)) if data is not None else None
    except (OSError, JsonTextError) as error:
        text = f"the file cannot be used: {error}"
        return [FolderItem("MCP file", text, path, 0, "refused", item_hash("MCP file", text))]
    servers = node.members.get("mcpServers", node) if isinstance(node, Object) else None
    if not isinstance(servers, Object):
        return []
    return [
        FolderItem(
            "MCP server",
            f"{name}: {msgspec.json.encode(config.plain()).decode()}",
            path,
            servers.key_lines.get(name, config.line),
            "approval",
            mcp_server_hash(name, config.plain(), root=os.path.dirname(path)),
        )
        for name, config in servers.members.items()
        if servers is not node or (isinstance(config, Object) and {"command", "url"} & config.members.keys())
    ]


def _names(place: str) -> Iterable[str]:
    try:
        with os.scandir(place) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(_MAX_NAMES), strict=False))
    except OSError:
        return []
