"""The settings as the rest of the program sees them: plain, immutable data with the origin of everything.

This room stands below the permission rules, so a rule is text here: what it says, and where it was written.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from holdfast.contract.names import PermissionMode
from holdfast.lib.visible import visible
from holdfast.settings.hook_items import hook_hash, outside_hash
from holdfast.settings.merge import FrozenJson, Merged, Origin, Path, key_path
from holdfast.settings.project_view import FolderItem
from holdfast.settings.sources import SourceKind
from holdfast.settings.trust import FolderIdentity

Behavior: TypeAlias = Literal["allow", "ask", "deny"]
SiblingErrors: TypeAlias = Literal["cancel-dependents", "cancel-all", "independent"]
GateFailure: TypeAlias = Literal["ask", "deny", "ignore"]
EnvScrub: TypeAlias = Literal["credentials", "allowlist", "none"]


class RuleEntry(msgspec.Struct, frozen=True):
    """One permission rule, not yet parsed."""

    behavior: Behavior
    text: str
    source: SourceKind
    path: str | None
    """The file it stands in; None for flags and session rules."""
    line: int | None
    anchor: str
    """What a path in it that starts with one slash is relative to."""


class DirectoryEntry(msgspec.Struct, frozen=True):
    """One additional working directory."""

    directory: str
    """Absolute, links not resolved."""
    text: str
    """As it was written."""
    origin: Origin


class HookEntry(msgspec.Struct, frozen=True):
    """One hook handler, as raw data."""

    event: str
    matcher: str | None
    handler: Mapping[str, FrozenJson]
    origin: Origin
    folder: str | None = None
    """The folder that brings it; None for the user's own hooks."""
    broken: str = ""
    """What is wrong with it, so that it cannot be read; a gate then counts as one that failed."""
    is_of_skill: bool = False
    """A skill brings it; only there a hook may wish to run once."""

    def is_as_approved(self, approved: frozenset[str]) -> bool:
        """Whether the hook, with its scripts as they are now, is still what the user approved. Ask before a run."""
        if self.folder is None:
            return True
        return hook_hash(self.event, self.matcher, self.handler, root=self.folder) in approved

    def may_leave_sandbox(self, approved: frozenset[str]) -> bool:
        """Whether the user approved that this hook of a folder, as it is now, runs outside the sandbox."""
        if self.folder is None:
            return False
        return outside_hash(hook_hash(self.event, self.matcher, self.handler, root=self.folder)) in approved


class EnvEntry(msgspec.Struct, frozen=True):
    """One environment variable."""

    name: str
    value: str
    origin: Origin
    children_only: bool = False
    """Set for child processes, never for this one (it comes from the folder)."""


class Problem(msgspec.Struct, frozen=True):
    """Something that does not count, said loudly, with its place."""

    message: str
    source: SourceKind
    path: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        """Return `file:line: message`."""
        return f"{Origin(self.source, self.path, self.line)}: {self.message}"


class Settings(msgspec.Struct, frozen=True):
    """All configuration of a session."""

    cwd: str
    root: str
    """The project root."""
    folder: FolderIdentity
    trusted: bool
    """Whether the user trusts the project folder."""
    untrustable: str | None = None
    """Why the folder cannot be trusted at all, so that asking is pointless; None when it can."""
    approved: frozenset[str] = frozenset()
    """Hashes of the folder's items that the user approved."""
    rules: tuple[RuleEntry, ...] = ()
    directories: tuple[DirectoryEntry, ...] = ()
    default_mode: PermissionMode = "default"
    bypass_disabled: bool = False
    auto_disabled: bool = False
    managed_rules_only: bool = False
    """Policy: allow rules of other sources do not count, and saving one is pointless."""
    hooks: tuple[HookEntry, ...] = ()
    gate_failure: GateFailure = "ask"
    env: tuple[EnvEntry, ...] = ()
    env_scrub: EnvScrub = "credentials"
    sandbox: Mapping[str, FrozenJson] = MappingProxyType({})
    """Merged; paths below `filesystem` are absolute."""
    mcp_enabled: tuple[str, ...] = ()
    mcp_disabled: tuple[str, ...] = ()
    mcp_enable_all: bool = False
    plugins: Mapping[str, FrozenJson] = MappingProxyType({})
    sibling_errors: SiblingErrors = "cancel-dependents"
    task_list: Literal["tasks", "todo"] = "tasks"
    shell_functions: bool = False
    classifier_model: str | None = None
    """A model that is heard in `auto` mode besides our own analysis; never chosen by a folder."""
    telemetry: FrozenJson = None
    problems: tuple[Problem, ...] = ()
    items: tuple[FolderItem, ...] = ()
    """Everything the folder's settings bring along, in force or not."""
    files: tuple[str, ...] = ()
    """The settings files that were read, lowest rank first."""
    merged: Merged = Merged(MappingProxyType({}), MappingProxyType({}))

    def get(self, key: str) -> FrozenJson:
        """Return the merged value of any dotted key, known to us or not, or None."""
        return self.merged.get(key)

    def where(self, key: str | Path) -> Origin | None:
        """Return where the value of a key comes from; for a list, the highest source that added to it."""
        found = self.origins(key)
        return found[-1] if found else None

    def origins(self, key: str | Path) -> tuple[Origin, ...]:
        """Return all places that a key's value comes from, the highest source last."""
        return self.merged.origins.get(key_path(key) if isinstance(key, str) else key, ())

    @property
    def withheld(self) -> tuple[FolderItem, ...]:
        """What the folder brings that is not in force: it waits for the user, or a folder may not bring it."""
        return tuple(item for item in self.items if not item.counts)

    def describe_problems(self) -> list[str]:
        """Return the problems as lines that are safe to show."""
        return [visible(str(problem), limit_chars=500) for problem in self.problems]
