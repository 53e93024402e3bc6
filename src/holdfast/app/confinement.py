"""What one command may write, read and reach under some rights: the settings and the rules, as one policy."""

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from holdfast.app.lookout import protected_in
from holdfast.app.masks import masks_of
from holdfast.host.sandbox import Policy
from holdfast.host.sandbox.governing import governing_paths, is_repository, linked_tree, pinned_paths
from holdfast.permissions import PermissionContext
from holdfast.permissions.paths import is_inside
from holdfast.settings.directories import user_directories
from holdfast.settings.sandbox import SandboxSettings

if TYPE_CHECKING:
    from holdfast.app.network import DomainBorder

__all__ = ["confinement"]

_SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh", ".config/op", ".docker/config.json",
    ".netrc", ".git-credentials", ".pypirc", ".vault-token", ".password-store", ".local/share/keyrings",
    ".claude/.credentials.json", ".claude.json", ".mozilla", ".config/google-chrome", ".config/chromium",
    ".config/github-copilot", ".config/glab-cli", ".config/hub", ".config/containers/auth.json", ".config/rclone",
    ".config/doctl", ".config/helm/registry", ".terraform.d/credentials.tfrc.json", ".cargo/credentials",
    ".cargo/credentials.toml", ".gem/credentials", ".composer/auth.json", ".pgpass", ".my.cnf", ".boto", ".s3cfg",
    ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json",
)  # fmt: skip
_OWN = (".claude", ".holdfast", ".config/holdfast", ".local/state/holdfast")
"""Where what governs the agent of this user lies, whatever the settings let commands write."""
_OUR_TREES = ("/.holdfast/worktrees", "/.claude/worktrees")
_SYSTEM_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private")
_CACHES = {
    "npm": (".npm", ".cache/node"), "pip": (".cache/pip",), "uv": (".cache/uv",), "yarn": (".cache/yarn", ".yarn"),
    "pnpm": (".cache/pnpm", ".local/share/pnpm"), "cargo": (".cargo/registry", ".cargo/git"),
    "go": (".cache/go-build", "go/pkg"), "gradle": (".gradle/caches",), "maven": (".m2/repository",),
    "ccache": (".cache/ccache", ".ccache"), "pre-commit": (".cache/pre-commit",),
}  # fmt: skip


def confinement(
    wanted: SandboxSettings,
    rights: PermissionContext,
    *,
    places: Sequence[str],
    cwd: str,
    border: "DomainBorder | None",
    temporary: str,
    is_nested: bool,
    private: Sequence[str] = (),
) -> Policy:
    """The policy of a command.

    Args:
        wanted: What the settings ask for.
        rights: The rules and roots in force; no root comes from a call.
        places: Directories whose files govern the agent.
        cwd: Where the command starts; relative deny rules hold there.
        border: Who may be reached.
        temporary: The session's own directory for temporary files.
        is_nested: No new /proc can be had.
        private: The session's own directory: of what we keep commands see only this, and write only the temporary one.
    """
    home, own = rights.home, user_directories()
    is_plan = any(bound.effective_mode == "plan" for bound in (rights, *rights.ancestors()))
    denied = masks_of(rights, cwd)
    extra = [path for path in wanted.allow_write if os.path.isdir(path)]
    fixed = [*protected_in((*places, *extra)), *(path for place in extra for path in governing_paths(place))]
    # In a repository elsewhere nothing may come into being that governs it; a cache gets no such placeholders.
    places = [*places, *(place for place in extra if is_repository(place))]
    trees = [tree for place in rights.roots.working if (tree := linked_tree(place)) is not None]
    # The repository of a linked worktree is written by git; where the main checkout stands is not its business.
    fixed += [os.path.join(tree.common, name) for tree in trees for name in ("HEAD", "index")]
    kept = [*wanted.deny_write, *rights.roots.governing, *private, *(os.path.join(home, name) for name in _OWN)]
    kept += [own.config, own.state]
    writable = (*rights.roots.working, *wanted.allow_write, *_caches(wanted.caches, home))
    writable = (*writable, *(tree.common for tree in trees))
    kept_of_trees = [tree.gitdir for tree in trees]
    granted = () if is_plan else (*_own_trees(rights), *kept_of_trees)
    hidden = [*wanted.deny_read, *(os.path.join(home, name) for name in _SECRETS), *_SYSTEM_SECRETS]
    hidden += [own.state, os.path.join(own.config, "mcp.json")]
    allowed = frozenset(wanted.allow_read)
    return Policy(
        writable=() if is_plan else writable,
        changeable=(*writable, temporary),
        governing=tuple(path for place in places for path in governing_paths(place) if path not in kept_of_trees),
        pinned=tuple(path for place in places for path in pinned_paths(place)),
        fixed=tuple(dict.fromkeys((*fixed, *denied.fixed))),
        denied=tuple(dict.fromkeys(kept)),
        hidden=(*(path for path in dict.fromkeys(hidden) if path not in allowed), *denied.hidden),
        shown=(
            *(path for path in wanted.allow_read if not is_inside(os.path.realpath(path), denied.hidden)),
            *private,
        ),
        sockets=wanted.sockets,
        all_sockets=wanted.all_sockets,
        border=border,
        temporary=temporary,
        granted=granted,
        is_nested=is_nested,
    )


def _own_trees(rights: PermissionContext) -> tuple[str, ...]:
    """Worktrees that we made: they lie in what governs the agent, and hold ordinary files."""
    return tuple(
        place for place in rights.roots.working if os.path.dirname(os.path.realpath(place)).endswith(_OUR_TREES)
    )


def _caches(names: Iterable[str], home: str) -> list[str]:
    """Where these programs keep what they have fetched; the first place of each is made, for they cannot make it."""
    found: list[str] = []
    for places in (_CACHES.get(name, ()) for name in names):
        found += [os.path.join(home, place) for place in places]
        if places:
            with contextlib.suppress(OSError):
                os.makedirs(os.path.join(home, places[0]), exist_ok=True)
    return found
