"""The permission context: mode, rules, roots and flags, deeply immutable. A change makes a new one."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, TypedDict, Unpack

from holdfast.contract import RuleUpdate, UsageError
from holdfast.contract.names import MODES, PermissionMode, as_mode
from holdfast.permissions.matching import denies_read
from holdfast.permissions.paths import Disk, LiveDisk, is_inside
from holdfast.permissions.rules.book import RuleBook
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleSource

__all__ = ["MODES", "Behavior", "PermissionContext", "PermissionMode", "Roots", "Rule", "RuleSource"]

_FOLDER_BROUGHT = frozenset({"project", "local"})
"""Sources that come with the folder: their allow rules wait for trust, their deny and ask rules do not."""


class Roots(NamedTuple):
    """Directories that decide what is inside and where patterns are anchored. All from the user's start-up."""

    working: tuple[str, ...] = ()
    """The project directory and the additional ones, each also in its resolved form."""
    readable: tuple[str, ...] = ()
    """Read as inside: this session's spilled results, task outputs, blobs and loaded skill directories."""
    plan_file: tuple[str, ...] = ()
    """The plan file, given and resolved."""
    governing: tuple[str, ...] = ()
    """Where the settings and the trust record of this user and machine lie: protected wherever that is."""


class Flags(TypedDict, total=False):
    """The options of a context besides mode and rules."""

    working_directories: Iterable[str]
    added_directories: tuple[tuple[str, ...], ...]
    readable: Iterable[str]
    plan_file: str | None
    governing: Iterable[str]
    project_root: str | None
    start_directory: str | None
    home: str | None
    trusted: bool
    sandbox_auto_allow: bool
    disabled_modes: Iterable[str]
    before_plan: PermissionMode
    worktree: tuple[str, str] | None
    worktrees_of: str | None
    disk: Disk
    parent: "PermissionContext | None"


class PermissionContext:
    """Mode, rules and roots, compiled and indexed once, so that thousands of rules cost microseconds per call.

    Args:
        mode: One of `MODES`; `manual` means `default`.
        rules: Every rule of every source. Sources never rank: deny beats ask beats allow.
        options: `working_directories`, `readable`, `plan_file` and `governing` (see `Roots`); `added_directories` are
            those that the user's answers added to the working ones, each in the forms it had then; `project_root`
            anchors `/x` patterns of sources without an own root; `start_directory` anchors relative allow patterns, so
            that a model cannot widen them by changing directory (deny and ask patterns hold there and in the current
            directory); `trusted` activates allow rules that the folder brings; `sandbox_auto_allow` lets sandboxed
            shell calls pass; `disabled_modes` are the modes that policy forbids (they act as `default`); `before_plan`
            is the mode to go back to when a plan was approved; `worktree` is a checkout and the worktree that stands
            for it now (see `in_worktree`); `worktrees_of` is a checkout that has worktrees of ours
            below it; `disk` is how paths are resolved;
            `parent` is the context whose rights this one may not exceed.
    """

    mode: PermissionMode
    effective_mode: PermissionMode
    """The mode that counts: a mode that policy forbids acts as `default`."""
    before_plan: PermissionMode
    """The mode that plan mode was entered from; it is gone back to when a plan was approved."""
    rules: tuple[Rule, ...]
    roots: Roots
    home: str
    project_root: str
    start_directories: tuple[str, ...]
    """Where relative deny and ask patterns hold besides the current directory."""
    grant_directories: tuple[str, ...]
    """Where relative allow patterns hold."""
    trusted: bool
    sandbox_auto_allow: bool
    disabled_modes: frozenset[str]
    disk: Disk
    parent: "PermissionContext | None"
    book: RuleBook
    """The compiled rules that are active here."""
    _known_forms: Mapping[str, tuple[str, ...]]
    _options: Mapping[str, Any]

    def __init__(self, mode: str = "default", rules: Iterable[Rule] = (), **options: Unpack[Flags]) -> None:
        disk = options.get("disk", _LIVE)
        home = options.get("home") or _user_home()
        there = _where_it_is(options.get("worktree"))
        project_root = there(options.get("project_root") or "")
        working = tuple(map(there, options.get("working_directories", ())))
        before, plan_file = options.get("start_directory"), options.get("plan_file")
        start = there(before) if before else None
        known = {path: _both_forms((path,), disk) for path in (*working, *((start,) if start else ()))}
        roots = Roots(
            # What was agreed to was resolved then: a link that was changed since leads nowhere new.
            tuple(dict.fromkeys((*_both_forms(working, disk), *chain(*options.get("added_directories", ()))))),
            _both_forms(tuple(options.get("readable", ())), disk),
            _both_forms((plan_file,), disk) if plan_file else (),
            _both_forms(tuple(options.get("governing", ())), disk),
        )
        rules = tuple(rules)
        active = _active(rules, options, home=home)
        vars(self).update(
            rules=rules,
            roots=roots,
            home=home,
            disk=disk,
            project_root=project_root,
            trusted=options.get("trusted", False),
            sandbox_auto_allow=options.get("sandbox_auto_allow", False),
            parent=options.get("parent"),
            before_plan=options.get("before_plan", "default"),
            disabled_modes=frozenset(options.get("disabled_modes", ())),
            grant_directories=_both_forms((start,), disk) if start else (),
            start_directories=_both_forms((start, before), disk) if start and before else (),
            book=RuleBook(active, home=home, project_root=project_root, forms=partial(_forms, disk)),
            _known_forms=MappingProxyType(known),
            _options=MappingProxyType(dict(options)),
        )
        _set_mode(self, mode)

    @classmethod
    def started_in(
        cls, directory: str, mode: str = "default", rules: Iterable[Rule] = (), **options: Unpack[Flags]
    ) -> "PermissionContext":
        """A context for a session that starts in a directory: that is its project and what counts as inside."""
        flags = Flags(working_directories=(directory,), project_root=directory, start_directory=directory)
        flags.update(options)
        return cls(mode, rules, **flags)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a permission context is immutable; use with_mode or with_rules instead of {name!r}")

    def forms_of(self, directory: str) -> tuple[str, ...]:
        """A directory as given and as the disk resolves it; start-up directories were resolved then."""
        known = self._known_forms.get(directory)
        return known if known is not None else _both_forms((directory,), self.disk)

    def rules_for(self, tool: str) -> tuple[Rule, ...]:
        """The rules that name this tool."""
        return self.book.rules_for(tool)

    def judges_input(self, names: Iterable[str]) -> bool:
        """Some rule for these names looks at the call's input, not only at its name."""
        return any(context.book.judges_input(names) for context in (self, *self.ancestors()))

    def judges_commands(self) -> bool:
        """Some rule here or above may speak of a shell command by its words."""
        return self.book.judges_commands() or (self.parent is not None and self.parent.judges_commands())

    def denies_whole(self, names: Iterable[str]) -> Rule | None:
        """A rule that denies a tool as a whole, by any of its names: the model never sees that tool."""
        return self.book.whole("deny", tuple(names))

    def held_by(self, behavior: Behavior, tool: str, name: str) -> Rule | None:
        """A rule here or above that denies, or asks before, the agent or skill of this name."""
        for bound in (self, *self.ancestors()):
            found = bound.book.named(behavior, tool, name, with_arguments=False) or bound.book.whole(behavior, (tool,))
            if found is not None:
                return found
        return None

    def with_mode(self, mode: str) -> "PermissionContext":
        """The same rules in another mode; nothing is compiled again."""
        known = as_mode(mode)
        left = {"before_plan": self.mode} if known == "plan" != self.mode else {}
        copy = self._copy(left, **left)
        _set_mode(copy, mode)
        return copy

    def with_rules(self, *rules: Rule) -> "PermissionContext":
        """More rules in the same mode."""
        return PermissionContext(self.mode, (*self.rules, *rules), **self._flags())

    def with_update(self, update: RuleUpdate, *, files: Collection[str] = ()) -> "PermissionContext":
        """The rules that an answer adds, or puts in the place of those that were kept where it keeps them, or removes.

        Args:
            update: The rules; each must be one.
            files: Settings files in which they have replaced the rules of their behavior, or were removed.
        """
        place = None if update.destination == "session" else update.destination
        added = [Rule.parse(update.behavior, text, RuleSource(kept_in=place)) for text in update.rules]
        if not (update.replaces or update.removes):
            return self.with_rules(*added)
        if update.behavior != "allow":
            raise UsageError(f"rules that {update.behavior} are never taken away: {update.rules}")
        named = frozenset(update.rules) if update.removes else None

        def is_gone(rule: Rule) -> bool:
            source = rule.source
            is_there = (source.kind == "session" and source.kept_in == place) or source.path in files
            return rule.behavior == "allow" and is_there and (named is None or rule.text in named)

        kept = [rule for rule in self.rules if not is_gone(rule)]
        return self.replacing_rules(kept if update.removes else [*kept, *added])

    @property
    def worktrees_of(self) -> str | None:
        """The checkout that has worktrees of ours, where one is known to have some."""
        return self._options.get("worktrees_of")

    @property
    def added_directories(self) -> tuple[tuple[str, ...], ...]:
        """The directories that answers added, each as given and as it was resolved."""
        return self._options.get("added_directories", ())

    def replacing_rules(self, rules: Iterable[Rule]) -> "PermissionContext":
        """Other rules, everything else as it is."""
        return PermissionContext(self.mode, rules, **self._flags())

    def with_options(self, **options: Unpack[Flags]) -> "PermissionContext":
        """The same mode and rules with other roots or flags."""
        flags = self._flags()
        flags.update(options)
        return PermissionContext(self.mode, self.rules, **flags)

    def with_readable(self, directories: Iterable[str]) -> "PermissionContext":
        """These directories read as inside, too; nothing is compiled again."""
        known = tuple(self._options.get("readable", ()))
        new = tuple(path for path in directories if path not in known)
        if not new:
            return self
        readable = tuple(dict.fromkeys((*self.roots.readable, *_both_forms(new, self.disk))))
        return self._copy({"readable": (*known, *new)}, roots=self.roots._replace(readable=readable))

    def child(self, mode: str | None = None, rules: Iterable[Rule] = ()) -> "PermissionContext":
        """A context for a subagent: its own mode and more rules, never more rights than this one.

        Without more rules nothing is compiled again.
        """
        more = tuple(rules)
        if not more:
            copy = self._copy({"parent": self}, parent=self)
            _set_mode(copy, mode or self.mode)
            return copy
        flags = self._flags()
        flags["parent"] = self
        return PermissionContext(mode or self.mode, (*self.rules, *more), **flags)

    def ancestors(self) -> tuple["PermissionContext", ...]:
        """Every context whose ceiling holds here, nearest first."""
        found: list[PermissionContext] = []
        context = self.parent
        while context is not None:
            found.append(context)
            context = context.parent
        return tuple(found)

    # What a tool may ask about the one who calls it.

    @property
    def hides_files(self) -> bool:
        """Some rule here or above keeps files from being read."""
        return any(bound.book.holds_reads for bound in (self, *self.ancestors()))

    def hides(self, path: str) -> bool:
        """A rule here or above keeps this file from being read."""
        return self.hides_files and denies_read(path, self, cwd=os.path.dirname(path) or "/") is not None

    def is_inside(self, path: str) -> bool:
        """This resolved path is one of the directories to work in, or below one."""
        return is_inside(path, self.roots.working)

    def guarded_roots(self) -> tuple[str, ...]:
        """The directories whose programs run only for somebody who wants them; in bypass the user wants all."""
        wants_all = all(bound.effective_mode == "bypassPermissions" for bound in (self, *self.ancestors()))
        return () if wants_all else self.roots.working

    def _copy(self, options: Mapping[str, Any], **changed: Any) -> "PermissionContext":
        """The same compiled rules, with some of it other than it was."""
        copy = object.__new__(PermissionContext)
        vars(copy).update(vars(self), _options=MappingProxyType({**self._options, **options}), **changed)
        return copy

    def _flags(self) -> Flags:
        flags = Flags()
        flags.update(self._options)  # pyright: ignore[reportArgumentType, reportCallIssue]  # a copy of the same keys
        return flags


_LIVE = LiveDisk()


def _where_it_is(worktree: tuple[str, str] | None) -> Callable[[str], str]:
    """Gives the place of a directory of the checkout that a worktree stands for."""
    if worktree is None:
        return str
    from holdfast.permissions.rules.worktrees import moved  # noqa: PLC0415 - few sessions are in one

    return partial(moved, place=worktree)


def _active(rules: Iterable[Rule], options: Flags, *, home: str) -> tuple[Rule, ...]:
    """The rules that count: allow rules that came with the folder wait for trust."""
    worktree, checkout = options.get("worktree"), options.get("worktrees_of")
    if worktree is not None or checkout:
        from holdfast.permissions.rules.worktrees import in_every_worktree, in_worktree  # noqa: PLC0415 - as above

        if checkout:
            rules = tuple(in_every_worktree(rules, checkout, options.get("start_directory") or checkout, home=home))
        if worktree is not None:
            rules = in_worktree(rules, *worktree, home=home)
    trusted = options.get("trusted", False)
    return tuple(
        rule for rule in rules if trusted or rule.behavior != "allow" or rule.source.kind not in _FOLDER_BROUGHT
    )


def _forms(disk: Disk, path: str) -> tuple[str, ...]:
    return _both_forms((path,), disk)


def _both_forms(paths: tuple[str, ...], disk: Disk) -> tuple[str, ...]:
    """Each path as given and as the disk resolves it, without repetition."""
    found: dict[str, None] = {}
    for path in paths:
        # A relative name means the process's own directory; resolved from the root, `.` would be the whole disk.
        absolute = os.path.abspath(path)
        found[absolute] = None
        found[disk.real(absolute)] = None
    return tuple(found)


def _set_mode(context: PermissionContext, mode: str) -> None:
    known = as_mode(mode)
    if known is None:
        raise UsageError(f"unknown permission mode {mode!r}; choose one of {', '.join(MODES)}")
    vars(context).update(mode=known, effective_mode="default" if known in context.disabled_modes else known)


def _user_home() -> str:
    return os.path.expanduser("~")
