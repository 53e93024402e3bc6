"""What a hook really is: its configuration and the files of the folder that it runs.

A hook `./scripts/check.sh` is approved once, but the script can be changed later, by a pull or by the agent itself,
which may edit files. So the identity of a hook covers the content of every file of the folder that its command names,
and everything below the folder's own hook directories, which scripts use from each other. It is computed again before
the hook runs; another identity means: ask again. Programs outside are the user's.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

from holdfast.lib.guarded_read import read_guarded
from holdfast.settings.merge import canonical

_MAX_SCRIPT_BYTES = 4_000_000
_MAX_WORDS = 256
_MAX_FILES = 1_000
_MAX_BYTES = 16_000_000
_HOOK_DIRECTORIES = (".claude/hooks", ".holdfast/hooks")
# Patterns as text: most folders bring no hooks, and then none is compiled.
_WORD = r"[^\s;|&()<>`=]+"
_ROOT = (
    r"\$\((?:git rev-parse --show-toplevel|pwd)(?: 2>\s*/dev/null)?(?:\s*\|\|\s*(?:pwd|echo [^)]*))?\)"
    r"|`(?:git rev-parse --show-toplevel|pwd)`"
    r"|\$\{(?:CLAUDE|HOLDFAST)_PROJECT_DIR(?::?[-=+?][^}]*)?\}|\$(?:CLAUDE|HOLDFAST)_PROJECT_DIR\b"
    r"|\$\{PWD\}|\$PWD\b"
)
_MODULE = r"\w+(?:\.\w+)*"
_CD = r"^\s*cd\s+(?:--\s+)?([^\s;&|]+)\s*(?:&&|;)"
_MANIFESTS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npx"), ("package.json",)),
    **dict.fromkeys(("poetry", "pdm", "hatch", "rye"), ("pyproject.toml",)),
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile", "rakefile"),
    "deno": ("deno.json", "deno.jsonc"),
    "composer": ("composer.json",),
    "cargo": ("Cargo.toml", ".cargo/config.toml"),
    "tox": ("tox.ini", "pyproject.toml"),
    "nox": ("noxfile.py",),
    "pre-commit": (".pre-commit-config.yaml",),
    "lefthook": ("lefthook.yml", ".lefthook.yml"),
}
"""What programs read to know what they are to run, by their names."""

_ENTRY_FILES = ("package.json", "index.js", "index.mjs", "index.ts", "__main__.py", "pyproject.toml")
"""What is run when a folder is named instead of a file."""


def item_hash(kind: str, *content: object) -> str:
    """Return the identity of an item: its kind and its whole content."""
    return hashlib.sha256(canonical([kind, *content])).hexdigest()


def outside_hash(identity: str) -> str:
    """Return what an approval holds besides the identity of a hook or server that may run outside the sandbox."""
    return item_hash("outside the sandbox", identity)


def hook_hash(event: str, matcher: str | None, handler: Mapping[str, object], *, root: str) -> str:
    """Return the identity of a folder's hook now, with the scripts as they are on disk now."""
    return item_hash("hook", event, matcher, _thawed(handler), dict(pinned_files(handler, root)))


def pinned_files(handler: Mapping[str, object], root: str) -> Iterator[tuple[str, str]]:
    """Yield the files of the folder that a command handler may run, each with a digest of its content."""
    texts = _texts(handler)
    if not texts:
        return
    budget = _Budget(root)
    for directory in _HOOK_DIRECTORIES:
        yield from budget.tree(directory)
    seen: set[str] = set()
    for relative in _named(texts, root):
        if relative not in seen:
            seen.add(relative)
            yield from budget.file(relative)
    if budget.is_spent:
        yield "", "not all is pinned"


def what_is_not_pinned(handler: Mapping[str, object], root: str) -> str:
    """Say in words why a change of what a hook runs would go unnoticed; empty when it would not."""
    texts = _texts(handler)
    if not texts:
        return ""
    found = dict(pinned_files(handler, root))
    if "" in found:
        return f"its files are more than {_MAX_FILES:,} or {_MAX_BYTES // 1_000_000} MB, so not all are pinned"
    if any(relative in found for relative in _named(texts, root)):
        return ""
    first = next(iter(_words(re.sub(_CD, "", texts[0]))), "")
    return "" if _is_program(first) else "what it runs is not pinned"


def note_if_not_pinned(handler: Mapping[str, object], root: str) -> str:
    """Return the same in brackets, to be put behind a hook that is shown."""
    loose = what_is_not_pinned(handler, root)
    return f" [{loose}]" if loose else ""


def _texts(handler: Mapping[str, object]) -> list[str]:
    parts: list[object] = [handler.get("command")]
    arguments = handler.get("args")
    if isinstance(arguments, list | tuple):
        parts += cast("Sequence[object]", arguments)
    return [part for part in parts if isinstance(part, str)]


def _named(texts: list[str], root: str) -> Iterator[str]:
    """Yield the paths below the root that words of the command may mean, in every directory they may start from."""
    expanded = [re.sub(_ROOT, root.replace("\\", "\\\\"), text) for text in texts]
    bases = [root]
    if (moved := re.match(_CD, expanded[0].replace('"', "").replace("'", ""))) is not None:
        bases.append(os.path.join(root, moved[1]))
    words = [word for text in expanded for word in _words(text)][:_MAX_WORDS]
    for word in dict.fromkeys(words):
        for base in bases:
            if (relative := _below(word, base, root)) is not None:
                yield relative
    found = [name for word in words[:8] for name in _MANIFESTS.get(os.path.basename(word), ())]
    for name in (*found, *_modules(words)):
        for base in bases:
            if (relative := _below(name, base, root)) is not None:
                yield relative


def _modules(words: list[str]) -> Iterator[str]:
    """Yield the files in which Python would look for a module that a command names."""
    for flag, name in pairwise(words):
        if flag == "-m" and re.fullmatch(_MODULE, name):
            path = name.replace(".", os.sep)
            yield from (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")


class _Budget:
    """Reads files of one folder, so many and so much of them."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._files = _MAX_FILES
        self._bytes = _MAX_BYTES
        self.is_spent = False

    def tree(self, directory: str) -> Iterator[tuple[str, str]]:
        for place, directories, names in os.walk(os.path.join(self._root, directory)):
            directories.sort()
            for name in sorted(names):
                yield from self.file(os.path.relpath(os.path.join(place, name), self._root))
                if self.is_spent:
                    return

    def file(self, relative: str) -> Iterator[tuple[str, str]]:
        if self._files <= 0 or self._bytes <= 0:
            self.is_spent = True
            return
        found = _digest(os.path.join(self._root, relative))
        if found is not None:
            digest, size = found
            self._files -= 1
            self._bytes -= size
            yield relative, digest


def mcp_server_hash(name: str, config: object, *, root: str) -> str:
    """Return the identity of a folder's MCP server now: name, whole configuration, and the folder's files it names."""
    entries: Mapping[str, object] = cast("Mapping[str, object]", config) if isinstance(config, Mapping) else {}
    env = entries.get("env")
    values = list(cast("Mapping[str, object]", env).values()) if isinstance(env, Mapping) else []
    arguments = entries.get("args")
    words = [*cast("Sequence[object]", arguments)] if isinstance(arguments, list | tuple) else []
    parts = [entries.get("command"), *words, entries.get("headersHelper"), *values]
    texts = [part for part in parts if isinstance(part, str)]
    budget = _Budget(root)
    files: dict[str, str] = {}
    for relative in dict.fromkeys(_named(texts, root)) if texts else ():
        files.update(budget.file(relative))
        if os.path.isdir(os.path.join(root, relative)):
            for entry in _ENTRY_FILES:
                files.update(budget.file(os.path.join(relative, entry)))
    return item_hash("MCP server", name, _thawed(cast("object", config)), files)


def _thawed(value: object) -> object:
    """Turn immutable JSON into plain JSON, so that both spell the same."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {key: _thawed(inner) for key, inner in entries.items()}
    if isinstance(value, list | tuple):
        return [_thawed(inner) for inner in cast("Sequence[object]", value)]
    return value


def _words(text: str) -> list[str]:
    return re.findall(_WORD, text.replace('"', "").replace("'", ""))


def _below(word: str, base: str, root: str) -> str | None:
    """Return the path below the root that a word of a command means, if it can be one."""
    path = os.path.normpath(os.path.join(base, word))
    if "\0" in path or not path.startswith(root.rstrip(os.sep) + os.sep):
        return None
    return os.path.relpath(path, root)


def _is_program(word: str) -> bool:
    """Whether a word is a program outside, which is the user's own."""
    if os.path.isabs(word):
        return os.access(word, os.X_OK)
    places = os.environ.get("PATH", "").split(os.pathsep)
    return "/" not in word and any(os.path.isabs(p) and os.access(os.path.join(p, word), os.X_OK) for p in places)


def _digest(path: str) -> tuple[str, int] | None:
    try:
        data = read_guarded(path, limit_bytes=_MAX_SCRIPT_BYTES)
    except OSError as error:
        # Also a file that cannot be read is a fact about the hook; a directory is not a script.
        return None if os.path.isdir(path) else (f"unreadable: {error.strerror}", 0)
    return None if data is None else (hashlib.sha256(data).hexdigest(), len(data))
