"""Load the settings of a session: find the sources, read them, judge the folder's, merge, report what did not count."""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from holdfast.contract.names import PermissionMode, as_mode
from holdfast.lib.positions import Array, Json, Node, Object, Scalar
from holdfast.settings.documents import Document, checked, command_line_settings, read_document
from holdfast.settings.errors import SettingsError
from holdfast.settings.layout import ProjectLayout, find_layout
from holdfast.settings.merge import Layer, merge
from holdfast.settings.model import Problem, Settings
from holdfast.settings.project_view import FolderItem, FolderView, TrustView, project_view
from holdfast.settings.sources import (
    CHOOSABLE_SOURCES,
    Candidate,
    CommandLine,
    SettingsRoots,
    SourceKind,
    folder_candidates,
    policy_candidates,
    session_settings,
    user_candidates,
)
from holdfast.settings.trust import FolderIdentity, NoTrust, Trust, why_never_trusted
from holdfast.settings.values import Extraction, assemble

NO_FLAGS = CommandLine()
ALL_SOURCES = frozenset(CHOOSABLE_SOURCES)


class Request(msgspec.Struct, frozen=True):
    """Everything that decides which settings hold, so that they can be loaded again."""

    cwd: str
    roots: SettingsRoots
    cli: CommandLine = NO_FLAGS
    sources: frozenset[SourceKind] = ALL_SOURCES
    session: Mapping[str, Json] | None = None
    trust: Trust = NoTrust()


def load_settings(
    cwd: str,
    roots: SettingsRoots,
    *,
    cli: CommandLine = NO_FLAGS,
    setting_sources: Iterable[SourceKind] | None = None,
    session: Mapping[str, Json] | None = None,
    trust: Trust | None = None,
) -> Settings:
    """Load the settings that hold in a directory. Nothing is run, connected to or changed.

    Args:
        cwd: The directory the session starts in.
        roots: The places outside the project.
        cli: What the user typed.
        setting_sources: Which of user, project and local to read; policy and command line always count.
        session: Settings made for this session by a program.
        trust: What the user said about folders; by default nothing is trusted.

    Raises:
        SettingsError: A source is broken. It is never skipped: its deny rules would be lost.
    """
    chosen = ALL_SOURCES if setting_sources is None else frozenset(setting_sources)
    return load(Request(cwd, roots, cli=cli, sources=chosen, session=session, trust=trust or NoTrust()))


class Memory:
    """The last good content of each file, for a session that goes on while somebody edits."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.errors: list[SettingsError] = []
        """What is wrong with the files whose last good content stands in for them."""

    def read(self, path: str, reader: Callable[[], Document | None]) -> Document | None:
        """Read a file, or return its last good content when it is broken now.

        Raises:
            SettingsError: It is broken and never was good.
        """
        try:
            found = reader()
        except SettingsError as error:
            if path not in self.documents:
                raise
            self.errors.append(error)
            return self.documents[path]
        if found is None:
            self.documents.pop(path, None)
        else:
            self.documents[path] = found
        return found


def load(request: Request, memory: Memory | None = None) -> Settings:
    """Load the settings of a request; with a memory, a file that broke since counts with its last good content."""
    layout = find_layout(request.cwd, home=request.roots.home)
    documents = read_documents(request, layout, memory or Memory())
    folder = FolderIdentity.of(layout.root)
    trust = request.trust.view(folder)
    judged = [_judge(document, _trust_of(document, trust, layout, request), documents) for document in documents]
    folder_hooks_off = any(view.disables_hooks for _, view in judged if view is not None)
    layers = [layer for layer, _ in judged]
    items = [item for _, view in judged if view is not None for item in view.items]
    merged = merge(_absolute_sandbox(layer, layout, request.roots) for layer in layers)
    extraction = Extraction(
        documents=documents,
        layers=layers,
        merged=merged,
        cwd=layout.cwd,
        home=request.roots.home,
        folder_hooks_off=folder_hooks_off,
        views=[view for _, view in judged],
    )
    return assemble(
        extraction,
        Settings(
            cwd=layout.cwd,
            root=layout.root,
            folder=folder,
            trusted=trust.trusted,
            untrustable=None if trust.trusted else why_never_trusted(layout.root, home=request.roots.home),
            approved=trust.approved if trust.trusted else frozenset(),
            items=tuple(items),
            problems=_problems(documents, request),
            merged=merged,
            files=tuple(document.path for document in documents if document.path is not None),
        ),
    )


def candidates(request: Request, layout: ProjectLayout) -> list[Candidate]:
    """Return the files that may hold settings, lowest rank first."""
    users = user_candidates(request.roots)
    own = {os.path.realpath(candidate.path) for candidate in users}
    places = layout.directories
    local_places = places if layout.main_checkout in {None, layout.root} else (str(layout.main_checkout), *places)
    folders = [
        *folder_candidates(SourceKind.PROJECT, places),
        *folder_candidates(SourceKind.LOCAL, local_places, anchor=layout.cwd),
    ]
    # In the home directory the project's file is the user's own file, and counts once, as the user's.
    folders = [candidate for candidate in folders if os.path.realpath(candidate.path) not in own]
    readable = [candidate for candidate in [*users, *folders] if candidate.kind in request.sources]
    return [*readable, *policy_candidates(request.roots, anchor=layout.root)]


def read_documents(request: Request, layout: ProjectLayout, memory: Memory) -> list[Document]:
    """Read all sources, lowest rank first."""
    cwd = layout.cwd
    readers: list[tuple[str, Callable[[], Document | None]]] = [
        (candidate.path, partial(read_document, candidate)) for candidate in candidates(request, layout)
    ]
    readers += [
        (f"--settings {value}", partial(command_line_settings, value, cwd=cwd, home=request.roots.home))
        for value in request.cli.settings
    ]
    found = [document for path, reader in readers if (document := memory.read(path, reader)) is not None]
    if (flags := request.cli.flags()) is not None:
        place = Candidate(SourceKind.COMMAND_LINE, "the options", anchor=cwd, folder=cwd)
        found.append(_pathless(flags, place))
    if request.session:
        place = Candidate(SourceKind.SESSION, "the session's settings", anchor=cwd, folder=cwd)
        found.append(_pathless(session_settings(request.session), place))
    return sorted(found, key=lambda document: document.kind.rank)


def _pathless(node: Object, place: Candidate) -> Document:
    return msgspec.structs.replace(checked(node, place, path=None, strict=True), path=None)


def _trust_of(document: Document, trust: TrustView, layout: ProjectLayout, request: Request) -> TrustView:
    """Return what counts for a folder's file: the trust of the project, and of the folder the file really is in."""
    if not document.kind.is_folder or not trust.trusted or document.folder != layout.main_checkout:
        return trust
    owner = request.trust.view(FolderIdentity.of(document.folder))
    if not owner.trusted:
        return TrustView(kept=trust.kept)
    return TrustView(trusted=True, approved=trust.approved & owner.approved, kept=trust.kept)


def _judge(document: Document, trust: TrustView, documents: list[Document]) -> tuple[Layer, FolderView | None]:
    if not document.kind.is_folder:
        return Layer(document.kind, document.path, _own(document)), None
    view = project_view(document, trust, user_mode=_mode_without_folder(documents))
    return Layer(document.kind, document.path, view.root), view


def _own(document: Document) -> Object:
    """Cut a source of the user's own down to what that source may say."""
    members = dict(document.root.members)
    if document.kind is not SourceKind.POLICY:
        members.pop("allowManagedHooksOnly", None)
        members.pop("allowManagedPermissionRulesOnly", None)
    permissions = members.get("permissions")
    if (
        document.kind is SourceKind.SESSION
        and isinstance(permissions, Object)
        and _mode(permissions) == "bypassPermissions"
    ):
        members["permissions"] = permissions.only({k: v for k, v in permissions.members.items() if k != "defaultMode"})
    return document.root.only(members)


def _mode(permissions: Node | None) -> str | None:
    mode = permissions.members.get("defaultMode") if isinstance(permissions, Object) else None
    return mode.value if isinstance(mode, Scalar) and isinstance(mode.value, str) else None


def _mode_without_folder(documents: Iterable[Document]) -> PermissionMode:
    mode: PermissionMode = "default"
    for document in documents:
        if document.kind is SourceKind.USER and (found := _mode(document.root.members.get("permissions"))) is not None:
            mode = as_mode(found) or "default"
    return mode


def _absolute_sandbox(layer: Layer, layout: ProjectLayout, roots: SettingsRoots) -> Layer:
    """Make the sandbox's paths absolute while their source is known: `/x` is absolute there, `./x` is not."""
    sandbox = layer.root.members.get("sandbox")
    places = sandbox.members.get("filesystem") if isinstance(sandbox, Object) else None
    if not isinstance(sandbox, Object) or not isinstance(places, Object):
        return layer
    base = layout.root
    if layer.kind is SourceKind.USER:
        base = roots.user_existing if layer.path is None else os.path.dirname(layer.path)
    lists: dict[str, Node] = {name: _absolute_list(node, base, roots.home) for name, node in places.members.items()}
    changed = sandbox.only({**sandbox.members, "filesystem": places.only(lists)})
    return Layer(layer.kind, layer.path, layer.root.only({**layer.root.members, "sandbox": changed}))


def _absolute_list(node: Node, base: str, home: str) -> Node:
    if not isinstance(node, Array):
        return node
    items = [
        Scalar(_absolute(i.value, base, home), i.start, i.end, i.line) if isinstance(i, Scalar) else i
        for i in node.items
    ]
    return Array(list(items), node.start, node.end, node.line)


def _absolute(value: object, base: str, home: str) -> str | None:
    if not isinstance(value, str):
        return None
    if value == "~" or value.startswith("~/"):
        return os.path.normpath(home + value[1:])
    return os.path.normpath(os.path.join(base, "/" + value.lstrip("/") if value.startswith("//") else value))


def _problems(documents: list[Document], request: Request) -> tuple[Problem, ...]:
    found = [Problem(flaw.message, d.kind, d.path, flaw.line or None) for d in documents for flaw in d.flaws]
    found += [
        _policy_key(d, key)
        for d in documents
        if d.kind is not SourceKind.POLICY
        for key in _POLICY_KEYS
        if key in d.root.members
    ]
    record = getattr(request.trust, "problem", None)
    if isinstance(record, str):
        found.append(Problem(record, SourceKind.USER))
    return tuple(found)


_POLICY_KEYS = ("allowManagedHooksOnly", "allowManagedPermissionRulesOnly")


def _policy_key(document: Document, key: str) -> Problem:
    node = document.root.members[key]
    return Problem(f"{key} is read only in a policy file", document.kind, document.path, node.line or None)


__all__ = ["FolderItem", "Request", "SettingsError", "candidates", "load", "load_settings", "read_documents"]
