"""Rules in a worktree: what is said about a checkout holds in the worktree that stands for it, too.

A worktree holds the same files under other names. A rule that denies `/secrets` of the project would otherwise not know
them there. So every rule about files of the checkout gets a twin for the worktree; the rule itself stays, because the
checkout is still on the disk.
"""

import os
from collections.abc import Iterable, Iterator

import msgspec

from holdfast.permissions.paths import is_inside
from holdfast.permissions.rules.grammar import PATH_TOOLS, Rule

FOLDER = ".holdfast/worktrees"
"""Where our worktrees are, below the checkout; each is a directory of this one."""
_SPECIAL = frozenset("*?[]\\!")


def moved(path: str, place: tuple[str, str] | None) -> str:
    """Where a directory of the checkout is in the worktree; any other stays where it is."""
    if place is None or not path:
        return path
    checkout, worktree = place
    if is_inside(path, (worktree,)) or not is_inside(path, (checkout,)):
        return path
    return os.path.normpath(os.path.join(worktree, os.path.relpath(path, checkout)))


def in_worktree(rules: Iterable[Rule], checkout: str, worktree: str, *, home: str) -> Iterator[Rule]:
    """The rules, and behind each that is about the checkout by its place the same for the worktree."""
    for rule in rules:
        yield rule
        twin = _twin(rule, checkout, worktree, home) if rule.tool in PATH_TOOLS and rule.content else None
        if twin is not None:
            yield twin
        elif rule.source.root is None and rule.behavior != "allow" and _is_anchored(rule):
            # Its anchor, the project's root, has moved; what it holds back in the checkout stays.
            yield msgspec.structs.replace(rule, source=msgspec.structs.replace(rule.source, root=checkout))


def in_every_worktree(rules: Iterable[Rule], checkout: str, start: str, *, home: str) -> Iterator[Rule]:
    """The rules, and behind each that holds files of the checkout back the same for our worktrees below it.

    A file that a rule keeps is in each of them once more, and whoever works in the checkout can reach it there.
    """
    for rule in rules:
        yield rule
        if rule.behavior == "allow" or rule.tool not in PATH_TOOLS or not rule.content:
            continue
        inner = _inside(rule, checkout, start, home)
        if inner is not None and ".." not in inner.split("/"):
            source = msgspec.structs.replace(rule.source, root=checkout)
            content = f"/{FOLDER}/*/{inner}"
            yield msgspec.structs.replace(rule, content=content, source=source, written=rule.text)


def _inside(rule: Rule, checkout: str, start: str, home: str) -> str | None:
    """The pattern of a rule below the checkout; none where it is about something else, or holds at any depth."""
    content = rule.content or ""
    if content.startswith(("//", "~/")):
        absolute = home + content[1:] if content.startswith("~/") else content[1:]
        for written in (checkout, _escaped(checkout)):
            if absolute.startswith(f"{written}/"):
                return absolute[len(written) + 1 :]
        return None
    anchor = rule.source.root or checkout if content.startswith("/") else start
    pattern = content.removeprefix("./").lstrip("/")
    if not is_inside(anchor, (checkout,)) or (not content.startswith(("/", "./")) and "/" not in pattern.rstrip("/")):
        return None
    below = os.path.relpath(anchor, checkout)
    return pattern if below == "." else f"{_escaped(below)}/{pattern}"


def _is_anchored(rule: Rule) -> bool:
    content = rule.content or ""
    return rule.tool in PATH_TOOLS and content.startswith("/") and not content.startswith("//")


def _twin(rule: Rule, checkout: str, worktree: str, home: str) -> Rule | None:
    place = (checkout, worktree)
    if _is_anchored(rule):
        root = rule.source.root
        there = None if root is None else moved(root, place)
        if there is None or there == root:
            return None
        return msgspec.structs.replace(rule, source=msgspec.structs.replace(rule.source, root=there))
    content = rule.content or ""
    absolute = home + content[1:] if content.startswith("~/") else content[1:] if content.startswith("//") else ""
    for written in (checkout, _escaped(checkout)):
        if absolute.startswith(f"{written}/"):
            new = f"/{_escaped(worktree)}{absolute[len(written) :]}"
            return msgspec.structs.replace(rule, content=new, written=rule.text)
    return None


def _escaped(path: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in path)
