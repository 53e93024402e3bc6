"""Formatters and `git add`: whether such a call only rewrites ordinary files and starts nothing that the folder chose.

What a file is, which settings lie beside it and where the program comes from only the disk says.
"""

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final

from holdfast.permissions.paths import is_inside
from holdfast.permissions.shell.programs.inspect import inspect_edit
from holdfast.permissions.shell.programs.program import words_told
from holdfast.permissions.shell.words.expansion import placed
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.permissions.shell.text.analysis import Analysis
    from holdfast.permissions.shell.words.parts import Part

__all__ = ["is_steered", "only_adds", "rewrites"]

_ADDS: Final = "git add"
_SUFFIXES: Final = {name: tuple(words) for name, words in words_told("suffixes").items()}
_LEFT_OUT: Final = words_told("passes-over")
_CHOSEN_BY: Final = words_told("chosen-by")
_STEERS: Final = ("PYTHONPATH", "PYTHONHOME", "NODE_PATH", "NODE_OPTIONS")
_BY_FIRST_LINE: Final = "."
"""Among its suffixes: a formatter also takes files without one, when their first line names a shell."""
_STARTS: Final = "node"
"""What the first line of a formatter's own file may look for on the PATH."""
_PARSER: Final = re.compile(r'"parser": ("[^"]*"|.)')
_PARSERS: Final = frozenset(
    f'"{name}"' for name in names("babel flow typescript css less scss json json5 graphql markdown mdx html vue yaml")
)
"""Those that prettier has had for long; it takes any other name for a file to load."""
_MOST_ENTRIES: Final = 5_000
_LONGEST_FILE: Final = 100_000
_NOTHING: Final = frozenset[str]()


def rewrites(
    part: "Part", cwd: str, roots: tuple[str, ...], is_ordinary: "Callable[[str], bool]", *, walks: bool
) -> bool:
    """Whether a command only rewrites ordinary files, or adds to the index of a repository that starts nothing.

    Args:
        part: the command.
        cwd: where the text starts.
        roots: the directories that are worked in.
        is_ordinary: whether a file is one that nothing obeys.
        walks: whether a directory may be named, because no rule is about a file in it.
    """
    if part.cover or part.more or part.assigns or part.cwds is None:
        return False
    if not all(one.kind == "dup" or one.harmless_write for one in part.redirects):
        return False
    if not part.argv or part.argv[0].text != part.name or not all(word.static for word in part.argv):
        return False
    words, facts = inspect_edit(part.name, part.argv[1:])
    if facts is None or any(os.environ.get(name) for name in _STEERS):
        return False
    if _lies_inside(part.name, roots):
        return False
    places = [os.path.join(cwd, path) for path in placed(facts.reads, part.cwds)]
    if words == _ADDS:
        return all(_adds_only(os.path.join(cwd, path), roots) for path in part.cwds or ("",))
    name = f"edits:{words.replace(' ', ':')}"
    return all((walks or os.path.isfile(place)) and _is_fit(place, name, is_ordinary) for place in places)


def is_steered(part: "Part") -> bool:
    """Whether files beside what it rewrites may be code that it loads: none may be made by the same text."""
    return f"edits:{part.name}" in _CHOSEN_BY


def _lies_inside(program: str, roots: tuple[str, ...]) -> bool:
    """Whether a program, or what starts it, may be one that lies inside: on our word nothing of there is started."""
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        if not os.path.isabs(entry):
            return True  # it means the directory that the command is in
        started = (os.path.join(entry, name) for name in (program, _STARTS))
        if is_inside(os.path.realpath(entry), roots) and any(map(os.path.lexists, started)):
            return True
    return False


def only_adds(analysis: "Analysis") -> bool:
    """Whether all that git is told besides reading is to add files: then it needs nothing of the repository's."""
    told = [part for part in analysis.parts if part.name == "git" and part.refusal is not None]
    return bool(told) and all(inspect_edit("git", part.argv[1:])[0] == _ADDS for part in told)


def _adds_only(directory: str, roots: tuple[str, ...]) -> bool:
    """Whether git finds a repository inside whose settings start nothing when files are added."""
    from holdfast.permissions.shell.reach.git_config import git_config_refusal, git_variables_refusal  # noqa: PLC0415 - with the first of them

    here = os.path.realpath(directory)
    while not os.path.lexists(os.path.join(here, ".git")):
        if here == os.path.dirname(here):
            return False
        here = os.path.dirname(here)
    return is_inside(here, roots) and (git_variables_refusal(os.environ) or git_config_refusal(directory)) is None


def _is_fit(place: str, name: str, is_ordinary: "Callable[[str], bool]") -> bool:
    """Whether a file, or each that a formatter would find in a directory, is ordinary, and no settings are code."""
    head, wild, _ = place.partition("*")
    if wild or not set("?[]{}!").isdisjoint(place):
        place = os.path.dirname(head)  # `prettier --write 'src/**/*.ts'` looks itself
        if not wild or not set("?[]{}!").isdisjoint(place):
            return False
    for here in _and_above(place):
        if not all(_is_data(os.path.join(here, file)) for file in _CHOSEN_BY.get(name, _NOTHING)):
            return False
    if not os.path.isdir(place):
        return is_ordinary(place)
    return is_ordinary(os.path.join(place, "x")) and all(map(is_ordinary, _found(place, name)))


def _found(place: str, name: str) -> "Iterator[str]":
    """The files below that a formatter would rewrite; what nobody may touch where there are too many to look at."""
    left, chosen = _MOST_ENTRIES, _CHOSEN_BY.get(name, _NOTHING)
    for folder, folders, files in os.walk(place):
        left -= len(folders) + len(files)
        if left < 0 or not all(_is_data(os.path.join(folder, file)) for file in chosen.intersection(files)):
            yield "/"
            return
        folders[:] = [one for one in folders if one not in _LEFT_OUT.get(name, _NOTHING)]
        yield from (os.path.join(folder, file) for file in files if _is_taken(file, _SUFFIXES[name]))
        yield from (os.path.join(folder, one) for one in folders if os.path.islink(os.path.join(folder, one)))


def _is_taken(file: str, suffixes: tuple[str, ...]) -> bool:
    return file.endswith(suffixes) or (_BY_FIRST_LINE in suffixes and "." not in file)


def _and_above(place: str) -> "Iterator[str]":
    while place != os.path.dirname(place):
        place = os.path.dirname(place)
        yield place


def _is_data(path: str) -> bool:
    """Whether settings of a formatter are missing, or plain JSON that names no plugin, parser or settings to load."""
    if not os.path.lexists(path):
        return True
    try:
        if os.path.basename(path) not in ("package.json", ".prettierrc", ".prettierrc.json"):
            return False
        if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_FILE:
            return False
        with open(path, encoding="utf-8") as file:
            told: Any = json.load(file)
        if path.endswith("package.json"):
            told = told.get("prettier", {})
        said = json.dumps(told, ensure_ascii=False)
        return isinstance(told, dict) and "plugin" not in said.lower() and _PARSERS.issuperset(_PARSER.findall(said))
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
