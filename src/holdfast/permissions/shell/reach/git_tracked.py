"""What git prints of tracked files: those it names in its own ways, and those that a patch of everything holds.

`git show HEAD:.env` names a file from the top of the repository, `git log -L1,5:.env` inside an option, and a plain
`git diff` may print any file the index holds. The index is read from its file; git itself never runs.
"""

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final

from holdfast.lib.git_config_text import ConfigUnreadableError
from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.paths import is_inside
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.shell.programs.parsers.git import EXCLUDES, UNKNOWN, GitCall, behind_colons, git_call
from holdfast.permissions.shell.programs.program import by_subcommand, git_having, told
from holdfast.permissions.shell.reach.directories import Held, held_rules, rule_below
from holdfast.permissions.shell.reach.git_config import git_directory
from holdfast.permissions.shell.reach.git_index import may_be_blob, top_of, tracked_names
from holdfast.permissions.shell.reach.searches import Reach
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.patterns import WILD, longest_literal
from holdfast.permissions.shell.words.word import names

_PATCHES: Final = git_having("prints-content")
"""Subcommands that print content unless an option says otherwise."""
_WITH_PATCH: Final = by_subcommand(told("patch-letters"))
"""Subcommands that print content only when an option says so, and the letters of such options."""
_NAMES_FILES: Final = _PATCHES | _WITH_PATCH.keys() | git_having("names-files")
_PATCH_OPTIONS: Final = (
    "--patch", "--unified", "--cc", "--word-diff", "--color-words", "--function-context", "--binary", "--dd",
    "--remerge-diff", "--diff-merges", "--verbose", "--show-current-patch", "--interactive", "--edit",
)  # fmt: skip
_SHORTEST: Final = len("--xx")
_LISTERS: Final = git_having("lists-refs")
"""Subcommands that list references; `%(raw)` prints what they lead to, which may be a file."""
_LOOKS_ONLY: Final = frozenset({"-t", "-s", "-e", "--batch-check"})
_NO_PATCH: Final = names(
    "--stat --name-only --name-status --numstat --shortstat --summary --quiet -s --no-patch --raw --dirstat -X"
    " --compact-summary --dirstat-by-file --cumulative"
)
_EXCLUDES: Final = (":!", ":^", ":(exclude)")
"""How a path that is left out starts when nothing else is said about it."""
_WITHOUT_PATHS: Final = _LISTERS | {"status", "stash list"}
"""Subcommands that print every file, whatever paths they are given."""
_MORE_REVISIONS: Final = names("--all --branches --tags --remotes --glob --reflog --bisect --stdin --merge -g")
_TAKES_CONTENT: Final = git_having("takes-content")
_TREES_COMPARED: Final = {"diff": 2, "difftool": 2, "diff-index": 10_000}
"""With fewer trees the rest comes from the index or the disk."""
_UNCLEAR: Final = frozenset("[\\")
_KEPT: Final = 8
_MAX_SETTINGS: Final = 1_000_000


def named_by_git(part: "Part", directory: str) -> Iterator[str]:
    """Absolute paths of the files that a git command names from the top of its repository or inside an option."""
    call = git_call(part)
    directory = posixpath.join(directory, call.moved)
    words = (*call.operands, *call.pathspecs)
    if call.name.startswith("config"):
        words = tuple(value for option, value in call.values if option == "--blob")
        yield from (posixpath.join(directory, value) for option, value in call.values if option == "-f")
    elif call.name not in _NAMES_FILES:
        return
    coloned = [path for word in words for path in behind_colons(word)]
    yield from (posixpath.join(directory, path) for path in _ranged(part))
    if part.refusal is not None:
        yield from (posixpath.join(directory, word) for word in words if ":" not in word)
    if not coloned:
        return
    top = top_of(directory) or directory
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
    """A Read rule that asks or denies about a tracked file that git may print in this directory, and that file."""
    call = git_call(part)
    if not _prints(call) and not (call.name == "stash show" and _shows_patches(part, directory, context.home)):
        return None
    # What was never tracked stands in no index, and another repository has its own.
    if call.elsewhere or (call.name == "stash show" and _takes_untracked(call)):
        held = held_rules(context, cwd)
        return (held[0].rule, ".") if held else None
    directory = os.path.realpath(posixpath.join(directory, call.moved))
    top = top_of(directory)
    if call.name in ("diff", "difftool"):
        outside = _compared_rule(call, directory, top, context, cwd)
        if outside is not None:
            return outside
    if top is None:
        return None
    below = posixpath.relpath(directory, top)
    tracked = _tracked(top, context, cwd)
    content = bool(tracked) and _names_content(call, directory, top)
    for name, rule in tracked:
        if content or _chosen(name, call, directory, "" if below == "." else below):
            return rule, name
    return None


def _compared_rule(
    call: GitCall, directory: str, top: str | None, context: "PermissionContext", cwd: str
) -> "tuple[Rule, str] | None":
    """A rule about a file in a directory that git compares with another, tracked or not."""
    places = [os.path.realpath(posixpath.join(directory, word)) for word in (*call.operands, *call.pathspecs)]
    if not _says(call, ("--no-index",)) and top is not None and all(is_inside(place, (top,)) for place in places):
        return None
    places = [place for place in places if os.path.isdir(place)]
    found = rule_below(Reach(()), places, context, cwd)
    return None if found is None else (found[0], found[0].content or ".")


def _prints(call: GitCall) -> bool:
    if call.name == "cat-file":
        return _LOOKS_ONLY.isdisjoint(call.given)
    if call.name == "commit" and not _says(call, ("--dry-run",)) and not _says(call, ("--patch", "--interactive"), "p"):
        return False
    # Any option makes a patch of the short list that `git stash show` prints.
    whole = call.name in _PATCHES or (call.name == "stash show" and call.raw)
    if whole and _NO_PATCH.isdisjoint(call.given):
        return True
    if call.name in _LISTERS:
        return any("raw" in value for option, value in call.values if option == "--format")
    letters = _WITH_PATCH.get(call.name, "pucmUWL" if call.name in _PATCHES else None)
    return call.name == UNKNOWN or (letters is not None and _says(call, _PATCH_OPTIONS, letters))


def _takes_untracked(call: GitCall) -> bool:
    """Whether `git stash show` is asked for files that were never tracked; its `-u` means that and not a patch."""
    clustered = any("u" in text for text in call.raw if text[:2] != "--")
    return clustered or _says(call, ("--include-untracked", "--only-untracked"))


def _shows_patches(part: "Part", directory: str, home: str) -> bool:
    """Whether a setting may make `git stash show` print patches; settings elsewhere may be included."""
    files = [f"{home}/.gitconfig", f"{home}/.config/git/config", "/etc/gitconfig"]
    files += [f"{top_of(directory)}/.git/{name}" for name in ("config", "config.worktree")]
    text = "\n".join(part.texts)
    for path in filter(os.path.isfile, files):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            text += file.read(_MAX_SETTINGS)
    return "showpatch" in text.lower() or "[include" in text.lower()


def _says(call: GitCall, options: Sequence[str], letters: str = "") -> bool:
    """Whether an option was given, also shortened or in a cluster; of what no table knows every letter counts."""
    wanted = {f"-{letter}" for letter in letters}
    for option in call.given:
        if option in wanted or (option[:2] == "--" and _shortens(option, options)):
            return True
    clusters = () if call.sure else (text for text in call.raw if text[:2] != "--")
    return any(letter in text for text in clusters for letter in letters)


def _shortens(option: str, options: Sequence[str]) -> bool:
    long = len(option) >= _SHORTEST
    return any(option.startswith(name) or (long and name.startswith(option)) for name in options)


def _chosen(name: str, call: GitCall, directory: str, below: str) -> bool:
    """Whether the paths of a call, if it has any, take in this tracked file."""
    if "--full-diff" in call.given or call.name in _WITHOUT_PATHS:
        return True
    trees = [word for word in call.operands if _is_tree(word, call.name)]
    if any(_holds(word, name, below) for word in trees):
        return True
    if trees and len(trees) == len(call.operands) >= _TREES_COMPARED.get(call.name, 1):
        return not _MORE_REVISIONS.isdisjoint(call.given)
    if call.name == "log" and "-L" in call.given:
        return any(_fits(name, value.rpartition(":")[2], below) for option, value in call.values if option == "-L")
    specs = call.pathspecs
    if not specs and call.sure:
        specs = tuple(word for word in call.operands if word not in trees and _may_be_path(word, directory))
    if any(word.startswith(":/") for word in call.operands):
        return True  # a commit found by its message
    if any(_fits(name, spec[spec.find(")") + 1 :].lstrip(":!^"), below) for spec in specs if _leaves_out(spec)):
        return False
    wanted = [spec for spec in specs if not spec.startswith(EXCLUDES)]
    if not wanted and call.name == "grep" and not any(":" in spec for spec in specs):
        wanted = ["."]
    return not wanted or any(_is_unclear(spec) or _fits(name, spec, below) for spec in wanted)


def _names_content(call: GitCall, directory: str, top: str) -> bool:
    """Whether an operand may be the hash of content, which is printed whatever the paths are."""
    if call.name not in _TAKES_CONTENT or not call.operands:
        return False
    try:
        git_dir = git_directory(top, f"{top}/.git")
    except (ConfigUnreadableError, OSError):
        return True
    return any(not os.path.lexists(f"{directory}/{word}") and may_be_blob(word, git_dir) for word in call.operands)


def _is_tree(word: str, name: str) -> bool:
    """Whether a word names one file or directory in a revision or in the index, so that nothing else is printed."""
    if word.startswith(":"):
        return name in ("show", "cat-file") and not word.startswith((":/", ":("))
    return ":" in word and not word.endswith("}")


def _holds(word: str, name: str, below: str) -> bool:
    """Whether `REV:path` is this file or a directory around it; a revision may hold colons itself."""
    for path in behind_colons(word) if not word.endswith(":") else ("",):
        start = below if path.startswith(("./", "../")) or path in (".", "..") else ""
        full = posixpath.normpath(posixpath.join(start, path))
        if full in (".", name) or name.startswith(full + "/"):
            return True
    return False


def _may_be_path(word: str, directory: str) -> bool:
    return word.startswith(":") or not WILD.isdisjoint(word) or os.path.lexists(f"{directory}/{word}")


def _leaves_out(spec: str) -> bool:
    return spec.startswith(_EXCLUDES) and _UNCLEAR.isdisjoint(spec)


def _is_unclear(spec: str) -> bool:
    """Whether a path may name anything: with magic that is not followed here, or a set of characters."""
    return (spec.startswith(":") and not spec.startswith((":/", ":(top)"))) or not _UNCLEAR.isdisjoint(spec)


def _fits(name: str, spec: str, below: str) -> bool:
    if spec.startswith((":/", ":(top)")):
        spec, below = spec.removeprefix(":/").removeprefix(":(top)"), ""
    full = posixpath.normpath(posixpath.join(below, spec))
    return full in (".", name) or name.startswith(full + "/") or _matches(name, full)


def _matches(name: str, pattern: str) -> bool:
    return not WILD.isdisjoint(pattern) and fnmatchcase(name, pattern)


def _tracked(top: str, context: "PermissionContext", cwd: str) -> "tuple[tuple[str, Rule], ...]":
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
