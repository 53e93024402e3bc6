"""A git command taken apart: where it runs, its subcommand, its options, and which of its words may be paths."""

import posixpath
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.programs.program import PROGRAMS
from holdfast.permissions.shell.programs.subcommands import front
from holdfast.permissions.shell.words.expansion import literal_words
from holdfast.permissions.shell.words.word import Word, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.parts import Part

__all__ = ["ANY", "UNKNOWN", "Front", "GitCall", "git_call", "git_front", "git_subcommand"]

UNKNOWN: Final = "?"
"""Stands for a subcommand that is only known at run time, or is an alias."""
ANY: Final = "*"
"""Stands for a word that may name anything."""
_CALLS_KEPT: Final = 64
"""Several questions are asked about the same command."""
_ELSEWHERE: Final = names("--git-dir --work-tree --namespace --bare")
_ELSEWHERE_VARIABLES: Final = names(
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES"
    " GIT_NAMESPACE GIT_CEILING_DIRECTORIES GIT_DISCOVERY_ACROSS_FILESYSTEM"
)
_PATHSPEC_OPTIONS: Final = names("--literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs")


class GitCall(NamedTuple):
    """What the words of a git command mean."""

    name: str
    given: frozenset[str] = frozenset()
    """Options by their first alias where a table knows the subcommand, else as written without values."""
    values: "tuple[tuple[str, str], ...]" = ()
    """Options with values."""
    raw: tuple[str, ...] = ()
    """Words that start with a dash, as written."""
    operands: tuple[str, ...] = ()
    """Other words in front of `--`."""
    pathspecs: tuple[str, ...] = ()
    """Words behind `--`."""
    sure: bool = True
    """Every option was understood, so that no operand can be the value of one."""
    moved: str = ""
    """Where `-C` leads, seen from the directory it is started in."""
    elsewhere: bool = False
    """It works on a repository that options or variables name."""


class Front(NamedTuple):
    """What stands between `git` and its subcommand."""

    end: int
    """The number of the subcommand among the arguments, or how many there are without one."""
    given: "tuple[tuple[str, Word | None], ...]"
    """Options, with the values of those that take one."""
    unknown: bool

    def values(self, name: str) -> "list[Word]":
        """The values that are given to an option."""
        return [value for option, value in self.given if option == name and value is not None]

    @property
    def moved(self) -> str | None:
        """Where `-C` leads, seen from the directory that git is started in; None when the text does not tell."""
        words = self.values("-C")
        return posixpath.join("", *(word.text for word in words)) if all(word.static for word in words) else None

    @property
    def places(self) -> tuple[str | None, ...]:
        """Where git works: behind `-C`, and in a work tree that an option names; none: where it is started."""
        moved, trees = self.moved, self.values("--work-tree")[-1:]
        if moved == "" and not trees:
            return ()
        beside = (posixpath.join(moved, tree.text) if moved is not None and tree.static else None for tree in trees)
        return (moved, *beside)


def git_front(words: "Sequence[Word]") -> Front:
    """Read the options in front of the subcommand, as git does; `words` are the arguments."""
    found = front("git", words)
    return Front(len(words) - len(found.operands), tuple(found.given), found.unknown)


def git_subcommand(words: "Sequence[Word]") -> str | None:
    """The subcommand among these arguments, when the text tells it."""
    at = git_front(words).end
    return words[at].text if at < len(words) and words[at].static else None


def git_call(part: "Part") -> GitCall:
    """Take a git command apart."""
    return _taken_apart(part.words, tuple(part.texts), part.assigns)


@lru_cache(maxsize=_CALLS_KEPT)
def _taken_apart(given_words: "tuple[Word, ...] | None", texts: tuple[str, ...], assigns: tuple[str, ...]) -> GitCall:
    words = literal_words(given_words, texts)
    before = git_front(words)
    given = frozenset(name for name, _ in before.given)
    elsewhere = not _ELSEWHERE_VARIABLES.isdisjoint(assigns) or before.moved is None or not _ELSEWHERE.isdisjoint(given)
    rest = words[before.end :]
    if not rest:
        return GitCall("")
    is_told = rest[0].static and all(value is None or value.static for _, value in before.given)
    name = rest[0].text if is_told else UNKNOWN
    call = _by_table(name, rest[1:]) or _by_looks(name if _is_known(name) else UNKNOWN, rest[1:])
    if not _PATHSPEC_OPTIONS.isdisjoint(given) or any(variable.endswith("_PATHSPECS") for variable in assigns):
        call = call._replace(operands=(*call.operands, ANY), pathspecs=(ANY,) if call.pathspecs else ())
    return call._replace(moved=before.moved or "", elsewhere=elsewhere)


def _by_table(name: str, rest: "Sequence[Word]") -> GitCall | None:
    from holdfast.permissions.shell.programs.options import scan  # noqa: PLC0415 - with the first command
    from holdfast.permissions.shell.programs.tool_table import GIT_READS  # noqa: PLC0415 - same

    key, told = name, rest
    if rest and f"{name} {rest[0].text}" in GIT_READS:
        key, told = f"{name} {rest[0].text}", rest[1:]
    tool = GIT_READS.get(key)
    if tool is None:
        return None
    found = scan(tool, told)
    skip = 1 if name == "grep" and not found.has("-e", "-f") else 0
    operands = [_known(word) for word in found.operands]
    raw = tuple(word.text for word in told if word.text[:1] == "-")
    # Behind `--end-of-options` stand revisions as well as paths.
    unlimited = "--end-of-options" in raw
    cut = len(operands) if found.ended_at is None or unlimited else found.ended_at
    return GitCall(
        key,
        frozenset(option for option, _ in found.given),
        tuple((option, _known(value)) for option, value in found.given if value is not None),
        raw,
        tuple(operands[skip:cut]),
        tuple(operands[max(skip, cut) :]),
        sure=found.refusal is None and not unlimited,
    )


def _is_known(name: str) -> bool:
    program = PROGRAMS.get(f"git:{name}")
    return program is not None and "unknown-words" not in program.roles


def _by_looks(name: str, rest: "Sequence[Word]") -> GitCall:
    """Of a subcommand without a table: a word behind an option may be its value."""
    texts = [_known(word) for word in rest]
    cut = texts.index("--") if "--" in texts else len(texts)
    raw = tuple(text for text in texts[:cut] if text[:1] == "-")
    operands = tuple(text for text in texts[:cut] if text[:1] != "-")
    given = frozenset(text.partition("=")[0] for text in raw)
    return GitCall(name, given, (), raw, operands, tuple(texts[cut + 1 :]), sure=all("=" in text for text in raw))


def _known(word: "Word") -> str:
    return word.text if word.static else ANY
