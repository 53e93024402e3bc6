"""git: the subcommands and forms that only look."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.git_names import behind_colons
from holdfast.permissions.shell.programs.options import Scan, scan
from holdfast.permissions.shell.programs.program import git_having
from holdfast.permissions.shell.programs.tool_table import GIT_READS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.permissions.shell.words.word import Word

PATHS = git_having("paths")
"""Subcommands whose operands may be paths."""
GIT_NETWORK = git_having("network")
GIT_SECOND_WORDS = git_having("second-word")
_WRITES_TREE = git_having("writes-tree")
_REFLOG_ACTIONS = frozenset({"expire", "delete", "drop", "write", "exists", "list"})
_LISTING = ("-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
_MOST_DIGITS = 4


def inspect_git(args: "Sequence[Word]") -> CommandFacts:
    """Judge a `git` call; the repository's own configuration is checked apart, by `git_config_refusal`."""
    at = 0
    while at < len(args) and args[at].static and args[at].text == "--no-pager":
        at += 1
    if at >= len(args):
        return CommandFacts("git has no subcommand", kind="git")
    word = args[at]
    if not word.static:
        return CommandFacts("the git subcommand is only known at run time", kind="git")
    name, rest = word.text, args[at + 1 :]
    if name in ("--version", "-v"):
        return CommandFacts(None if not rest else "git --version takes no operands", kind="version")
    if name.startswith("-"):
        return _global_option(name, rest)
    key = name
    if name in GIT_SECOND_WORDS and rest and rest[0].static and not rest[0].text.startswith("-"):
        longer = f"{name} {rest[0].text}"
        if longer in GIT_READS:
            key, rest = longer, rest[1:]
        elif name != "config":
            return _other(name, rest)
    if key not in GIT_READS or name in GIT_NETWORK:
        return _other(name, rest)
    return _read(key, rest)


def _global_option(name: str, rest: "Sequence[Word]") -> CommandFacts:
    """Refuse, but still find the subcommand, so that a network form is named as one."""
    network = any(word.static and word.text in GIT_NETWORK for word in rest[:3])
    return CommandFacts(f"git option {name!r} before the subcommand is not allowed", network=network, kind="git")


def _other(name: str, rest: "Sequence[Word]") -> CommandFacts:
    network = name in GIT_NETWORK
    if name in ("remote", "submodule") and rest and rest[0].static:
        network = rest[0].text in ("show", "update", "add", "prune", "set-head")
    writes: tuple[str, ...] = ()
    if name in _WRITES_TREE:
        named = tuple(word.text for word in rest if word.static and not word.text.startswith("-"))
        writes = named if name in ("rm", "mv", "restore", "add") else (".",)
        if name == "checkout":
            writes += named
    return CommandFacts(
        f"git {name} is not a read-only form", (), writes, network, "network" if network else "git-write"
    )


def _read(key: str, rest: "Sequence[Word]") -> CommandFacts:
    found = scan(GIT_READS[key], rest)
    check = CHECKS.get(key)
    if check is not None:
        check(found)
    # `git diff` leaves the repository by itself when a path is outside it.
    outside = key in ("hash-object", "diff") or found.has("--no-index")
    skip = 1 if key == "grep" and not found.has("-e", "-f") else 0
    for word in found.operands[skip:] if key in PATHS else ():
        if word.static and ":" in word.text:
            found.reads.extend(behind_colons(word.text))
        if not word.static or (outside and word.text[:1] != ":"):
            found.note_path(word, "file" if outside else "path", recursive=outside and found.has("--no-index"))
        elif ":" not in word.text:
            found.reads.append(word.text)  # a path or a revision
    reads = tuple(found.reads) or (".",)
    kind = "git" if key != "version" else "version"
    return CommandFacts(found.refusal, reads, tuple(found.writes), False, kind, found.reads_unknown)  # noqa: FBT003 - hot


def _branch(found: Scan) -> None:
    """Operands of `git branch` create a branch unless a listing option turns them into patterns."""
    if found.operands and not found.has(*_LISTING):
        found.refuse("git branch with a name creates or changes a branch")
    _separate_commit(found)


def _tag(found: Scan) -> None:
    # A number that is none to git, or less, does not list: `git tag -n-1 name` makes a tag.
    lines = [value.text if value is not None else "" for name, value in found.given if name == "-n"]
    lists = bool(lines) and all(text == "" or (text.isdecimal() and len(text) <= _MOST_DIGITS) for text in lines)
    if found.operands and not lists and not found.has(*_LISTING):
        found.refuse("git tag with a name creates a tag")
    _separate_commit(found)


def _separate_commit(found: Scan) -> None:
    """`--contains X` takes its commit from the next word; as an operand it is a pattern, which is as harmless."""
    if found.has("--show-current") and found.operands:
        found.refuse("git branch --show-current takes no operands")


def _config(found: Scan) -> None:
    """One name asks for a value, two would set it."""
    asks = found.has("-l", "--get", "--get-all", "--get-regexp", "--get-urlmatch")
    if any(word.text.startswith("-") for word in found.operands):
        found.refuse("git config takes an option behind a name for a value")
    if not asks and (len(found.operands) != 1 or any(not word.static for word in found.operands)):
        found.refuse("git config with a value changes the configuration")
    if not asks and found.operands and "." not in found.operands[0].text:
        found.refuse("git config: only a dotted name asks for a value")


def _reflog(found: Scan) -> None:
    first = found.operands[0] if found.operands else None
    if first is not None and (not first.static or first.text in _REFLOG_ACTIONS):
        found.refuse("git reflog is read-only only when it shows")


def _describe(found: Scan) -> None:
    if any(word.glob for word in found.operands):
        found.refuse("git describe with a pattern of files")


def _static_operands(found: Scan) -> None:
    if any(not word.static for word in found.operands):
        found.refuse("the operand is only known at run time")


def _show_ref(found: Scan) -> None:
    if found.has("--exclude-existing"):
        _static_operands(found)


CHECKS: "Mapping[str, Callable[[Scan], None]]" = {
    "branch": _branch,
    "tag": _tag,
    "config": _config,
    "reflog": _reflog,
    "symbolic-ref": _static_operands,
    "describe": _describe,
    "show-ref": _show_ref,
}
