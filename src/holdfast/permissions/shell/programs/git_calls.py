"""A git command taken apart: where it runs, its subcommand, its options, and which of its words may be paths."""

import posixpath
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.programs.program import PROGRAMS
from holdfast.permissions.shell.words.expansion import literal_words
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.parts import Part
    from holdfast.permissions.shell.words.word import Word

__all__ = ["ANY", "UNKNOWN", "GitCall", "git_call"]

UNKNOWN: Final = "?"
"""Stands for a subcommand that is only known at run time, or is an alias."""
ANY: Final = "*"
"""Stands for a word that may name anything."""
_CALLS_KEPT: Final = 64
"""Several questions are asked about the same command."""
_VALUED: Final = names("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --exec-path")
_ELSEWHERE: Final = ("--git-dir", "--work-tree", "--namespace", "--bare")
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


class _Front(NamedTuple):
    """What stands in front of the subcommand."""

    length: int
    moved: str
    elsewhere: bool
    usual: bool


def git_call(part: "Part") -> GitCall:
    """Take a git command apart."""
    return _taken_apart(part.words, tuple(part.texts), part.assigns)


@lru_cache(maxsize=_CALLS_KEPT)
def _taken_apart(given: "tuple[Word, ...] | None", texts: tuple[str, ...], assigns: tuple[str, ...]) -> GitCall:
    words = literal_words(given, texts)
    front = _front(assigns, words)
    rest = words[front.length :]
    if not rest:
        return GitCall("")
    name = rest[0].text if rest[0].static else UNKNOWN
    call = _by_table(name, rest[1:]) or _by_looks(name if _is_known(name) else UNKNOWN, rest[1:])
    if not front.usual:
        call = call._replace(operands=(*call.operands, ANY), pathspecs=(ANY,) if call.pathspecs else ())
    return call._replace(moved=front.moved, elsewhere=front.elsewhere)


def _front(assigns: "Sequence[str]", words: "Sequence[Word]") -> _Front:
    at, moved = 0, ""
    elsewhere = not _ELSEWHERE_VARIABLES.isdisjoint(assigns)
    usual = not any(name.endswith("_PATHSPECS") for name in assigns)
    while at < len(words) and words[at].static and words[at].text[:1] == "-":
        text = words[at].text
        if text == "-C" and at + 1 < len(words):
            moved = posixpath.join(moved, words[at + 1].text)
            elsewhere = elsewhere or not words[at + 1].static
        elsewhere = elsewhere or text.startswith(_ELSEWHERE)
        usual = usual and text not in _PATHSPEC_OPTIONS
        at += 2 if text in _VALUED else 1
    return _Front(at, moved, elsewhere, usual)


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
