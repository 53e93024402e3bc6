"""From options and settings files to the rights of a session, with the place of every rule and what does not count."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from holdfast.app.options import Options
from holdfast.contract.errors import UsageError
from holdfast.host.programs import own_places
from holdfast.lib.positions import Json
from holdfast.permissions import PermissionContext, Rule, RuleSource
from holdfast.permissions.protected import is_protected_directory, protected_by
from holdfast.permissions.rules.grammar import Behavior, RuleProblem, parse_rules
from holdfast.registry.names import ALIASES, BUILTIN_NAMES
from holdfast.settings import CommandLine, Request, Settings, SettingsRoots, TrustStore, parse_setting_sources
from holdfast.settings.layout import find_layout
from holdfast.settings.load import ALL_SOURCES, load
from holdfast.settings.sources import SourceKind
from holdfast.settings.trust import FolderIdentity, NoTrust, Trust, VouchedTrust, why_never_trusted
from holdfast.settings.watch import Reloader

if TYPE_CHECKING:
    from holdfast.definitions.plugins import Plugin

__all__ = ["Rights", "load_rights"]


class Rights:
    """The settings of a session and the permission context they make; both follow the files while the session runs."""

    def __init__(self, reloader: Reloader, own_tools: Iterable[str] = ()) -> None:
        """Read the rules; `own_tools`: names of the program's own tools, which rules may name."""
        self._reloader = reloader
        self._known_tools = BUILTIN_NAMES.union(own_tools)
        rules, problems = _parse(reloader.current, self._known_tools)
        self.permissions = _context(reloader.current, rules, reloader.request.roots)
        self.problems: tuple[RuleProblem, ...] = tuple(problems)
        """Rules that are not in force; each disables only itself."""
        self.plugins: tuple[Plugin, ...] = ()
        """Those that the session was started with."""
        self.lost_plugins: tuple[tuple[str, str], ...] = ()
        """Folders that were named and hold none, each with the reason."""

    @property
    def settings(self) -> Settings:
        """The settings in force now."""
        return self._reloader.current

    @property
    def sources(self) -> frozenset[SourceKind]:
        """Which of the user's, the project's and the local files count (`--setting-sources`)."""
        return self._reloader.request.sources

    @property
    def is_confined(self) -> bool:
        """Whether the settings want commands in the sandbox."""
        return self.settings.sandbox.get("enabled") is True

    def warnings(self) -> list[str]:
        """Everything that does not count, one line each, with its place."""
        from holdfast.app.not_honoured import what_is_not_honoured  # noqa: PLC0415 - told behind the first request

        rules = [
            f"{_place(problem.source)}: the rule {problem.text!r} is ignored: {problem.reason}"
            for problem in self.problems
        ]
        unable = what_is_not_honoured(self.settings)
        return [*map(str, self.settings.problems), *map(str, self._reloader.errors), *rules, *unable]

    def left_out(self) -> str:
        """In one line, what of an untrusted folder is not in force, and how that can be changed; empty for nothing."""
        from holdfast.settings.trust_question import explain_untrusted  # noqa: PLC0415 - looks at files; only faces ask

        return explain_untrusted(self.settings)

    def changed_files(self) -> list[tuple[str, str]]:
        """The files that changed, each with the name that hooks know its source by."""
        roots, root = self._reloader.request.roots, self.settings.root
        managed = (*roots.managed_existing, *roots.managed_native)
        found: list[tuple[str, str]] = []
        for path in self._reloader.changed_paths():
            if path.startswith(tuple(f"{place}{os.sep}" for place in managed)):
                kind = "policy_settings"
            elif path.endswith("settings.local.json"):
                kind = "local_settings"
            else:
                kind = "project_settings" if path.startswith(root + os.sep) else "user_settings"
            found.append((kind, path))
        return found

    def leave_change(self) -> None:
        """Go on with the settings as they were."""
        self._reloader.leave()

    def follow(self, current: PermissionContext) -> PermissionContext:
        """The context to go on with: `current` unless a settings file changed.

        Mode, roots and the rules of this session stay; a file that became broken counts with its last good content.
        """
        if not self._reloader.changed():
            return current
        self._reloader.reload()
        return self._renewed(current)

    @property
    def given(self) -> Mapping[str, Json]:
        """The settings that whoever runs the session gave while it ran."""
        return self._reloader.request.session or {}

    def check(self, given: Mapping[str, Json]) -> None:
        """Whether these could be given.

        Raises:
            SettingsError: Something of them is malformed, or a file is broken.
        """
        load(msgspec.structs.replace(self._reloader.request, session=given))

    def take(self, given: Mapping[str, Json], current: PermissionContext) -> PermissionContext:
        """The context to go on with when these stand in place of what was given before."""
        self._reloader.use_session(given)
        return self._renewed(current)

    def _renewed(self, current: PermissionContext) -> PermissionContext:
        rules, problems = _parse(self._reloader.current, self._known_tools)
        self.problems = tuple(problems)
        of_session = [rule for rule in current.rules if rule.source.kind == "session"]
        flags = current.with_options(
            trusted=self.settings.trusted,
            disabled_modes=_disabled_modes(self.settings),
            working_directories=_working(self.settings),
            sandbox_auto_allow=_sandbox_allows(self.settings),
        )
        self.permissions = flags.replacing_rules([*rules, *of_session])
        return self.permissions


def load_rights(options: Options) -> Rights:
    """Read every settings source that holds in the directory; nothing is run, and nothing of the folder is trusted.

    Raises:
        UsageError: The directory does not exist, or a settings file is broken (it never means "no rules").
    """
    try:
        cwd = os.path.realpath(options.cwd or os.getcwd())
    except FileNotFoundError as error:
        raise UsageError("the current directory is gone; go to one that exists, or give one with --cwd") from error
    if not os.path.isdir(cwd):
        raise UsageError(f"{options.cwd!r} is not a directory; give an existing one with --cwd")
    roots = SettingsRoots.from_environment()
    sources = options.setting_sources
    request = Request(
        cwd,
        roots,
        cli=CommandLine(
            settings=options.settings,
            allowed_tools=options.allowed_tools,
            disallowed_tools=options.disallowed_tools,
            add_dirs=options.add_dirs,
            permission_mode=options.permission_mode,
        ),
        sources=ALL_SOURCES if sources is None else parse_setting_sources(sources),
        trust=_trust(options.trust, cwd, roots),
    )
    rights = Rights(Reloader(request), (name for tool in options.own_tools for name in tool.names))
    rights.plugins, rights.lost_plugins = options.plugins, options.lost_plugins
    return rights


def _trust(wanted: bool | None, cwd: str, roots: SettingsRoots) -> Trust:  # noqa: FBT001 - a choice of three
    store = TrustStore(roots.state, home=roots.home)
    if wanted is None:
        return store
    if wanted is False:
        return NoTrust()
    root = find_layout(cwd, home=roots.home).root
    if (reason := why_never_trusted(root, home=roots.home)) is not None:
        raise UsageError(
            f"{root!r} cannot be trusted: {reason}; leave trust=True out, or work in a project's directory"
        )
    return VouchedTrust(store, FolderIdentity.of(root))


def _working(settings: Settings) -> tuple[str, ...]:
    return (settings.cwd, *(entry.directory for entry in settings.directories))


def _needs_words(place: str) -> bool:
    """Whether a directory is not protected by its name. The index of those names is not made for usual places."""
    return not is_protected_directory(place) and protected_by((place,)) is None


def _context(settings: Settings, rules: list[Rule], roots: SettingsRoots) -> PermissionContext:
    return PermissionContext.started_in(
        settings.cwd,
        settings.default_mode,
        rules,
        working_directories=_working(settings),
        # The usual places are protected by their names; these are where the user's variables have put them.
        # What we run ourselves must not change unasked either.
        governing=[*own_places(), *filter(_needs_words, roots.directories())],
        project_root=settings.root,
        worktrees_of=settings.root if os.path.isdir(os.path.join(settings.root, ".holdfast", "worktrees")) else None,
        home=roots.home,
        trusted=settings.trusted,
        disabled_modes=_disabled_modes(settings),
        sandbox_auto_allow=_sandbox_allows(settings),
    )


def _sandbox_allows(settings: Settings) -> bool:
    """Whether a command in the sandbox needs no question."""
    given = settings.sandbox
    return given.get("enabled") is True and given.get("autoAllowBashIfSandboxed") is not False


def _parse(settings: Settings, known_tools: frozenset[str]) -> tuple[list[Rule], list[RuleProblem]]:
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    for entry in settings.rules:
        # What a person's answers add has the source `session`; it stays when settings are read again.
        kind = "flag" if entry.source is SourceKind.SESSION else str(entry.source)
        source = RuleSource(kind, entry.path, entry.line, entry.anchor)
        behavior: Behavior = entry.behavior
        found, bad = parse_rules([entry.text], behavior, source, aliases=ALIASES, known_tools=known_tools)
        rules += found
        problems += bad
    return rules, problems


def _disabled_modes(settings: Settings) -> tuple[str, ...]:
    bypass = ("bypassPermissions",) if settings.bypass_disabled else ()
    return (*bypass, "auto") if settings.auto_disabled else bypass


def _place(source: RuleSource) -> str:
    if source.path is None:
        return "the options" if source.kind == "command_line" else source.kind
    return source.path if source.line is None else f"{source.path}:{source.line}"
