"""From options and settings files to the rights of a session, with the place of every rule and what does not count."""

import os
from collections.abc import Iterable

import msgspec

from holdfast.app.options import Options
from holdfast.contract import UsageError
from holdfast.permissions import PermissionContext, Rule, RuleSource
from holdfast.permissions.rules import Behavior, RuleProblem, parse_rules
from holdfast.registry import ALIASES, BUILTIN_NAMES
from holdfast.settings import CommandLine, Settings, SettingsRoots, TrustStore, load_settings, parse_setting_sources

__all__ = ["Rights", "load_rights"]


class Rights(msgspec.Struct, frozen=True):
    """The settings of a session and the permission context they make."""

    settings: Settings
    permissions: PermissionContext
    problems: tuple[RuleProblem, ...] = ()
    """Rules that are not in force; each disables only itself."""

    def warnings(self) -> list[str]:
        """Everything that does not count, one line each, with its place."""
        rules = [f"{_place(problem.source)}: the rule {problem.text!r} {problem.reason}" for problem in self.problems]
        return [*map(str, self.settings.problems), *rules]


def load_rights(options: Options, *, readable: Iterable[str] = ()) -> Rights:
    """Read every settings source that holds in the directory; nothing is run, and nothing of the folder is trusted.

    Raises:
        UsageError: The directory does not exist, or a settings file is broken (it never means "no rules").
    """
    cwd = os.path.realpath(options.cwd or os.getcwd())
    if not os.path.isdir(cwd):
        raise UsageError(f"{options.cwd!r} is no directory; give an existing one with --cwd")
    roots = SettingsRoots.from_environment()
    settings = load_settings(
        cwd,
        roots,
        cli=CommandLine(
            settings=options.settings,
            allowed_tools=options.allowed_tools,
            disallowed_tools=options.disallowed_tools,
            add_dirs=options.add_dirs,
            permission_mode=options.permission_mode,
        ),
        setting_sources=None if options.setting_sources is None else parse_setting_sources(options.setting_sources),
        trust=TrustStore(roots.state, home=roots.home),
    )
    rules, problems = _parse(settings)
    permissions = PermissionContext.started_in(
        cwd,
        settings.default_mode,
        rules,
        working_directories=(cwd, *(entry.directory for entry in settings.directories)),
        project_root=settings.root,
        home=roots.home,
        readable=tuple(readable),
        trusted=settings.trusted,
        disabled_modes=_disabled_modes(settings),
    )
    return Rights(settings, permissions, tuple(problems))


def _parse(settings: Settings) -> tuple[list[Rule], list[RuleProblem]]:
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    for entry in settings.rules:
        source = RuleSource(str(entry.source), entry.path, entry.line, entry.anchor)
        behavior: Behavior = entry.behavior
        found, bad = parse_rules([entry.text], behavior, source, aliases=ALIASES, known_tools=BUILTIN_NAMES)
        rules += found
        problems += bad
    return rules, problems


def _disabled_modes(settings: Settings) -> tuple[str, ...]:
    bypass = ("bypassPermissions",) if settings.bypass_disabled else ()
    return (*bypass, "auto") if settings.auto_disabled else bypass


def _place(source: RuleSource) -> str:
    if source.path is None:
        return source.kind
    return source.path if source.line is None else f"{source.path}:{source.line}"
