"""Change the rights as an answer wants it, as far as it may."""

import logging
from collections.abc import Callable, Collection, Iterable

from holdfast.contract import ModeChanged, ModeUpdate, PermissionUpdate, RuleUpdate
from holdfast.engine.call import Call
from holdfast.engine.state import AgentState
from holdfast.events import ContextChanged, Event
from holdfast.permissions import PermissionContext, Rule

__all__ = ["KeepRules", "RightsUpdater", "chosen_by_hook"]

_log = logging.getLogger(__name__)
KeepRules = Callable[[PermissionUpdate], Collection[str]]
"""Writes what an answer changes to the chosen settings file; tells the files in which rules replaced others."""


class RightsUpdater:
    """Takes over what people's answers say about later calls."""

    __slots__ = ("_keep_rules", "_state")

    def __init__(self, state: AgentState, keep_rules: KeepRules | None) -> None:
        self._state = state
        self._keep_rules = keep_rules

    def take(self, call: Call, update: PermissionUpdate, emit: Callable[[Event], None]) -> None:
        """Change the rights from now on, and the file where the answer wants that."""
        state = self._state
        if isinstance(update, RuleUpdate):
            for text in update.rules:
                Rule.parse(update.behavior, text)  # what is no rule is kept nowhere
            files = self._keep(update)
            state.permissions = state.permissions.with_update(update, files=files)
            return
        from holdfast.permissions.updates import update_rights  # noqa: PLC0415 - few answers bring one

        before = state.permissions.mode
        state.permissions, refused, counted = update_rights(state.permissions, update, may_bypass=state.may_bypass)
        if counted is not None:
            self._keep(counted)
        for reason in refused:
            _log.warning("a permission update of the answer about call %s is ignored: %s", call.id, reason)
        if state.permissions.mode != before:
            emit(ContextChanged(call.id, ModeChanged.__name__, {"mode": state.permissions.mode}))

    def _keep(self, update: PermissionUpdate) -> Collection[str]:
        keep = None if update.destination in ("session", "cliArg") else self._keep_rules
        return () if keep is None else keep(update)


def chosen_by_hook(updates: Iterable[PermissionUpdate], rights: PermissionContext) -> tuple[PermissionUpdate, ...]:
    """What of these a hook may choose: people alone lift every question, and end the planning."""
    kept: list[PermissionUpdate] = []
    for update in updates:
        if isinstance(update, ModeUpdate) and update.mode == "bypassPermissions":
            _log.warning("a PermissionRequest hook wants the mode bypassPermissions, which no hook may choose")
        elif isinstance(update, ModeUpdate) and rights.effective_mode == "plan":
            _log.warning("a PermissionRequest hook wants the mode %s; plan mode ends with a person's yes", update.mode)
        else:
            kept.append(update)
    return tuple(kept)
