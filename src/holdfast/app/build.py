"""The composition root: from options to a working executor."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.app.shell import ShellChoices, ShellKit
from holdfast.app.tools import assemble
from holdfast.contract import Asker, PromptFacts, SessionFacts, Tool, UsageError
from holdfast.engine import DEFAULT_MAX_CONCURRENCY, Executor
from holdfast.events import Event
from holdfast.permissions import PermissionContext, Rule, RuleSource
from holdfast.registry import ViewOptions

__all__ = ["Options", "build_executor"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose for a session, on the command line or in code."""

    cwd: str | None = None
    permission_mode: str = "default"
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """Only these tools, by any of their names."""
    own_tools: tuple[Tool, ...] = field(default_factory=tuple)
    shell: ShellChoices = field(default_factory=ShellChoices)


def build_executor(
    options: Options, *, asker: Asker | None = None, on_event: Callable[[Event], None] | None = None
) -> Executor:
    """An executor with the built-in tools and the rights that the options give."""
    cwd = os.path.realpath(options.cwd or os.getcwd())
    if not os.path.isdir(cwd):
        raise UsageError(f"{options.cwd!r} is no directory; give an existing one with --cwd")
    shell = ShellKit(options.shell, on_event=on_event)
    facts = PromptFacts(interactive=asker is not None, background=shell.background)
    session = SessionFacts(project_root=cwd, prompt=facts)
    permissions = PermissionContext.started_in(
        cwd,
        options.permission_mode,
        [*_rules("allow", options.allowed_tools), *_rules("deny", options.disallowed_tools)],
        readable=(shell.places.results, shell.places.tasks),
    )
    view = ViewOptions(
        only=None if options.tools is None else frozenset(options.tools),
        simple=_is_set("HOLDFAST_SIMPLE", "CLAUDE_CODE_SIMPLE"),
        session=session,
    )
    executor = Executor(
        assemble(permissions, own_tools=options.own_tools, options=view, shell=shell),
        permissions=permissions,
        cwd=cwd,
        session=session,
        asker=asker,
        on_event=on_event,
        max_concurrency=_max_concurrency(),
        spill_directory=Path(shell.places.results),
    )
    shell.permissions = lambda: executor.state.permissions
    return executor


def _rules(behavior: str, texts: Iterable[str]) -> list[Rule]:
    source = RuleSource("cli")
    return [Rule.parse("allow" if behavior == "allow" else "deny", text, source) for text in texts]


def _is_set(*names: str) -> bool:
    value = next((os.environ[name] for name in names if name in os.environ), "")
    return value.lower() not in ("", "0", "false", "no")


def _max_concurrency() -> int:
    names = ("HOLDFAST_MAX_TOOL_CONCURRENCY", "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY")
    value = next((os.environ[name] for name in names if name in os.environ), "")
    return int(value) if value.isdecimal() and int(value) > 0 else DEFAULT_MAX_CONCURRENCY
