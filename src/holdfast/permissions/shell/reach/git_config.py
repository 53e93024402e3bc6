"""Does this repository's own configuration make git run programs? Read from files, git itself never runs.

A read-only verdict on the text `git status` is not enough: a repository may name a file-system monitor, a text
converter or a filter that git starts (incident 16, law L9). Two answers: `GIT_HARDENING` switches off what variables
can switch off, and `git_config_refusal` finds what they cannot.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from holdfast.lib.git_config_text import ConfigUnreadableError, parse_config
from holdfast.permissions.paths import and_above
from holdfast.permissions.shell.reach.git_index import gitlinks

_SETTINGS = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.hooksPath": "/dev/null",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.autoRefreshIndex": "false",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
    "log.showSignature": "false",
    "log.diffMerges": "separate",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    "index.threads": "1",
    "maintenance.auto": "false",
    "gc.auto": "0",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "protocol.allow": "never",
}


def _hardening() -> dict[str, str]:
    variables = {"GIT_CONFIG_COUNT": str(len(_SETTINGS))}
    for number, (key, value) in enumerate(_SETTINGS.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


GIT_HARDENING: "Mapping[str, str]" = {
    **_hardening(),
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}
"""Variables for every shell call that runs unasked: git then starts no monitor, hook, pager, editor or transport."""

UNASKED_ENVIRONMENT: "Mapping[str, str]" = {
    **GIT_HARDENING,
    "PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "",
    "RIPGREP_CONFIG_PATH": "",
    "GOTOOLCHAIN": "local",
    "GOPROXY": "off",
    "GONOPROXY": "none",
    "GOVCS": "*:off",
    "GODEBUG": "goindex=0",  # no index is written into the cache
    "PYTHONDONTWRITEBYTECODE": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NO_UPDATE_NOTIFIER": "1",
}
"""GIT_HARDENING plus what keeps other read-only programs from starting helpers or using the network."""

_PLACES = frozenset(
    {
        "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    }
)  # fmt: skip
_KEPT_VARIABLES = frozenset(
    {
        "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM", *_PLACES,
    }
)  # fmt: skip

_OTHER_READINGS = frozenset({"POSIXLY_CORRECT"})
"""Variables that make tools read their options unlike the tables: `uniq a -c` would write the file `-c`."""
_IDENTITY = ("GIT_AUTHOR_", "GIT_COMMITTER_")


def unasked_environment(names: "Iterable[str]") -> "dict[str, str | None]":
    """What to set, and (None) what to take away, for a command that runs unasked in an environment of these names.

    Most variables of git go: some start programs (`GIT_EXTERNAL_DIFF`), some write files (`GIT_TRACE`), and
    `GIT_CONFIG_PARAMETERS` would win over the hardening.
    """
    away = {
        name
        for name in names
        if name in _OTHER_READINGS
        or (name.startswith("GIT_") and name not in _KEPT_VARIABLES and not name.startswith(_IDENTITY))
    }
    return {**dict.fromkeys(away), **UNASKED_ENVIRONMENT}


def git_variables_refusal(names: "Iterable[str]") -> str | None:
    """Return why the repository that git uses is not the one found from the directory, or None."""
    found = sorted(_PLACES.intersection(names))
    return f"{found[0]} is set, so git does not look at the repository here" if found else None


_ALWAYS_BAD = frozenset(
    {
        "core.pager", "core.editor", "core.askpass", "core.gitproxy", "core.alternaterefscommand", "diff.external",
        "sequence.editor", "gpg.program", "log.showsignature", "interactive.difffilter", "extensions.partialclone",
        "uploadpack.packobjectshook", "core.virtualfilesystem", "core.gvfs",
    }
)  # fmt: skip
_BAD_ENDINGS = {
    "filter": ("clean", "smudge", "process"),
    "diff": ("command", "textconv"),
    "merge": ("driver",),
    "gpg": ("program", "defaultkeycommand"),
    "hook": ("command",),
    "remote": ("promisor", "partialclonefilter", "vcs", "uploadpack", "receivepack"),
    "pager": None,
    "includeif": ("path",),
}
_BOOLEAN = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})
_Place = tuple[str, str]
"""The git directory and the work tree that a configuration is for."""
_MOST_FILES = 400
_MOST_DEPTH = 10
_BLANKS = frozenset("\t\r\n\v\f")
_HEAD = re.compile(r"ref: ?refs/[^\s]|[0-9a-f]{40}")


@cache
def _commands() -> frozenset[str]:
    from holdfast.permissions.shell.programs.tool_table import GIT_READS  # noqa: PLC0415 - only where aliases are set

    return frozenset(name.split(" ")[0] for name in GIT_READS)


def git_config_refusal(cwd: str) -> str | None:
    """Return why git must not run unasked in this directory, or None.

    Looks at the repository that git would find from here: its configuration, its worktree configuration, what they
    include, and its submodules. A missing directory or a directory outside any repository is no reason.
    """
    if not os.path.isdir(cwd):
        return None
    try:
        return _Inspection().directory(os.path.realpath(cwd))
    except ConfigUnreadableError as problem:
        return f"the repository's git configuration cannot be checked: {problem}"
    except OSError as problem:
        return f"the repository's git configuration cannot be read: {problem.strerror} {problem.filename!r}"


class _Inspection:
    """One look at a repository, bounded in files and depth."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def directory(self, start: str) -> str | None:
        for here in and_above(start):
            dot_git = os.path.join(here, ".git")
            if os.path.lexists(dot_git):
                reason = self.repository(here, dot_git, depth=0)
                if reason or is_git_directory(git_directory(here, dot_git)):
                    return reason
            if _looks_bare(here):
                return f"{here!r} looks like a bare repository, whose files anyone may have put there"
        return None

    def repository(self, top: str, dot_git: str, *, depth: int) -> str | None:
        if depth > _MOST_DEPTH or len(self.seen) > _MOST_FILES:
            raise ConfigUnreadableError("too many nested repositories")
        git_dir = git_directory(top, dot_git)
        if git_dir in self.seen:
            return None
        self.seen.add(git_dir)
        common = _common_dir(git_dir)
        files = [os.path.join(common, "config"), os.path.join(git_dir, "config.worktree")]
        for path in dict.fromkeys(files):
            if reason := self.file(path, (git_dir, top), depth=0):
                return reason
        # Links first: only they know where the work tree of a submodule must be.
        return self.links(top, git_dir, depth=depth) or self.modules(common, depth=depth)

    def modules(self, common: str, *, depth: int) -> str | None:
        """Check the stored configuration of every submodule."""
        for path in _module_configs(os.path.join(common, "modules")):
            if reason := self.file(path, None, depth=depth + 1):
                return reason
        return None

    def links(self, top: str, git_dir: str, *, depth: int) -> str | None:
        """Check the repositories that the index names as submodules, also those with a `.git` of their own."""
        for name in gitlinks(git_dir):
            nested = os.path.join(top, name)
            dot_git = os.path.join(nested, ".git")
            if os.path.lexists(dot_git) and (reason := self.repository(nested, dot_git, depth=depth + 1)):
                return reason
        return None

    def file(self, path: str, place: "_Place | None", *, depth: int) -> str | None:
        if place is None and path in self.seen:
            return None
        seen = f"{path}\0{place}"  # one file may be included from several repositories
        if seen in self.seen:
            return None
        if depth > _MOST_DEPTH or len(self.seen) > _MOST_FILES:
            raise ConfigUnreadableError("too many included files")
        self.seen.update((path, seen))
        text = _read(path)
        if text is None:
            return None
        for key, value in parse_config(text):
            if reason := _key_refusal(key, value):
                return f"{reason} (in {path})"
            if key == "core.worktree" and place and not _is_top(value, place):
                return f"git setting {key!r} moves the work tree (in {path})"
            if key == "include.path" and (reason := self.include(path, value, place, depth=depth)):
                return reason
        return None

    def include(self, path: str, value: str, place: "_Place | None", *, depth: int) -> str | None:
        # Versions differ in what they make of a tab between words.
        if value.startswith(("%(", ":(")) or not _BLANKS.isdisjoint(value):
            raise ConfigUnreadableError(f"{path!r} includes {value!r}, whose place only git knows")
        # Not normalised: what `..` means behind a link is for the system to say.
        target = os.path.join(os.path.dirname(path), os.path.expanduser(value))
        return self.file(target, place, depth=depth + 1)


def _is_top(value: str, place: _Place) -> bool:
    git_dir, top = place
    return _BLANKS.isdisjoint(value) and os.path.realpath(os.path.join(git_dir, value)) == os.path.realpath(top)


def _key_refusal(key: str, value: str) -> str | None:
    section, last = key.split(".", 1)[0], key.rsplit(".", 1)[-1]
    named = f"git setting {key!r} can start a program"
    if key in _ALWAYS_BAD:
        return named
    if key == "extensions.objectformat" and value.lower() != "sha1":
        return f"git setting {key!r} makes an index that is not understood here"
    if key == "core.fsmonitor":
        return None if value.lower() in _BOOLEAN else named
    if section == "pretty" or key in ("format.pretty", "branch.sort", "tag.sort"):
        from holdfast.permissions.shell.programs.tool_table import LOOKS  # noqa: PLC0415 - only where one is set

        return None if LOOKS["form"].fullmatch(value) else named
    if key == "core.sshcommand":
        return None if _plain_ssh(value) else named
    if section == "alias":
        # Newer versions let an alias stand for a command of theirs that is on its way out.
        return named if value.lstrip().startswith("!") or key.split(".")[1] in _commands() else None
    if section == "credential" and last == "helper":
        return named if value.startswith("!") or "/" in value else None
    if section in _BAD_ENDINGS:
        endings = _BAD_ENDINGS[section]
        if endings is None:
            return None if value.lower() in _BOOLEAN else named
        return named if last in endings and not (section == "remote" and value.lower() in ("false", "")) else None
    return None


def _plain_ssh(value: str) -> bool:
    """A key or port for ssh is everyday configuration; git's read-only forms never use it."""
    words = value.split()
    return words[:1] == ["ssh"] and not any("command" in word.lower() or word.startswith("-F") for word in words)


def _looks_bare(directory: str) -> bool:
    # A HEAD that leads nowhere is one, too: git looks at the link itself.
    return os.path.lexists(os.path.join(directory, "HEAD")) and (
        os.path.lexists(os.path.join(directory, "objects")) or os.path.lexists(os.path.join(directory, "commondir"))
    )


def is_git_directory(path: str) -> bool:
    """Whether git surely takes this for a repository; past a `.git` that is none it goes on to the folder above."""
    common = _common_dir(path)
    whole = all(os.access(os.path.join(common, name), os.X_OK) for name in ("objects", "refs"))
    head = os.path.join(path, "HEAD")
    text = None if not whole or os.path.islink(head) else _read(head)
    return text is not None and _HEAD.match(text) is not None


def git_directory(top: str, dot_git: str) -> str:
    """Return the directory behind `.git`, following a `gitdir:` file and checking that it points back."""
    mode = os.stat(dot_git).st_mode
    if stat.S_ISDIR(mode):
        return os.path.realpath(dot_git)
    text = _read(dot_git)
    if text is None or not text.startswith("gitdir: "):
        raise ConfigUnreadableError(f"{dot_git!r} is not a git directory")
    git_dir = os.path.realpath(os.path.join(top, text[8:].rstrip("\r\n")))
    back = _read(os.path.join(git_dir, "gitdir"))
    if back is not None and os.path.realpath(os.path.join(git_dir, back.rstrip())) != os.path.realpath(dot_git):
        raise ConfigUnreadableError(f"{dot_git!r} leads to a worktree of another directory")
    if back is None and "modules" not in git_dir.split(os.sep):
        raise ConfigUnreadableError(f"{dot_git!r} leads to a directory that is neither a worktree nor a submodule")
    return git_dir


def _common_dir(git_dir: str) -> str:
    text = _read(os.path.join(git_dir, "commondir"))
    return git_dir if text is None else os.path.realpath(os.path.join(git_dir, text.rstrip("\r\n")))


def _module_configs(directory: str) -> "Iterator[str]":
    for count, (here, folders, files) in enumerate(os.walk(directory)):
        if count > 5_000:
            raise ConfigUnreadableError("too many submodule directories")
        if "config" in files and "HEAD" in files:
            yield os.path.join(here, "config")
            yield os.path.join(here, "config.worktree")
            folders[:] = [name for name in folders if name == "modules"]


def _read(path: str) -> str | None:
    """Return the text of a small regular file, or None when there is none."""
    try:
        info = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(info.st_mode) or info.st_size > 1_000_000:
        raise ConfigUnreadableError(f"{path!r} is not a small regular file")
    # The line ends stay as they are: a lone carriage return ends no line for git.
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        text = file.read()
    if "\0" in text:
        raise ConfigUnreadableError(f"{path!r} holds a NUL character, where git may stop reading")
    return text
