"""What sessions that died with their guard left running: every command that opens our state ends it first."""

import logging
import os

from holdfast.host.registry import reap_leftovers
from holdfast.settings import SettingsError
from holdfast.settings.directories import private_directory, user_directories

__all__ = ["end_leftovers"]

_log = logging.getLogger(__name__)


def end_leftovers() -> str | None:
    """End what is left; returns the directory where running processes are noted, or None where that cannot be."""
    directory = os.path.join(user_directories().state, "processes")
    try:
        private_directory(directory)
        for pid in reap_leftovers(directory):
            _log.warning("ended process %d, which a crashed session left", pid)
    except (OSError, SettingsError) as error:
        _log.warning("running processes are not noted on disk: %s", error)
        return None
    return directory
