"""Paths that need a look whatever the rules say: what governs the agent and other tools, and files with secrets.

A path counts by its names alone, so a protected file is protected before it exists. Names fold, because a
case-insensitive disk would take `.GIT/config` for the real one.
"""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from holdfast.permissions.rules.path_index import Filed, PathIndex

_PROTECTED_DIRECTORIES: Final = (
    *(".git", ".config/git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn"),
    *(".claude", ".holdfast", ".agents/skills", ".config/holdfast", ".local/state/holdfast", ".config/fish", ".direnv"),
)
_PROTECTED_FILES: Final = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login"),
    *(".gitconfig", ".gitmodules", ".npmrc", ".yarnrc*", ".pnp.*", "bunfig.toml", ".bazelrc"),
    *(".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook*", ".lefthook*", ".mcp.json", ".claude.json"),
    *(".envrc", ".ripgreprc", "pyrightconfig.json", ".ssh", ".gnupg", ".pnpmfile.cjs"),
)
PROTECTED_NAMES: Final = frozenset(
    part
    for name in (*_PROTECTED_DIRECTORIES, *_PROTECTED_FILES)
    for part in name.split("/")
    if "*" not in part and (part == name or part[0] == ".")
)
"""Names on the way to protected paths, for patterns that may match them."""
_HINTS: Final = tuple(
    dict.fromkeys(
        "/." if name.startswith(".") else "/" + name.partition("*")[0]
        for name in (*_PROTECTED_DIRECTORIES, *_PROTECTED_FILES)
    )
)
"""Every protected path contains one of these; most paths contain none and need no further look."""
_DIRECTORY_ENDS: Final = tuple(f"/{name}" for name in _PROTECTED_DIRECTORIES)
_FREE: Final = (".claude/worktrees", ".holdfast/worktrees")
"""Our own worktrees hold ordinary project files; what is protected inside them stays so."""

_SECRETS: Final = (
    *(".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".npmrc"),
    *(".pypirc", ".htpasswd", ".vault-token", ".dockercfg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("credentials", "credentials.json", "credentials.db", "*credentials*.json", "secrets.*", "secret.*", ".secret*"),
    *("*secret*.json", "*secret*.y*ml", "*secret*.toml", "*secrets*", "token", "tokens", "*.token", "*_token"),
    "*-token",
    *("token.json", "*token*.json", "passwords*", "*password*.txt", "service-account*.json", "*.tfstate", "*.tfvars"),
    *("*_history", ".*history", ".lesshst", ".viminfo"),
    *("**/.ssh/**", "**/.gnupg/**", "**/.aws/**", "**/.azure/**", "**/.kube/**", "**/.docker/config.json"),
    *("**/.config/gcloud/**", "**/.config/gh/**", "**/.config/hub", "**/.config/op/**", "**/.password-store/**"),
    *("**/.local/share/keyrings/**", "**/.mozilla/**", "**/.config/google-chrome/**", "**/.config/chromium/**"),
    *("**/.claude.json", "**/.claude/.credentials.json", "**/.config/holdfast/**", "**/.local/state/holdfast/**"),
    *("/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssh/**", "/etc/ssl/private/**"),
    *("/run/secrets/**", "/var/run/secrets/**", "/var/lib/docker/**", "/var/spool/**", "/var/mail/**"),
)


@lru_cache(maxsize=1)
def _protected() -> PathIndex[str]:
    directories = [(f"**/{name}", name) for name in _PROTECTED_DIRECTORIES if "/" in name]
    plain = [(name, name) for name in _PROTECTED_DIRECTORIES if "/" not in name]
    return _index([*plain, *directories, *((name, name) for name in _PROTECTED_FILES)])


@lru_cache(maxsize=1)
def _secrets() -> PathIndex[str]:
    return _index([(name, name) for name in _SECRETS])


def _index(entries: Iterable[tuple[str, str]]) -> PathIndex[str]:
    return PathIndex(Filed(pattern, "/", name) for pattern, name in entries)


def _find(index: PathIndex[str], path: str) -> str | None:
    return next(iter(index.find(path, cwds=(), grant_cwds=(), is_dir=None)), None)


def _plain(path: str) -> str:
    """The path without case and without characters that some file systems ignore in names."""
    if path.isascii():
        return path.lower()
    text = unicodedata.normalize("NFKC", path)
    return "".join(char for char in text if unicodedata.category(char) != "Cf").casefold()


def protected_by(names: Iterable[str]) -> str | None:
    """The entry of the table that protects one of these absolute paths from being written, if any."""
    for name in names:
        path = _plain(name)
        for hint in _HINTS:
            if hint in path:
                entry = _protected_entry(path)
                if entry is not None:
                    return entry
                break
    return None


@lru_cache(maxsize=2_048)
def _protected_entry(path: str) -> str | None:
    for free in _FREE if "/worktrees/" in path else ():
        head, found, tail = f"{path}/".rpartition(f"/{free}/")
        if found and tail:
            path = f"{head}/{tail}".rstrip("/")
    return _find(_protected(), path)


def is_protected_directory(path: str) -> bool:
    """Whether an absolute path is itself one of the protected directories: told at once, without the index."""
    return _plain(path).endswith(_DIRECTORY_ENDS)


def is_secret(names: Iterable[str]) -> bool:
    """Whether one of these absolute paths looks like a file with credentials; for reads outside in `auto`."""
    return any(_find(_secrets(), _plain(name)) is not None for name in names)
