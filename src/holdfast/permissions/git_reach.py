"""What git prints of tracked files: those it names in its own ways, and those that a patch of everything holds.

`git show HEAD:.env` names a file from the top of the repository, `git log -L1,5:.env` inside an option, and a plain
`git diff` may print any file the index holds. The index is read from its file; git itself never runs.
"""

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.paths import is_inside
from holdfast.permissions.shell.commands.git_names import EXCLUDES, behind_colons
from holdfast.permissions.shell_reach import Held, held_rules, longest_literal

if TYPE_CHECKING:
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.rules import Rule
    from holdfast.permissions.shell.parts import Part

__all__ = ["named_by_git", "tracked_rule"]

_PATCHES: Final = frozenset({"diff", "show", "archive", "range-diff", "format-patch", "fast-export", "difftool"})
"""Subcommands that print content unless an option says otherwise."""
_WITH_PATCH: Final = frozenset(
    {"log", "whatchanged", "reflog", "stash", "diff-tree", "diff-index", "diff-files", "cat-file"}
)
"""Subcommands that print content only when an option says so."""
_NAMES_FILES: Final = _PATCHES | _WITH_PATCH | {"blame", "annotate", "grep"}
_PATCH_OPTIONS: Final = (
    "-p", "-u", "--patch", "-U", "--unified", "-c", "--cc", "-m", "-W", "--word-diff", "-L", "--color-words",
    "--function-context", "--binary", "--full-diff",
)  # fmt: skip
_LOOKS_ONLY: Final = frozenset({"-t", "-s", "-e", "--batch-check"})
_NO_PATCH: Final = (
    "--stat", "--name-only", "--name-status", "--numstat", "--shortstat", "--summary", "--quiet", "-s", "--no-patch",
    "--raw", "--check", "--dirstat", "--compact-summary",
)  # fmt: skip
_MAGIC: Final = (":(icase", ":(attr", ":(glob", ":(literal", ":(top,", ":(prefix", ":.", ":\\")
"""Paths that are not followed here: they may name anything."""
_WILD: Final = frozenset("*?[")
_KEPT: Final = 8


class _Call(NamedTuple):
    """A git command taken apart: its subcommand, options, and other words in front of and behind `--`."""

    name: str
    options: tuple[str, ...]
    operands: tuple[str, ...]
    pathspecs: tuple[str, ...]


def _call(part: "Part") -> _Call:
    words = [word.text for word in part.argv[1:] if word.static]
    cut = words.index("--") if "--" in words else len(words)
    front, pathspecs = words[:cut], tuple(words[cut + 1 :])
    plain = [word for word in front if not word.startswith("-")]
    options = tuple(word for word in front if word.startswith("-"))
    return _Call(plain[0] if plain else "", options, tuple(plain[1:]), pathspecs)


def named_by_git(part: "Part", directory: str) -> Iterator[str]:
    """Absolute paths of the files that a git command names from the top of its repository or inside an option.

    Args:
        part: the command.
        directory: where it runs.
    """
    call = _call(part)
    if call.name not in _NAMES_FILES:
        return
    words = (*call.operands, *call.pathspecs)
    coloned = [path for word in words for path in behind_colons(word)]
    yield from (posixpath.join(directory, path) for path in _ranged(part))
    if call.name in ("archive", "format-patch", "difftool"):
        yield from (posixpath.join(directory, word) for word in words if ":" not in word)
    if not coloned:
        return
    top = _top_of(directory) or directory
    for path in coloned:
        yield posixpath.join(directory, path)
        yield posixpath.join(top, path)


def _ranged(part: "Part") -> Iterator[str]:
    """The files at the end of `-L 1,5:file` and `-L:function:file`."""
    before = ""
    for word in part.argv:
        if (before == "-L" or word.text.startswith("-L")) and ":" in word.text:
            yield word.text.rpartition(":")[2]
        before = word.text


def tracked_rule(part: "Part", directory: str, context: "PermissionContext", cwd: str) -> "tuple[Rule, str] | None":
    """A Read rule that asks or denies about a tracked file whose content the command may print, and that file.

    Args:
        part: a git command.
        directory: where it runs.
        context: the rules.
        cwd: the directory that rules without an anchor start from.
    """
    call = _call(part)
    if not _prints(call) or (call.operands and all(_is_blob(word, call.name) for word in call.operands)):
        return None
    top = _top_of(directory)
    if top is None:
        return None
    below = posixpath.relpath(directory, top)
    for name, rule in _tracked(top, context, cwd):
        if _chosen(name, call, directory, "" if below == "." else below):
            return rule, name
    return None


def _is_blob(word: str, name: str) -> bool:
    """Whether a word names one file in a revision or in the index, so that nothing else is printed."""
    if word.startswith(":"):
        return name in ("show", "cat-file") and not word.startswith((":/", ":("))
    return ":" in word


def _prints(call: _Call) -> bool:
    if call.name not in _PATCHES and call.name not in _WITH_PATCH:
        return False
    if call.name == "cat-file":
        return _LOOKS_ONLY.isdisjoint(call.options)
    if any(option.startswith(_PATCH_OPTIONS) for option in call.options):
        return True
    clustered = any("p" in option or "u" in option for option in call.options if option[1:2] != "-")
    return (call.name in _PATCHES and not any(option.startswith(_NO_PATCH) for option in call.options)) or clustered


def _chosen(name: str, call: _Call, directory: str, below: str) -> bool:
    """Whether the paths of a call, if it has any, take in this tracked file."""
    specs = call.pathspecs or tuple(
        word for word in call.operands if word.startswith(":") or os.path.lexists(f"{directory}/{word}")
    )
    if call.name == "show" and not call.pathspecs and any(spec.startswith(":/") for spec in specs):
        return True  # a commit found by its message
    excluded = [spec for spec in specs if spec.startswith(EXCLUDES)]
    if any(_fits(name, spec.lstrip(":!^").rpartition(")")[2], below) for spec in excluded):
        return False
    wanted = [spec for spec in specs if not spec.startswith(EXCLUDES)]
    return not wanted or any(spec.startswith(_MAGIC) or _fits(name, spec, below) for spec in wanted)


def _fits(name: str, spec: str, below: str) -> bool:
    if spec.startswith((":/", ":(top)")):
        spec, below = spec.removeprefix(":/").removeprefix(":(top)"), ""
    full = posixpath.normpath(posixpath.join(below, spec))
    return full in (".", name) or name.startswith(full + "/") or _matches(name, full)


def _matches(name: str, pattern: str) -> bool:
    return not _WILD.isdisjoint(pattern) and fnmatchcase(name, pattern)


def _top_of(directory: str) -> str | None:
    here = directory
    while not os.path.lexists(f"{here}/.git") or _is_passed_by(f"{here}/.git"):
        parent = os.path.dirname(here)
        if parent == here:
            return None
        here = parent
    return here


def _is_passed_by(dot_git: str) -> bool:
    """Whether git goes on to the folder above: a directory by that name need not be a repository."""
    from holdfast.permissions.shell.commands.git_config import is_git_directory  # noqa: PLC0415 - as below
    from holdfast.permissions.shell.commands.git_config_text import ConfigUnreadableError  # noqa: PLC0415 - same

    try:
        return os.path.isdir(dot_git) and not is_git_directory(dot_git)
    except (ConfigUnreadableError, OSError):
        return False


def _tracked(top: str, context: "PermissionContext", cwd: str) -> "tuple[tuple[str, Rule], ...]":
    from holdfast.permissions.shell.commands.git_config import git_directory  # noqa: PLC0415 - with the first command
    from holdfast.permissions.shell.commands.git_config_text import ConfigUnreadableError  # noqa: PLC0415 - same
    from holdfast.permissions.shell.commands.git_index import tracked_names  # noqa: PLC0415 - same

    held = [one for one in held_rules(context, cwd) if is_inside(one.start, (top,)) or is_inside(top, (one.start,))]
    if not held:
        return ()
    try:
        names = tracked_names(git_directory(top, f"{top}/.git"), tuple(sorted({_chunk(one, top) for one in held})))
    except (ConfigUnreadableError, OSError):
        return ((".", held[0].rule),)  # an index that cannot be read may hold it
    return _judged(top, names, context, cwd)


@lru_cache(maxsize=_KEPT)
def _judged(top: str, names: Sequence[str], context: "PermissionContext", cwd: str) -> "tuple[tuple[str, Rule], ...]":
    cwds = tuple(dict.fromkeys((*context.forms_of(cwd), *context.start_directories)))
    return tuple(_found(top, names, context, cwds))


def _found(
    top: str, names: Iterable[str], context: "PermissionContext", cwds: tuple[str, ...]
) -> "Iterator[tuple[str, Rule]]":
    for name in names:
        for rule in context.book.paths.find(f"{top}/{name}", cwds=cwds, grant_cwds=(), is_dir=False):
            if rule.behavior != "allow" and rule.tool == "Read":
                yield name, rule
                break


def _chunk(held: Held, top: str) -> str:
    """Text that the name of every tracked file the rule is about holds; empty when there is none."""
    if held.start != top and is_inside(top, (held.start,)):
        return longest_literal(held.last)
    return longest_literal(held.last) or posixpath.basename(held.start if held.start != top else "")
