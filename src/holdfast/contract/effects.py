"""What a call would touch: the paths it reads and writes, the hosts it reaches, the programs it starts."""

import os
from collections.abc import Iterable
from typing import TypeAlias

__all__ = ["UNKNOWN_EFFECTS", "Effects"]

AnyPath: TypeAlias = str | os.PathLike[str]


class Effects:
    """The declared effects of one call. Immutable; `known` is false when a tool cannot tell."""

    __slots__ = ("known", "network", "process", "reads", "writes")

    reads: tuple[str, ...]
    """Paths that are read."""
    writes: tuple[str, ...]
    """Paths that are made, changed or removed."""
    network: tuple[str, ...]
    """Hosts that are spoken to."""
    process: bool
    """It starts a program."""
    known: bool
    """False: nobody can tell, and the worst is assumed."""

    def __init__(
        self,
        *,
        reads: Iterable[AnyPath] = (),
        writes: Iterable[AnyPath] = (),
        network: Iterable[str] = (),
        process: bool = False,
        known: bool = True,
    ) -> None:
        put = object.__setattr__
        put(self, "reads", tuple([os.fspath(path) for path in reads]))
        put(self, "writes", tuple([os.fspath(path) for path in writes]))
        put(self, "network", tuple(network))
        put(self, "process", process)
        put(self, "known", known)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Effects are immutable; make a new one instead of setting {name!r}")

    def _key(self) -> tuple[object, ...]:
        return (self.reads, self.writes, self.network, self.process, self.known)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Effects) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("reads", "writes", "network", "process"))
        return f"Effects({parts}, known={self.known})"


UNKNOWN_EFFECTS = Effects(known=False)
"""What a tool has when it does not say: anything may happen."""
