"""What a finished command did to repositories: commits, pushes, merges, pull requests; from its words and output."""

import re
from typing import Any, Final

from holdfast.host.capture import Output
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.parts import Part

__all__ = ["git_operations", "operations_in", "summary"]

_SCANNED_LINES: Final = 200
_TELLING: Final = frozenset({"git", "gh", "glab", "curl"})
# Each pattern looks at one short line and has no nested repetition, so its time is linear.
_COMMITTED: Final = re.compile(r"\[(?P<branch>\S{1,200}(?: \([^)]{1,80}\))?) (?P<sha>[0-9a-f]{7,64})\]")
_PUSHED: Final = re.compile(r"(?:->|→) (?P<branch>\S{1,250})")
_PR_URL: Final = re.compile(r"https://[^\s/]{1,200}/\S{1,300}?/(?:pull|merge_requests)/(?P<number>\d{1,9})")
_PR_ACTIONS: Final = {
    "create": "created",
    "edit": "edited",
    "merge": "merged",
    "comment": "commented",
    "close": "closed",
    "ready": "ready",
}


def git_operations(analysis: Analysis, output: Output) -> dict[str, Any]:
    """The operations of a command that ended well; git tells some of them on standard error."""
    if _TELLING.isdisjoint(analysis.names):
        return {}
    ends = (stream.last_lines(_SCANNED_LINES) for stream in (output.stdout, output.stderr))
    return operations_in(analysis, "\n".join(ends))


def operations_in(analysis: Analysis, output: str) -> dict[str, Any]:
    """The operations worth showing: `commit`, `push`, `branch`, `pr`; empty when there are none."""
    names = analysis.git_operations
    found: dict[str, Any] = {}
    lines = [line[:500] for line in output.splitlines()[-2 * _SCANNED_LINES :]]
    if "git commit" in names or "git cherry-pick" in names:
        _note_commit(analysis, names, lines, found)
    if "git push" in names:
        branch = _first(_PUSHED, lines, "branch")
        found["push"] = {"branch": branch or ""}
    for action, past in (("merge", "merged"), ("rebase", "rebased")):
        if f"git {action}" in names:
            found["branch"] = {"ref": _operand(analysis, action), "action": past}
    _note_pull_request(analysis, names, lines, found)
    return found


def summary(found: dict[str, Any]) -> str:
    """The operations in a few words for people."""
    words: list[str] = []
    if "commit" in found:
        words.append(f"{found['commit']['kind']} {found['commit']['sha']}".strip())
    if "push" in found:
        words.append(f"pushed {found['push']['branch']}".strip())
    if "branch" in found:
        words.append(f"{found['branch']['action']} {found['branch']['ref']}".strip())
    if "pr" in found:
        number = found["pr"].get("number")
        words.append(f"pull request {f'#{number} ' if number else ''}{found['pr']['action']}")
    return ", ".join(words)


def _note_commit(analysis: Analysis, names: tuple[str, ...], lines: list[str], found: dict[str, Any]) -> None:
    kind = "cherry-picked" if "git cherry-pick" in names else "committed"
    if any(word.text == "--amend" for part in analysis.parts if part.name == "git" for word in part.argv):
        kind = "amended"
    found["commit"] = {"sha": _first(_COMMITTED, lines, "sha") or "", "kind": kind}


def _note_pull_request(analysis: Analysis, names: tuple[str, ...], lines: list[str], found: dict[str, Any]) -> None:
    action = ""
    for name in names:
        program, _, rest = name.partition(" ")
        kind, _, verb = rest.partition(" ")
        if (program, kind) in (("gh", "pr"), ("glab", "mr")):
            action = _PR_ACTIONS.get(verb, "")
    if not action and any(_posts_pull_request(part) for part in analysis.parts):
        action = "created"
    if not action:
        return
    request: dict[str, Any] = {"action": action}
    found["pr"] = request
    for line in lines:
        match = _PR_URL.search(line)
        if match is not None:
            request.update(number=int(match["number"]), url=match[0])
            break


def _posts_pull_request(part: Part) -> bool:
    if part.name != "curl":
        return False
    words = [word.text for word in part.argv]
    posts = "POST" in words or "-XPOST" in words or any(word in ("-d", "--data", "--json") for word in words)
    return posts and any(word.split("?")[0].endswith(("/pulls", "/merge_requests")) for word in words)


def _operand(analysis: Analysis, action: str) -> str:
    for part in analysis.parts:
        words = [word.text for word in part.argv]
        if part.name == "git" and action in words:
            rest = words[words.index(action) + 1 :]
            return next((word for word in rest if not word.startswith("-")), "")
    return ""


def _first(pattern: re.Pattern[str], lines: list[str], group: str) -> str | None:
    for line in lines:
        match = pattern.search(line)
        if match is not None:
            return match[group]
    return None
