"""Whether what `find` picks out and removes is a repository's history."""

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.words.patterns import fits, matches_text
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BY_NAME: Final = names("-name -iname")
_BY_PATH: Final = names("-path -ipath -wholename -iwholename")
_OR: Final = names("-o -or ,")
_NOT: Final = names("! -not")
_ACTIONS: Final = names("-delete -exec -execdir -ok -okdir -print -print0")
_HISTORY: Final = ".git"
_INSIDE: Final = ("./.git", "./.git/x", "/x/.git", "/x/.git/x", ".git", ".git/x")


def picks_history(texts: "Sequence[str]", *, trees: bool) -> bool:
    """Whether some alternative that is not pruned asks for `.git` or what is in it.

    Args:
        texts: the words of the command.
        trees: whether what it finds is removed with everything below it.
    """
    return any(_picks(words, trees=trees) for words in _choices(texts))


def _choices(texts: "Sequence[str]") -> "Iterator[list[str]]":
    """The alternatives of an expression, brackets and all."""
    depth, words = 0, list[str]()
    for text in texts:
        depth += (text in ("(", "\\(")) - (text in (")", "\\)"))
        if text in _OR and depth <= 0:
            yield words
            words = []
        else:
            words.append(text)
    yield words


def _picks(words: list[str], *, trees: bool) -> bool:
    if "-prune" in words and _ACTIONS.isdisjoint(words):
        return False
    files = any(one == "-type" and two in ("f", "l") for one, two in pairwise(words))
    negated = False
    for test, pattern in pairwise(words):
        if test in _NOT:
            negated = True
            if pattern in ("(", "\\("):
                return False  # what a bracket leaves out is not looked at more closely
        elif test.startswith("-"):
            if not negated and _fits(test, pattern, trees=trees and not files):
                return True
            negated = False
    return False


def _fits(test: str, pattern: str, *, trees: bool) -> bool:
    if test in _BY_NAME:
        return trees and fits(pattern, _HISTORY, dotted=True)
    return test in _BY_PATH and _HISTORY in pattern.lower() and any(matches_text(pattern, path) for path in _INSIDE)
