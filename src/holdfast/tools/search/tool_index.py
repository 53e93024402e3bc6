"""The deferred tools, ready to be searched: which words stand in which tools, so that no search reads every text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest

from holdfast.contract import Tool

__all__ = ["ToolIndex"]

_NAME_PART, _NAME_PART_REMOTE = 10, 12
_IN_NAME, _IN_NAME_REMOTE = 5, 6
_HINT, _DESCRIPTION = 4, 2
_WORD = re.compile(r"\S+")


class ToolIndex:
    """Made once for a list of tools. Rows are numbered in the order of the names, which decides between equals."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools
        by_name = sorted((tool.name.lower(), tool.name, tool) for tool in _distinct(tools))
        self._names = [name for _, name, _ in by_name]
        self._lowered = [lowered for lowered, _, _ in by_name]
        self._is_remote = [tool.mcp_info is not None for _, _, tool in by_name]
        self._parts, self._pieces = _Words(), _Words()
        self._hints, self._descriptions = _Words(), _Words()
        for row, (lowered, name, tool) in enumerate(by_name):
            self._parts.add(row, _parts_of(name))
            self._pieces.add(row, lowered.replace("-", "_").split("_"))
            self._hints.add(row, tool.search_hint.lower().split())
            self._descriptions.add(row, _WORD.findall(tool.description().lower()))

    def search(self, query: str, limit: int) -> list[str]:
        """The best names, by score and then by name."""
        words = [word for word in query.lower().split() if word.strip("+")]
        scores: dict[int, int] = {}
        kept: set[int] | None = None
        for word in words:
            found = self._score(word.lstrip("+"))
            if word.startswith("+"):
                kept = set(found) if kept is None else kept & found.keys()
            if scores:
                for row, score in found.items():
                    scores[row] = scores.get(row, 0) + score
            else:
                scores = found
        count = len(self._names)
        rows = scores.items() if kept is None else [(row, scores[row]) for row in kept]
        # One number holds both: a higher score is less, and among equals the earlier name.
        best = nsmallest(limit, [row - score * count for row, score in rows])
        return [self._names[place % count] for place in best]

    def _score(self, word: str) -> dict[int, int]:
        found = dict.fromkeys(self._descriptions.holding(word), _DESCRIPTION)
        for row in self._hints.exactly(word):
            found[row] = found.get(row, 0) + _HINT
        exact = self._parts.exactly(word)
        _add(found, exact, self._is_remote, _NAME_PART, _NAME_PART_REMOTE)
        inside = self._in_names(word)
        if len(inside) > len(exact):
            _add(found, inside.difference(exact), self._is_remote, _IN_NAME, _IN_NAME_REMOTE)
        return found

    def _in_names(self, word: str) -> set[int]:
        if "_" in word or "-" in word:  # it may go over several pieces of a name
            return {row for row, name in enumerate(self._lowered) if word in name}
        return self._pieces.holding(word)


class _Words:
    """The words of one text of every tool, and the rows that each stands in."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        self._joined: str | None = None

    def add(self, row: int, words: Iterable[str]) -> None:
        """Take the words of a row; rows come in order."""
        for word in words:
            rows = self._rows.setdefault(word, [])
            if not rows or rows[-1] != row:
                rows.append(row)

    def exactly(self, word: str) -> Sequence[int]:
        """The rows with this word."""
        return self._rows.get(word, ())

    def holding(self, word: str) -> set[int]:
        """The rows with a word that holds this one."""
        if self._joined is None:
            self._joined = "\n" + "\n".join(self._rows) + "\n"
        text = self._joined
        found: set[int] = set()
        at = text.find(word)
        while at >= 0:
            end = text.index("\n", at)
            found.update(self._rows[text[text.rindex("\n", 0, at) + 1 : end]])
            at = text.find(word, end)
        return found


def _add(found: dict[int, int], rows: Iterable[int], is_remote: Sequence[bool], own: int, remote: int) -> None:
    for row in rows:
        found[row] = found.get(row, 0) + (remote if is_remote[row] else own)


def _distinct(tools: Sequence[Tool]) -> Iterable[Tool]:
    return {tool.name: tool for tool in tools}.values()


def _parts_of(name: str) -> Iterator[str]:
    """`mcp__git_hub__createIssue` is mcp, git, hub, create, issue."""
    for piece in name.replace("-", "_").split("_"):
        word = ""
        for char in piece:
            if char.isupper() and word and not word[-1].isupper():
                yield word.lower()
                word = ""
            word += char
        if word:
            yield word.lower()
