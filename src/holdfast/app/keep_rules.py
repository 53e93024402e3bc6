"""Where an "always" goes: the rules are written to the settings file that the user chose."""

import logging
from collections.abc import Sequence
from typing import Final, Literal

from holdfast.contract import DirectoryUpdate, ModeUpdate, PermissionUpdate, RuleUpdate
from holdfast.settings import SettingsError, SettingsRoots, SourceKind, TrustStore
from holdfast.settings.layout import find_layout
from holdfast.settings.project_view import kept_rule_hash
from holdfast.settings.save import (
    SaveTarget,
    remove_directories,
    remove_rules,
    replace_rules,
    save_directories,
    save_rules,
    save_targets,
    save_value,
)

__all__ = ["RuleKeeper"]

_log = logging.getLogger(__name__)
_Kind = Literal[SourceKind.USER, SourceKind.PROJECT, SourceKind.LOCAL]
_KINDS: Final[dict[str, _Kind]] = {
    "userSettings": SourceKind.USER,
    "projectSettings": SourceKind.PROJECT,
    "localSettings": SourceKind.LOCAL,
}


class RuleKeeper:
    """Writes rules atomically, keeping the file's formatting; a file that cannot be written is said loudly."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd

    def __call__(self, update: PermissionUpdate) -> tuple[str, ...]:
        """Save what changed; returns the files in which rules have replaced others, or were removed.

        The session has it in any case, so a failure costs nothing but the memory of it.
        """
        kind = _KINDS.get(update.destination)
        if kind is None:
            _log.warning("unknown destination %r: %s holds here only", update.destination, update)
            return ()
        if not isinstance(update, RuleUpdate):
            self._keep(kind, update)
            return ()
        if update.removes:
            return self._remove(kind, update)
        replaced: list[str] = []
        try:
            first, *others = save_targets(kind, self._cwd, SettingsRoots.from_environment())
            if not update.replaces:
                save_rules(first.file, update.behavior, update.rules, within=first.within)
            for target, rules in ((first, update.rules), *((other, ()) for other in others)) if update.replaces else ():
                replace_rules(target.file, update.behavior, rules, within=target.within)
                replaced.append(target.file)
            if kind.is_folder and update.behavior == "allow":
                self._remember(first, update.rules)
        except SettingsError as error:
            _log.warning("the rules %s hold for this session only: %s", update.rules, error)
        return tuple(replaced)

    def _keep(self, kind: _Kind, update: ModeUpdate | DirectoryUpdate) -> None:
        try:
            first, *others = save_targets(kind, self._cwd, SettingsRoots.from_environment())
            if isinstance(update, ModeUpdate):
                save_value(first.file, ("permissions", "defaultMode"), update.mode, within=first.within)
            elif not update.removes:
                save_directories(first.file, update.directories, within=first.within)
            else:
                for target in (first, *others):
                    remove_directories(target.file, update.directories, within=target.within)
        except SettingsError as error:
            _log.warning("%s holds for this session only: %s", update, error)

    def _remember(self, target: SaveTarget, rules: Sequence[str]) -> None:
        """What the user saves in a folder is the user's: it counts there from now on, whether the folder is trusted."""
        roots = SettingsRoots.from_environment()
        store = TrustStore(roots.state, home=roots.home)
        root = find_layout(self._cwd, home=roots.home).root
        store.keep(root, [kept_rule_hash(rule, target.file) for rule in rules])

    def _remove(self, kind: _Kind, update: RuleUpdate) -> tuple[str, ...]:
        if update.behavior != "allow":
            _log.warning("the rules %s stay: those that %s are never taken away", update.rules, update.behavior)
            return ()
        removed: list[str] = []
        try:
            for target in save_targets(kind, self._cwd, SettingsRoots.from_environment()):
                remove_rules(target.file, update.behavior, update.rules, within=target.within)
                removed.append(target.file)
        except SettingsError as error:
            _log.warning("the rules %s could not be taken out of the settings: %s", update.rules, error)
        return tuple(removed)
