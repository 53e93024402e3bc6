"""What whoever runs a session may settle anew while it runs: settings, effort, and how the model thinks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, get_args

from holdfast.contract import UsageError
from holdfast.models import Effort
from holdfast.permissions.updates import change_mode
from holdfast.session.records import TITLE

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent
    from holdfast.permissions import PermissionContext

__all__ = ["apply_settings", "rename_session", "settings_now", "think"]

_LIVE = frozenset({"permissions", "hooks", "model", "effortLevel"})
_LIMITS = ("deny", "ask")


def apply_settings(agent: "RunningAgent", given: Mapping[str, Any]) -> None:
    """Take settings over, key by key; None takes a key back. Rules that deny or ask only ever come, they never go.

    Raises:
        UsageError: One of them counts only from the start, or makes no sense; then none of them counts.
        SettingsError: One of them is malformed; the same.
    """
    for name, value in given.items():
        if name not in _LIVE and value not in (None, False):
            raise UsageError(
                f"{name!r} takes effect only at the start of a session: give it with --settings. While it runs these "
                f"can be changed: {', '.join(sorted(_LIVE))}"
            )
    effort = _effort(agent, given)
    merged = _merged(agent.rights.given, {name: value for name, value in given.items() if name in _LIVE})
    agent.rights.check(merged)
    mode = _mode(agent, given)
    if "model" in given:
        agent.change_model(str(given["model"] or agent.first_model))
    state = agent.opened.executor.state
    state.permissions = agent.rights.take(merged, state.permissions if mode is None else mode)
    agent.opened.hooks.follow()
    agent.loop.choices = agent.loop.choices._replace(effort=effort)


def _effort(agent: "RunningAgent", given: Mapping[str, Any]) -> Effort | None:
    if "effortLevel" not in given:
        return agent.loop.choices.effort
    level = given["effortLevel"]
    if level is None:
        return agent.first_choices.effort
    if level not in get_args(Effort):
        raise UsageError(f"effortLevel must be one of {', '.join(get_args(Effort))}, got {level!r}")
    return cast("Effort", level)


def _merged(before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The whole of what was given so far; earlier limits stay."""
    found = {name: value for name, value in {**before, **given}.items() if value is not None}
    earlier: Any = before.get("permissions") or {}
    limits = {name: earlier[name] for name in _LIMITS if earlier.get(name)}
    if not limits:
        return found
    now: Any = found.get("permissions", {})
    if not isinstance(now, dict):
        return found  # it is malformed, and whoever reads it says so
    asked = cast("dict[str, Any]", now)
    kept = {
        name: [*rules, *(rule for rule in asked.get(name, ()) if rule not in rules)] for name, rules in limits.items()
    }
    return {**found, "permissions": {**asked, **kept}}


def _mode(agent: "RunningAgent", given: Mapping[str, Any]) -> "PermissionContext | None":
    """The context in the mode that the settings name, if they do."""
    permissions = given.get("permissions")
    wanted: Any = cast("dict[str, Any]", permissions).get("defaultMode") if isinstance(permissions, dict) else None
    if wanted is None:
        return None
    state = agent.opened.executor.state
    return change_mode(state.permissions, str(wanted), may_bypass=state.may_bypass)


def settings_now(agent: "RunningAgent") -> dict[str, Any]:
    """The settings in force, what the session was given besides, and what of them is applied."""
    return {
        "effective": _plain(agent.rights.settings.merged.values),
        "sources": [{"source": "flagSettings", "settings": dict(agent.rights.given)}] if agent.rights.given else [],
        "applied": {"model": agent.model.name.partition(":")[2], "effort": agent.loop.choices.effort},
        "errors": [
            {**({"file": problem.path} if problem.path else {}), "path": "", "message": str(problem)}
            for problem in agent.rights.settings.problems
        ],
    }


def rename_session(agent: "RunningAgent", title: str) -> None:
    """Call the session so.

    Raises:
        UsageError: Nothing of it is kept.
    """
    session = agent.opened.session
    if session is None:
        raise UsageError("this session keeps nothing on disk, so it has no title")
    session.journal.record_note(TITLE, title)


def _plain(value: Any) -> Any:
    """Frozen settings as dicts and lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    return [_plain(inner) for inner in cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value


def think(agent: "RunningAgent", tokens: int | None, display: str | None, *, has_display: bool) -> None:
    """Let the model think from its next answer on: 0 for not at all, None for as at the start; it sets the amount."""
    first, choices = agent.first_choices, agent.loop.choices
    choices = choices._replace(thinking=first.thinking if tokens is None else tokens > 0)
    if has_display:
        choices = choices._replace(thinking_display=display or first.thinking_display)
    agent.loop.choices = choices
