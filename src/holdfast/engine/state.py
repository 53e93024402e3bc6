"""What one agent carries from call to call: directory, rights, files seen, prompts to deliver."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from holdfast.contract import (
    ContextModifier,
    ConversationHanded,
    CwdChanged,
    FileRead,
    FileStamp,
    Granted,
    ModeChanged,
    PromptQueued,
    SessionFacts,
    UsageError,
    WorktreeChanged,
)
from holdfast.contract.roles import PlanRights

if TYPE_CHECKING:
    from holdfast.engine.subcalls import SubCalls
    from holdfast.permissions import PermissionContext, Rule
    from holdfast.permissions.rules.grammar import Behavior

__all__ = ["AgentState", "readable_rules"]

_log = logging.getLogger(__name__)
_KEPT_CONVERSATIONS = 50
_MAY_GRANT = frozenset({"ExitPlanMode", "Skill"})
_MAY_MOVE = frozenset({"EnterWorktree", "ExitWorktree"})


class AgentState:
    """The session as the next call will find it. Only the executor changes it, in call order."""

    __slots__ = (
        "_grants",
        "_reads",
        "calls",
        "conversations",
        "cwd",
        "deps",
        "effort",
        "file_reads",
        "may_bypass",
        "permissions",
        "prompt_id",
        "prompts",
        "session",
        "tells_every_layer",
        "worktree",
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
        self.calls: SubCalls | None = None
        """Makes the calls that tools make."""
        self.deps: Any = None
        """What the program hands to its own tools."""
        self.worktree: WorktreeChanged | None = None
        """The worktree that the session has gone to."""
        self.conversations: dict[str, Any] = {}
        """What finished agents have handed on, by their ids; the oldest go."""
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
        elif isinstance(modifier, WorktreeChanged):
            self._move(modifier, tool)
        elif isinstance(modifier, ConversationHanded):
            self._take_over(modifier, tool)
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

    @property
    def plan(self) -> PlanRights:
        """Whether plan mode is on, and what belongs to it."""
        permissions = self.permissions
        files = permissions.roots.plan_file
        return PlanRights(permissions.effective_mode == "plan", files[0] if files else "", permissions.before_plan)

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
        """Into plan mode and back to where it was entered from: the plan tools lead nowhere else."""
        permissions = self.permissions
        back = permissions.before_plan if permissions.mode == "plan" else None
        may_bypass = self.may_bypass or modifier.mode != "bypassPermissions"
        if (tool == "EnterPlanMode" and modifier.mode == "plan") or (
            tool == "ExitPlanMode" and modifier.mode == back and may_bypass
        ):
            self.permissions = permissions.with_mode(modifier.mode)
        else:
            _log.warning("%s asked for mode %s; only the plan tools change the mode", tool, modifier.mode)

    def _move(self, modifier: WorktreeChanged, tool: str) -> None:
        """Into a worktree or out of it: directory, project and rights go together."""
        if tool not in _MAY_MOVE:
            _log.warning("%s asked for another project directory; only the worktree tools change it", tool)
            return
        before, self.worktree = self.worktree, modifier if modifier.path else None
        root = modifier.path or (before.original_root if before is not None else self.session.project_root)
        self.cwd = modifier.cwd
        self.session = self.session._replace(project_root=root)
        place = (modifier.root, modifier.path) if modifier.path else None
        self.permissions = self.permissions.with_options(
            worktree=place, worktrees_of=modifier.root or (before.root if before is not None else None)
        )

    def _take_over(self, modifier: ConversationHanded, tool: str) -> None:
        if tool != "Agent":
            _log.warning("%s handed a conversation on; only Agent may", tool)
            return
        self.conversations.pop(modifier.agent_id, None)
        self.conversations[modifier.agent_id] = modifier.conversation
        while len(self.conversations) > _KEPT_CONVERSATIONS:
            del self.conversations[next(iter(self.conversations))]

    def has_worktrees(self, checkout: str) -> bool:
        """Worktrees of this checkout are there: what rules say about it holds in them. False: another has some."""
        known = self.permissions.worktrees_of
        if known is None:
            self.permissions = self.permissions.with_options(worktrees_of=checkout)
        return known in (None, checkout)

    def _grant(self, modifier: Granted, tool: str) -> None:
        if tool in _MAY_GRANT:
            rules = (*readable_rules("allow", modifier.rules, tool), *readable_rules("deny", modifier.denied, tool))
            if rules:
                self.permissions = self.permissions.with_rules(*rules)
            if modifier.readable:
                self.let_read(modifier.readable)
            if modifier.turns is not None and rules:
                self._grants.append((modifier.turns, rules))
        else:
            _log.warning("%s asked for grants %s; only a plan or a skill may be granted any", tool, modifier.rules)

    def let_read(self, directories: Iterable[str]) -> None:
        """These directories read as inside for the rest of the session: where files of skills are."""
        self.permissions = self.permissions.with_readable(directories)


def readable_rules(behavior: "Behavior", rules: Iterable[str], tool: str) -> "Iterator[Rule]":
    """The rules that can be read; one that cannot disables only itself, loudly."""
    from holdfast.permissions import Rule  # noqa: PLC0415 - with the first grant

    for text in rules:
        try:
            yield Rule.parse(behavior, text)
        except UsageError:
            _log.warning("%s was granted a rule that cannot be read: %r", tool, text)
