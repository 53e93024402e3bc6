"""What one command may write, read and reach. All paths are absolute; none comes from a model."""

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from holdfast.host.sandbox.proxy import Border

__all__ = ["PINNED", "Policy"]

PINNED: Final = MappingProxyType({"commondir": b".\n", "config.worktree": b""})
"""What stands for such a file while it is missing: git finds in it what it would do without it."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The confinement of one command: what is not named here is read-only."""

    writable: tuple[str, ...] = ()
    """Directories and files that may be changed, with everything below them but the following."""
    governing: tuple[str, ...] = ()
    """What governs the agent: never changed, and never made where it is missing."""
    pinned: tuple[str, ...] = ()
    """Files that git would take its configuration by (see `PINNED`): fixed, and where they are missing a harmless one
    stands there meanwhile."""
    fixed: tuple[str, ...] = ()
    """Read-only where they exist."""
    denied: tuple[str, ...] = ()
    """Read-only, and never made where they are missing."""
    hidden: tuple[str, ...] = ()
    """Neither read nor changed where they exist."""
    changeable: tuple[str, ...] = ()
    """Where earlier commands may have written: a link there opens nothing, whoever names it."""
    shown: tuple[str, ...] = ()
    """Readable although they lie in something hidden."""
    sockets: tuple[str, ...] = ()
    """Unix sockets that may be reached, and no other that somebody listens at when the command starts; with none the
    address family itself is refused."""
    all_sockets: bool = False
    border: "Border | Any" = None  # msgspec would have to load the proxy to know it better
    """Who may be reached through our proxy; None: nobody, and there is no network at all."""
    open_network: bool = False
    """The network is the machine's own."""
    temporary: str | None = None
    """The session's own directory for temporary files: writable, and named by TMPDIR."""
    granted: tuple[str, ...] = ()
    """Files of ours that may be written although they lie in something fixed."""
    is_nested: bool = False
    """We are in a container that allows no new /proc: it is shown as it is, which is weaker."""
