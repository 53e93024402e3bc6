"""What the decision needs to know about a shell command."""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.permissions.classifier import Risk
from holdfast.permissions.facts import Sight
from holdfast.permissions.paths import PathFacts
from holdfast.permissions.rules.grammar import Rule

__all__ = ["ShellPart", "ShellVerdict"]


class ShellPart(NamedTuple):
    """One simple command."""

    text: str
    read_only: bool
    reason: str = ""
    """Why it is not read-only."""


class ShellVerdict(NamedTuple):
    """A command, analysed and held against the rules."""

    read_only: bool = False
    denied: Rule | None = None
    asked: Rule | None = None
    allowed: Rule | None = None
    """A rule that covers the whole command, part by part."""
    critical: str = ""
    """Why this removal is asked about in every mode; empty when it is none."""
    doubt: str = ""
    """Why a deny or ask rule may be meant although none is seen; then nothing allows it unasked."""
    doubts_files: bool = False
    """That doubt is about rules for files alone, and about nothing that the files' contents reach by another road."""
    file_command: bool = False
    """Only mkdir, touch, mv and cp of plain paths inside the working directories."""
    risk_of: Callable[[], Risk] | None = None
    """Works out the word of our own classifier; only `auto` mode asks for it."""
    sight: Sight = Sight()
    unlisted: tuple[PathFacts, ...] = ()
    """Reads outside the working directories that no command rule covers."""
    parts_of: Callable[[], tuple[ShellPart, ...]] | None = None
    """Gives the simple commands; only people ask for them."""
    left_open: tuple[str, ...] = ()
    """What the allow rules do not cover."""
    only_looks: bool = False
    """In plan mode: it most likely changes nothing, although that is not proven."""

    @property
    def risk(self) -> Risk:
        """The word of our own classifier."""
        return _NOT_ANALYSED if self.risk_of is None else self.risk_of()

    @property
    def parts(self) -> tuple[ShellPart, ...]:
        """Every simple command."""
        return () if self.parts_of is None else self.parts_of()


_NOT_ANALYSED = Risk("high", "the command was not analysed")
