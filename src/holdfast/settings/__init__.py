"""Where configuration comes from: files, sources, merge, trust. Native and existing formats."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.settings.errors import SettingsError
    from holdfast.settings.load import Request, load_settings
    from holdfast.settings.model import (
        DirectoryEntry,
        EnvEntry,
        HookEntry,
        Problem,
        RuleEntry,
        Settings,
    )
    from holdfast.settings.sources import CommandLine, SettingsRoots, SourceKind, parse_setting_sources
    from holdfast.settings.trust import FolderIdentity, MemoryTrust, NoTrust, TrustStore

__all__ = [
    "CommandLine",
    "DirectoryEntry",
    "EnvEntry",
    "FolderIdentity",
    "HookEntry",
    "MemoryTrust",
    "NoTrust",
    "Problem",
    "Request",
    "RuleEntry",
    "Settings",
    "SettingsError",
    "SettingsRoots",
    "SourceKind",
    "TrustStore",
    "load_settings",
    "parse_setting_sources",
]

# Where the user's directories are is asked before anything is read.
export_lazily(
    __name__,
    {
        "errors": ("SettingsError",),
        "load": ("Request", "load_settings"),
        "model": ("DirectoryEntry", "EnvEntry", "HookEntry", "Problem", "RuleEntry", "Settings"),
        "sources": ("CommandLine", "SettingsRoots", "SourceKind", "parse_setting_sources"),
        "trust": ("FolderIdentity", "MemoryTrust", "NoTrust", "TrustStore"),
    },
)
