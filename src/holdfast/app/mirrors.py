"""Whether a session is copied to where the tools around agents look for conversations."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.app.options import Options
from holdfast.app.rights import Rights
from holdfast.settings import SettingsRoots

if TYPE_CHECKING:
    from holdfast.app.build import OpenSession
    from holdfast.session.mirror import Mirror

__all__ = ["begin_mirror", "wants_mirror"]

_KEY = "transcripts.mirror"


def wants_mirror(options: Options, rights: Rights) -> bool:
    """The user or whoever runs the session wants a copy; no folder switches it on."""
    if options.mirror:
        return True
    origin = rights.settings.where(_KEY)
    if origin is None:
        return options.has_reader
    if rights.settings.get(_KEY) is not True:
        return False
    return options.has_reader or not origin.source.is_folder


def begin_mirror(opened: "OpenSession", tell: Callable[[str], None]) -> "Mirror | None":
    """Begin the copy; where that is not possible it is told, and the session goes on without."""
    from holdfast.session.mirror import Mirror, mirror_path  # noqa: PLC0415 - few sessions have one

    session = opened.session
    if session is None:
        tell("this session keeps nothing on disk, so there is no copy of it for other programs either")
        return None
    cwd = opened.rights.settings.cwd
    path = mirror_path(SettingsRoots.from_environment().user_existing, cwd, session.id)
    try:
        return Mirror(session, path, cwd=cwd, version=__version__)
    except OSError as error:
        tell(f"the copy of this session for other programs cannot be written: {error}")
        return None
