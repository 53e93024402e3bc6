"""What one agent carries from call to call: directory, rights, files seen, prompts to deliver."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from holdfast.contract import (
    ContextModifier,
    CwdChanged,
    FileRead,
    FileStamp,
    Granted,
    ModeChanged,
    PromptQueued,
    SessionFacts,
    UsageError,
)

if TYPE_CHECKING:
    from holdfast.permissions import PermissionContext, Rule

__all__ = ["AgentState"]

_log = logging.getLogger(__name__)
_MAY_GRANT = frozenset({"ExitPlanMode", "Skill"})
_MAY_CHANGE_MODE = frozenset({"EnterPlanMode", "ExitPlanMode"})


class AgentState:
    """The session as the next call will find it. Only the executor changes it, in call order."""

    __slots__ = (
        "_grants",
        "_reads",
        "cwd",
        "effort",
        "file_reads",
        "may_bypass",
        "permissions",
        "prompt_id",
        "prompts",
        "session",
        "tells_every_layer",
    )

    def __init__(self, cwd: str, permissions: "PermissionContext", session: SessionFacts) -> None:
        self.cwd = cwd
        self.permissions = permissions
        self.may_bypass = permissions.effective_mode == "bypassPermissions"
        """The user began with that mode; nobody else enters it."""
        self.tells_every_layer = False
        """Decisions are told with the word of every layer, also of those that they did not need; it costs time."""
        self.session = session
        self.prompts: deque[str] = deque()
        self.prompt_id: str | None = None
        """Which prompt is being answered."""
        self.effort: str | None = None
        """How hard the model was told to try."""
        self._grants: list[tuple[int, tuple[Rule, ...]]] = []
        """Grants that end: prompts left, and the rules."""
        self._reads: dict[str, FileStamp] = {}
        self.file_reads = MappingProxyType(self._reads)

    def apply(self, modifier: ContextModifier, tool: str) -> None:
        """Make one change that a finished call of `tool` asked for."""
        if isinstance(modifier, FileRead):
            self._reads[modifier.path] = modifier.stamp
        elif isinstance(modifier, CwdChanged):
            self.cwd = modifier.path
        elif isinstance(modifier, PromptQueued):
            self.prompts.append(modifier.text)
        elif isinstance(modifier, ModeChanged):
            self._change_mode(modifier, tool)
        else:
            self._grant(modifier, tool)

    # The rights of the calls that are made here, for tools that other agents use, too.

    @property
    def hides_files(self) -> bool:
        """Some file may be hidden."""
        return self.permissions.hides_files

    def hides(self, path: str) -> bool:
        """A rule keeps this file from being read."""
        return self.permissions.hides(path)

    def is_inside(self, path: str) -> bool:
        """This resolved path is one of the directories to work in, or below one."""
        return self.permissions.is_inside(path)

    def guarded_roots(self) -> tuple[str, ...]:
        """The directories whose programs run only for somebody who wants them."""
        return self.permissions.guarded_roots()

    def end_prompt(self) -> None:
        """A prompt is answered: what was granted for so many of them ends."""
        if not self._grants:
            return
        ended = [rule for left, rules in self._grants if left <= 1 for rule in rules]
        self._grants = [(left - 1, rules) for left, rules in self._grants if left > 1]
        if ended:
            # By identity: the same rule that somebody else has given stays.
            kept = [rule for rule in self.permissions.rules if not any(rule is gone for gone in ended)]
            self.permissions = self.permissions.replacing_rules(kept)

    def forget_shown(self) -> None:
        """The model no longer has before it what it read: the same read again shows the file again."""
        for path, stamp in self._reads.items():
            self._reads[path] = stamp._replace(window=None)

    def _change_mode(self, modifier: ModeChanged, tool: str) -> None:
        if tool in _MAY_CHANGE_MODE and modifier.mode != "bypassPermissions":
            self.permissions = self.permissions.with_mode(modifier.mode)
        else:
            _log.warning("%s asked for mode %s; only the plan tools change the mode", tool, modifier.mode)

    def _grant(self, modifier: Granted, tool: str) -> None:
        if tool in _MAY_GRANT:
            rules = tuple(_readable(modifier.rules, tool))
            self.permissions = self.permissions.with_rules(*rules)
            if modifier.turns is not None:
                self._grants.append((modifier.turns, rules))
        else:
            _log.warning("%s asked for grants %s; only a plan or a skill may be granted any", tool, modifier.rules)


def _readable(rules: Iterable[str], tool: str) -> "Iterator[Rule]":
    """The rules that can be read; one that cannot disables only itself, loudly."""
    from holdfast.permissions import Rule  # noqa: PLC0415 - with the first grant

    for text in rules:
        try:
            yield Rule.parse("allow", text)
        except UsageError:
            _log.warning("%s was granted a rule that cannot be read: %r", tool, text)
