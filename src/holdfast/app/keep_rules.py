"""Where an "always" goes: the rules are written to the settings file that the user chose."""

import logging
from typing import Final, Literal

from holdfast.settings import SettingsError, SettingsRoots, SourceKind
from holdfast.settings.save import save_rules, save_target

__all__ = ["RuleKeeper"]

_log = logging.getLogger(__name__)
_KINDS: Final = {
    "userSettings": SourceKind.USER,
    "projectSettings": SourceKind.PROJECT,
    "localSettings": SourceKind.LOCAL,
}


class RuleKeeper:
    """Writes rules atomically, keeping the file's formatting; a file that cannot be written is said loudly."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd

    def __call__(self, behavior: Literal["allow", "ask", "deny"], rules: tuple[str, ...], destination: str) -> None:
        """Save the rules; the session has them already, so a failure costs nothing but the memory of it."""
        kind = _KINDS.get(destination)
        if kind is None:
            _log.warning("unknown destination %r: the rules %s hold for this session only", destination, rules)
            return
        try:
            target = save_target(kind, self._cwd, SettingsRoots.from_environment())  # pyright: ignore[reportArgumentType]
            save_rules(target.file, behavior, rules, within=target.within)
        except SettingsError as error:
            _log.warning("the rules %s hold for this session only: %s", rules, error)
