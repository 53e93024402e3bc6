"""A git command taken apart: where it runs, its subcommand, options and paths; and the forms that only look."""

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import Scan, front, scan
from holdfast.permissions.shell.programs.program import PROGRAMS, git_having
from holdfast.permissions.shell.programs.tool_table import GIT_READS
from holdfast.permissions.shell.words.expansion import literal_words
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.word import Word, names

EXCLUDES = (":!", ":^", ":(exclude")
"""How a path starts that is left out."""


def behind_colons(word: str) -> Iterator[str]:
    """What may be the path in a word with colons; a revision may hold colons itself."""
    if ":" not in word or word.startswith(EXCLUDES):
        return
    if word.startswith(":("):
        yield word.partition(")")[2]
        return
    at = word.find(":")
    while at >= 0:
        path = word[at + 1 :].removeprefix("/") if at == 0 else word[at + 1 :]
        if path:
            yield path
        at = word.find(":", at + 1)


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
