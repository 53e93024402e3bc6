"""Files that a command reads although no plain word names them, for rules that deny reads or ask about them.

Words with wildcards and braces, targets of `<`, values that the text itself gives to variables: each becomes names
that the rules are held against. Where no name can be told, the reason is told instead.
"""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.facts import Sight
from holdfast.permissions.paths import LiveDisk, PathFacts
from holdfast.permissions.shell.programs.arguments import PROGRAM_FIRST, named_in_program, opens_untold
from holdfast.permissions.shell.programs.builtins import BUILTINS
from holdfast.permissions.shell.programs.facts import opens_for_reading
from holdfast.permissions.shell.programs.operands import (
    SURE_READERS,
    is_unlisted,
    perhaps_named,
    perhaps_read,
    spellings,
)
from holdfast.permissions.shell.programs.program import having
from holdfast.permissions.shell.reach.directories import Globber, held_rules
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.expansion import dynamic_words, is_expanded, placed, spread, told_by
from holdfast.permissions.shell.words.parts import Cwds, Part, Redirect
from holdfast.permissions.shell.words.patterns import is_wild, merged_names, named_by
from holdfast.permissions.shell.words.values import Values

_OPERATOR: Final = re.compile(r"(?:\{\w+\}|[0-9]+)?<>?\s*")
_MARKED: Final = re.compile(r"(?:-[A-Za-z]|[^=\s]*=)?[\"']?@")
_NAMES_ONLY: Final = having("words-are-no-files")
"""Commands whose words are mostly no files; what they read is told by their tables."""
_OPTIONS_ONLY, _EVERY_WORD = 1, 2
_HOME_SET: Final = re.compile(r"(?<![A-Za-z0-9_$\{])HOME(?![A-Za-z0-9_])")
_AT_HOME: Final = ("~", '"$HOME', "$HOME", '"${HOME', "${HOME")
_PLAIN_SHOPT: Final = frozenset({"-s", "-u", "-q", "-p", "nullglob", "failglob", "lastpipe", "inherit_errexit"})
_PROCESS_LINKS: Final = ("cwd", "root", "fd", "map_files")
_KERNEL: Final = ("/proc/", "/dev/")
_OWN_PROCESS: Final = ("self", "thread-self")
_OWN_INPUT: Final = re.compile(r"/dev/std(?:in|out|err)\Z|(?:/dev|/proc/self|/proc/thread-self)/fd(?:/[0-9]+)?\Z")


class ReadNames:
    """The names that one command may read, as far as the text and the disk tell."""

    def __init__(self, analysis: "Analysis", context: "PermissionContext", cwd: str) -> None:
        self._analysis, self._context, self._cwd = analysis, context, cwd
        self._globber: Globber | None = None
        self._untold = ""
        parts = analysis.parts
        self.all_named = analysis.read_only and not any(part.words is not None or part.reads_unknown for part in parts)
        """Every file that is read stands in the text, apart from redirects: most commands are like this."""

    def samples(self) -> "Iterator[str]":
        """Names for the rules, as seen from where the command starts; none when no rule is about reads."""
        if not self._context.book.holds_reads:
            return
        if isinstance(self._context.disk, LiveDisk):
            self._globber = Globber()
        for part in () if self.all_named else self._analysis.parts:
            if is_unlisted(part):
                yield from placed(perhaps_read(part), part.cwds)
            yield from placed(named_in_program(part), part.cwds)
            if part.reads_unknown:
                yield from placed((name for told in dynamic_words(part) for name in told.samples), part.cwds)
            if part.words is not None:
                yield from self._expanded(part)
        for redirect in self._analysis.redirects:
            if opens_for_reading(redirect) and redirect.target is not None and not redirect.target.static:
                form = _target(redirect)
                if not is_expanded(form):
                    yield from self._spread(form, redirect.cwds, None, _EVERY_WORD)

    def _expanded(self, part: "Part") -> "Iterator[str]":
        """What the words become that the shell still expands."""
        words = [form for form, word in zip(part.texts[1:], part.argv[1:], strict=True) if not word.static]
        extent = _extent(part) if words else 0
        for form in words if extent else ():
            if not is_expanded(form):
                yield from self._spread(form, part.cwds, part, extent)
            elif not part.reads_unknown and (self._analysis.values or "(" in form or "`" in form):
                for text in self._values(form):
                    yield from self._spread(text, part.cwds, part, extent)

    def _values(self, form: str) -> "Iterator[str]":
        """What the text itself puts in the place of an expansion; without quotes it may become several words."""
        values = Values(self._analysis.values, self._context.home, self._cwd)
        for text, guessed in values.spellings(form, static=False):
            words = [] if guessed else text.split()
            yield from words
            for option, value in pairwise(words):
                if option.startswith("-"):
                    yield f"{option}={value}" if option.startswith("--") else f"{option[:2]}{value}"

    def _spread(self, form: str, cwds: "Cwds", part: "Part | None", extent: int) -> "Iterator[str]":
        found = spread(form, self._context.home)
        if found.untold:
            self._untold = self._untold or f"which files {form[:60]} names is not known, and rules are about some"
        yield from placed(_files_among(found.names, part, extent), cwds)
        for pattern in found.patterns if extent == _EVERY_WORD else ():
            yield from self._matched(pattern, cwds)

    def _matched(self, pattern: str, cwds: "Cwds") -> "Iterator[str]":
        """The files behind a pattern; where nobody can look, those that rules are about and that it would match."""
        held = set(self._context.book.read_names)
        if self._globber is None:
            held.update(merged_names(pattern, [one.last for one in held_rules(self._context, self._cwd)]))
        if held:
            yield from placed(named_by(pattern, held), cwds)
        self._note_pattern(pattern, cwds)
        if self._globber is not None:
            for directory in cwds or ("",):
                yield from self._globber.files(pattern, os.path.join(self._cwd, directory))

    def _note_pattern(self, pattern: str, cwds: "Cwds") -> None:
        if self._untold:
            return
        if self._matches_otherwise():
            self._untold = f"the options of the shell change what {pattern} matches, and rules are about some files"
        for directory in cwds or ("",):
            if leads_into_process(os.path.normpath(os.path.join(self._cwd, directory, pattern))):
                self._untold = f"{pattern} leads through a process to files that rules may be about"

    def _matches_otherwise(self) -> bool:
        """Whether the text may change how patterns are compared with names: hidden files, case, any depth."""
        analysis = self._analysis
        if "GLOBIGNORE" in analysis.command or "BASHOPTS" in analysis.command:
            return True
        for part in analysis.parts:
            if part.name == "shopt" and not all(word.static and word.text in _PLAIN_SHOPT for word in part.argv[1:]):
                return True
            if part.name in ("bash", "sh") and any(word.text[:2] in ("-O", "+O") for word in part.argv[1:]):
                return True
        return False

    def doubt(self, sight: "Sight") -> str:
        """Why a rule about files may be meant although no name tells; empty when none can be."""
        if not self._context.book.holds_reads:
            return _through_process((*sight.writes, *sight.changed))
        return self._read_doubt() or _through_process((*sight.reads, *sight.covered, *sight.writes, *sight.changed))

    def _read_doubt(self) -> str:
        if self.all_named and not self._analysis.moves and not self._analysis.redirects:
            return ""
        if self._analysis.effects.unknown and self._unknown_words():
            return "it reads files the text does not tell, and rules are about some"
        for redirect in self._analysis.redirects:
            if self._is_unknown(redirect):
                return f"which file {redirect.text} reads is not known, and rules are about some"
        for part in self._analysis.parts:
            if _is_given_unknown(part) or opens_untold(part):
                return f"{part.name} is given files the text does not tell, and rules are about some"
        if self._moves_home():
            return "it sets HOME, so which files lie there is not known, and rules are about some"
        if self._globber is not None and self._globber.exhausted:
            return "its patterns match more files than can be looked at, and rules are about some"
        return self._untold

    def _unknown_words(self) -> bool:
        """Whether some file name is wholly unknown, not only a pattern below a known directory."""
        for part in self._analysis.parts:
            if part.cwds is None or part.more or (part.reads_unknown and len(part.argv) == 1):
                return True
            if part.reads_unknown and any(told.unknown for told in dynamic_words(part)):
                return True
        return False

    def _is_unknown(self, redirect: "Redirect") -> bool:
        target = redirect.target
        if target is None or not opens_for_reading(redirect):
            return False
        if redirect.cwds is None and target.text[:1] != "/":
            return True
        return not target.static and told_by(_target(redirect)).unknown

    def _moves_home(self) -> bool:
        if "HOME" not in self._analysis.command or _HOME_SET.search(self._analysis.command) is None:
            return False
        forms = [form for part in self._analysis.parts for form in part.texts[1:]]
        forms += [_target(redirect) for redirect in self._analysis.redirects if opens_for_reading(redirect)]
        return any(form.startswith(_AT_HOME) for form in forms)


def leads_into_process(path: str) -> bool:
    """Whether an absolute path, or a pattern, leads by a process's own links to where nobody can say.

    `/proc/self` is another process by the time the command runs, with another directory and other open files.
    """
    if not path.startswith("/"):
        return False
    names = path.split("/")[1:]
    if len(names) > 2 and fnmatchcase("proc", names[0]):
        owner = names[1]
        if owner.isdigit() or is_wild(owner) or owner in _OWN_PROCESS:
            return any(fnmatchcase(link, name) for name in names[2:] for link in _PROCESS_LINKS)
    return len(names) > 3 and fnmatchcase("dev", names[0]) and fnmatchcase("fd", names[1])


def _through_process(paths: "Sequence[PathFacts]") -> str:
    for path in paths:
        for name in path.names:
            if name.startswith(_KERNEL) and leads_into_process(name) and not _OWN_INPUT.match(path.given):
                return f"{path.given!r} leads through a process to a file that rules may be about"
    return ""


def _target(redirect: "Redirect") -> str:
    """The target of a redirect as written."""
    found = _OPERATOR.match(redirect.text)
    return redirect.text[found.end() :] if found is not None else redirect.text


def _extent(part: "Part") -> int:
    """How many of the words of a command may be files that it reads."""
    if part.reads_unknown or is_unlisted(part):
        return _EVERY_WORD
    if part.cover or part.name in _NAMES_ONLY or part.name in BUILTINS:
        return 0
    if part.kind in ("edit", "remove"):
        return _OPTIONS_ONLY if part.name == "dd" else 0
    reading = part.reads or part.kind in ("search", "read") or part.name in PROGRAM_FIRST
    return _EVERY_WORD if reading else _OPTIONS_ONLY


def _files_among(names: "Sequence[str]", part: "Part | None", extent: int) -> "Iterator[str]":
    """The files that certain words may name."""
    if part is not None and is_unlisted(part):
        yield from perhaps_named(part, names)
        return
    for name in names:
        if name and (extent == _EVERY_WORD or name[0] in "-@" or "=" in name):
            yield from spellings(name)


def _is_given_unknown(part: "Part") -> bool:
    """Whether a program that no table knows, or `dd`, is given files that the text does not tell."""
    if part.cwds is not None and (part.words is None or all(word.static for word in part.words)):
        return False
    if part.name != "dd" and not is_unlisted(part):
        return False
    return _is_lost(part) or any(told_by(form).unknown for form in _given(part))


def _given(part: "Part") -> "list[str]":
    """The words, as written, by which a program is surely given files, where the shell still expands them."""
    pairs = list(zip(part.texts[1:], part.argv[1:], strict=True))
    if part.name == "dd":
        return [form[3:] for form, word in pairs if form.startswith("if=") and not word.static]
    if part.name == "xargs":
        before = ["", *part.texts[1:]]
        pairs = [pair for last, pair in zip(before, pairs, strict=False) if last in ("-a", "--arg-file")]
    elif part.name not in SURE_READERS:
        pairs = [pair for pair in pairs if _MARKED.match(pair[0])]
    return [form for form, word in pairs if not word.static]


def _is_lost(part: "Part") -> bool:
    """Whether a program that surely reads is given files in a directory that the text does not tell."""
    return part.cwds is None and part.name in SURE_READERS and any(word.text[:1] != "-" for word in part.argv[1:])
