"""Find and read the instructions that people wrote for agents: AGENTS.md, CLAUDE.md, rules, and what they import.

Order, the later outranking the earlier: policy, user, directories from the file system's root down to the working
directory. Directories below it follow on demand, when a file in them is used; rules with `paths` when a file fits.

Nothing is run. Every file is resolved, judged and opened by handle; only bounded regular files are read. The text of a
folder counts only when the folder is trusted, and a folder's file cannot pull in files from outside of it.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from holdfast.agent.prompt.markdown import expand_braces
from holdfast.agent.prompt.reading import InstructionFile, Kind, Opened, Origin, Reader, Reason, is_below
from holdfast.lib.gitignore import Pattern
from holdfast.settings.instruction_files import (
    EXISTING_NAME,
    LOCAL_NAME,
    NATIVE_NAME,
    OVERRIDE_NAME,
    RULES,
    instruction_paths,
)
from holdfast.settings.layout import is_above_home
from holdfast.settings.model import Settings
from holdfast.settings.sources import CHOOSABLE_SOURCES, EXISTING_FOLDER, NATIVE_FOLDER, SettingsRoots, SourceKind

__all__ = ["InstructionFile", "InstructionOptions", "Instructions", "load_instructions"]

_MAX_DEPTH: Final = 64
# What others wrote and an installer unpacked: nobody reviewed it as part of this project.
_FOREIGN: Final = frozenset({"node_modules", "site-packages", "dist-packages", "bower_components", ".git", ".venv"})
Approve: TypeAlias = Callable[[str], bool]


class InstructionOptions(msgspec.Struct, frozen=True):
    """What steers which files count."""

    excludes: tuple[str, ...] = ()
    """Globs on absolute paths (`claudeMdExcludes`); policy files cannot be excluded."""
    fallback_names: tuple[str, ...] = ()
    """File names that stand in for AGENTS.md where a directory has none (`agentsMdFallbackNames`)."""
    sources: frozenset[SourceKind] = frozenset(CHOOSABLE_SOURCES)
    """Which of user, project and local to read (`--setting-sources`); policy always counts."""
    may_read: Approve | None = None
    """Whether the rules let this resolved path be read: a `Read` deny holds for instructions, too."""
    approves_outside: Approve | None = None
    """Whether the user approved that a folder's file leads to this resolved path outside of the folder."""
    trusts: Approve | None = None
    """Whether the user trusts the project with this root, asked about a repository around this one."""

    @classmethod
    def from_settings(cls, settings: Settings, **more: Any) -> "InstructionOptions":
        """Take what the settings say; `more` gives the other fields."""
        return cls(
            excludes=_texts(settings.get("claudeMdExcludes")),
            fallback_names=_texts(settings.get("agentsMdFallbackNames")),
            **more,
        )


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return ()
    return tuple(item for item in value if isinstance(item, str))  # pyright: ignore[reportUnknownVariableType]  # JSON


class Instructions:
    """The instructions of one session: those that hold from the start, and those that come up later."""

    def __init__(self, loader: "_Loader", files: Sequence[InstructionFile], withheld: Sequence[str]) -> None:
        self.files: tuple[InstructionFile, ...] = tuple(files)
        """In the order they are told; the later outranks the earlier."""
        self.withheld: tuple[str, ...] = tuple(withheld)
        """Files of an untrusted folder that exist and were not read."""
        self._loader = loader
        loader.remember()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was not loaded and why, in words that are safe to show."""
        return tuple(self._loader.reader.warnings)

    @property
    def outside(self) -> tuple[str, ...]:
        """Resolved paths outside of the folder that its files lead to and nobody approved yet."""
        return tuple(self._loader.reader.outside)

    def for_file(self, path: str) -> list[InstructionFile]:
        """Return what holds for this file and was not told yet: of its directories, and rules whose globs fit it."""
        return self._loader.for_file(path)

    def tell_again(self) -> None:
        """Forget what `for_file` told: the conversation was shortened, and the words are gone from it."""
        self._loader.tell_again()


def load_instructions(
    cwd: str, *, root: str, roots: SettingsRoots, trusted: bool, options: InstructionOptions | None = None
) -> Instructions:
    """Read the instructions that hold in a directory.

    Args:
        cwd: The working directory.
        root: The project's root: `cwd` or above it.
        roots: The user's and the policy's places.
        trusted: Whether the user trusts the project. If not, nothing of the folder and of the directories above it is
            read; what is there is named in `withheld`.
        options: Exclusions, other names, and who may be read.
    """
    loader = _Loader(os.path.realpath(cwd), os.path.realpath(root), roots, options or InstructionOptions())
    found = loader.own()
    if not trusted:
        return Instructions(loader, found, loader.present())
    loader.is_open = True
    return Instructions(loader, [*found, *loader.folder()], ())


class _Rule(msgspec.Struct, frozen=True):
    """A rule that waits for a file its globs fit."""

    opened: Opened
    origin: Origin
    base: str
    """What the globs are relative to."""
    patterns: tuple[Pattern, ...]

    def fits(self, real: str) -> bool:
        if not is_below(real, self.base):
            return False
        inner = os.path.relpath(real, self.base)
        return any(pattern.matches(inner) for pattern in self.patterns)


class _Loader:
    """Knows the places; `Reader` knows how to read one file and what it imports."""

    def __init__(self, cwd: str, root: str, roots: SettingsRoots, options: InstructionOptions) -> None:
        self.cwd, self.root, self.roots, self.options = cwd, root, roots, options
        self.home = os.path.realpath(roots.home)
        self.is_open = False
        self._excludes = [
            Pattern(_absolute(glob, self.home)) for text in options.excludes for glob in expand_braces(text)
        ]
        self._fallbacks = tuple(name for name in options.fallback_names if name and os.path.basename(name) == name)
        self._waiting: list[_Rule] = []
        self._seen: set[str] = set()
        self._closed: set[str] = set()
        self._first: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
        self.reader = Reader(
            home=self.home,
            is_excluded=self._is_excluded,
            may_read=options.may_read,
            approves_outside=options.approves_outside,
        )

    # -- places

    def own(self) -> list[InstructionFile]:
        """Return what the policy and the user say."""
        found: list[InstructionFile] = []
        policy = Origin("managed", boundaries=None)
        for place in self.roots.managed_existing:
            found += self._one(os.path.join(place, EXISTING_NAME), policy)
        for place in self.roots.managed_native:
            found += self._one(os.path.join(place, NATIVE_NAME), policy)
        if SourceKind.USER in self.options.sources:
            user = Origin("user", boundaries=None)
            found += self._one(os.path.join(self.roots.user_existing, EXISTING_NAME), user)
            found += self._rules(os.path.join(self.roots.user_existing, RULES), user, base=self.root)
            found += self._native(self.roots.user_native, user)
            found += self._rules(os.path.join(self.roots.user_native, RULES), user, base=self.root)
        return found

    def folder(self) -> list[InstructionFile]:
        """Return what the directories say, from the file system's root down to the working directory."""
        found: list[InstructionFile] = []
        around: str | None = None
        for place in _ancestors(self.root)[:-1]:
            if os.path.lexists(os.path.join(place, ".git")) and not is_above_home(place, self.home):
                around = place
            # The trust in a project says nothing about a repository that it lies in.
            if around is None or (self.options.trusts is not None and self.options.trusts(around)):
                # Nobody vouched for the directory, so only files of this user and of root count.
                found += self._directory(place, boundary=place, is_mine=True, is_project=False)
        for place in _between(self.root, self.cwd):
            found += self._directory(place, boundary=self.root)
            self._seen.add(place)
        return found

    def present(self) -> list[str]:
        """Return the folder's files that would count if it were trusted, without reading them."""
        paths = instruction_paths(_between(self.root, self.cwd), home=self.home, fallback_names=self._fallbacks)
        of = {True: SourceKind.LOCAL, False: SourceKind.PROJECT}
        return [path for path in paths if of[os.path.basename(path) == LOCAL_NAME] in self.options.sources]

    def _directory(
        self,
        place: str,
        *,
        boundary: str,
        is_mine: bool = False,
        is_project: bool = True,
        reason: Reason = "session_start",
    ) -> list[InstructionFile]:
        """Read one directory: the existing format, then the native one, then the user's local file."""
        found: list[InstructionFile] = []
        if SourceKind.PROJECT in self.options.sources:
            origin = Origin("project", boundaries=(boundary,), is_mine=is_mine, reason=reason)
            existing, native = os.path.join(place, EXISTING_FOLDER), os.path.join(place, NATIVE_FOLDER)
            found += self._one(os.path.join(place, EXISTING_NAME), origin)
            if place != self.home:  # there it is the user's own, or was moved away by CLAUDE_CONFIG_DIR
                found += self._one(os.path.join(existing, EXISTING_NAME), origin)
                found += self._rules(os.path.join(existing, RULES), origin, base=place)
            if is_project:
                found += self._native(place, origin)
                found += self._one(os.path.join(native, NATIVE_NAME), origin)
                found += self._rules(os.path.join(native, RULES), origin, base=place)
        if SourceKind.LOCAL in self.options.sources:
            origin = Origin("local", boundaries=(boundary,), is_mine=is_mine, reason=reason)
            found += self._one(os.path.join(place, LOCAL_NAME), origin)
        return found

    def _native(self, place: str, origin: Origin) -> list[InstructionFile]:
        """Read the first of AGENTS.override.md, AGENTS.md and the configured names that is there."""
        for name in (OVERRIDE_NAME, NATIVE_NAME, *self._fallbacks):
            path = os.path.join(place, name)
            if os.path.lexists(path):
                return self._one(path, origin)
        return []

    def _one(self, path: str, origin: Origin) -> list[InstructionFile]:
        return self.reader.read(path, origin)

    def _rules(self, place: str, origin: Origin, *, base: str) -> list[InstructionFile]:
        """Read a rules directory; a rule with globs waits for a file that they fit."""
        found: list[InstructionFile] = []
        for path in self.reader.markdown_below(place, origin.boundaries):
            opened = self.reader.open(path, origin)
            if opened is None:
                continue
            if opened.markdown.paths is None:
                found += self.reader.take(opened, origin)
                continue
            globs = opened.markdown.paths
            texts = [alternative for glob in globs for alternative in expand_braces(glob.removeprefix("./"))]
            patterns = tuple(Pattern("/" + text.lstrip("/")) for text in texts)
            self._waiting.append(_Rule(opened, origin._replace(reason="path_glob_match"), base, patterns))
        return found

    def _is_excluded(self, path: str, kind: Kind) -> bool:
        if kind == "managed" or not self._excludes:
            return False
        names = {path.lstrip("/"), os.path.realpath(path).lstrip("/")}
        return any(pattern.matches(name) for pattern in self._excludes for name in names)

    # -- later

    def for_file(self, path: str) -> list[InstructionFile]:
        """Return what holds for a file and was not told yet."""
        real = os.path.realpath(os.path.join(self.cwd, path))
        found = self._nested(os.path.dirname(real)) if self.is_open and is_below(real, self.root) else []
        for rule in tuple(self._waiting):
            if rule.opened.real not in self.reader.told and rule.fits(real):
                found += self.reader.take(rule.opened, rule.origin)
        return found

    def _nested(self, directory: str) -> list[InstructionFile]:
        if directory in self._seen:
            return []
        found: list[InstructionFile] = []
        for place in _between(self.root, directory)[:_MAX_DEPTH]:
            if place in self._seen:
                continue
            if place in self._closed or self._is_foreign(place):
                self._closed.add(place)
                break
            self._seen.add(place)
            found += self._directory(place, boundary=self.root, reason="nested_traversal")
        return found

    def _is_foreign(self, place: str) -> bool:
        """Whether the trust of the project does not reach a directory: a repository of its own, or installed code."""
        return os.path.basename(place) in _FOREIGN or os.path.lexists(os.path.join(place, ".git"))

    def remember(self) -> None:
        """Take what was told until now as what the system prompt says."""
        self._first = frozenset(self.reader.told), frozenset(self._seen)

    def tell_again(self) -> None:
        """Forget what was told since `remember`."""
        told, seen = self._first
        self.reader.forget(told)
        self._seen = set(seen)


def _absolute(glob: str, home: str) -> str:
    return home + glob[1:] if glob.startswith("~/") else glob


def _ancestors(path: str) -> list[str]:
    """Return the directories from the root of the file system down to the path, the path included."""
    found = [path]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found[::-1]


def _between(top: str, bottom: str) -> list[str]:
    """Return the directories from `top` down to `bottom`, both included; only `bottom` when it is not below `top`."""
    return [place for place in _ancestors(bottom) if is_below(place, top)] or [bottom]
