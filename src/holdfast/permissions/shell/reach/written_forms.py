"""Every form in which the commands of a text may run, for what they write.

`tee out/{a,b}`, `rm -rf o*` and `touch $HOME/x` name files, though not as they stand. Each command with such words is
also looked at with what the shell may put in their place, and so are the texts that a command hands to a shell, and
links that it makes and goes through (`ln -s out q && touch q/n` writes `out/n`), which the disk does not know yet.
Deny and ask rules and protected paths are held against all of them; nothing is allowed because of them.
"""

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.paths import LiveDisk
from holdfast.permissions.protected import PROTECTED_NAMES, protected_by
from holdfast.permissions.shell.programs.arguments import SCRIPTED, TELLING, handed_texts, outputs_of, writes_untold
from holdfast.permissions.shell.programs.inspect import inspect_command
from holdfast.permissions.shell.programs.operands import changes_by_words, landing_of, matching_files
from holdfast.permissions.shell.text.analysis import Analysis, analyse
from holdfast.permissions.shell.text.surroundings import START
from holdfast.permissions.shell.words.parts import Cwds, Part, Redirect
from holdfast.permissions.shell.words.patterns import WILD, brace_words, named_by
from holdfast.permissions.shell.words.quoting import known_literal
from holdfast.permissions.shell.words.values import Values
from holdfast.permissions.shell.words.word import has_option

_MAX_CHAIN: Final = 4
_MAX_NAMES: Final = 64
MAX_LINKS: Final = 64
"""So many links are followed; with more of them it is not known what a path leads through."""


class MadeLink(NamedTuple):
    """A link under its absolute name, and where it leads."""

    name: str
    target: str
    named: bool
    """Whether the text names it again; the command that makes it changes nothing behind it."""


def links_made(
    parts: "Sequence[Part]", redirects: "Sequence[Redirect]", cwd: str, is_dir: "Callable[[str], bool | None]"
) -> tuple[MadeLink, ...]:
    """The links that commands make, as far as the text tells."""
    makers = [part for part in parts if makes_links(part)]
    if not makers:
        return ()
    named = {name for part in parts if part not in makers for name in _named(part.texts[1:], part.cwds, cwd)}
    named.update(name for item in redirects if item.target for name in _named((item.target.text,), item.cwds, cwd))
    made = (link for part in makers for link in _made_by(part, cwd, is_dir))
    found = dict.fromkeys(islice(made, MAX_LINKS))
    # A link to a link, and a second command that makes one in its place.
    targets = [target for _, target in found]
    return tuple(MadeLink(name, target, name in named or name in targets) for name, target in found)


def makes_links(part: "Part") -> bool:
    """Whether a command makes links."""
    return part.name in ("ln", "link") or (
        part.name == "cp" and has_option(part.texts, "sl", "--symbolic-link", "--link")
    )


def links_untold(parts: "Sequence[Part]", links: "Sequence[MadeLink]", cwd: str) -> bool:
    """Whether a command may go through a new link by a pattern, or through one that leads nobody knows where."""
    if len(links) >= MAX_LINKS:
        return True
    told = {part.source for part in parts if makes_links(part) and all(word.static for word in part.argv)}
    lost = [
        posixpath.normpath(posixpath.join(cwd, directory, part.texts[-1]))
        for part in parts
        if makes_links(part) and part.source not in told
        for directory in part.cwds or ("",)
    ]
    names = [*lost, *(link.name for link in links)]
    for part in parts:
        redirected = (item.target.text for item in part.redirects if item.target)
        texts = () if makes_links(part) else (*part.texts[1:], *redirected)
        for path in _named(texts, part.cwds, cwd):
            wild = not WILD.isdisjoint(path)
            if any(_leads_to(path, name) for name in (names if wild else lost)):
                return True
    return False


def _leads_to(path: str, link: str) -> bool:
    """Whether a path or a pattern may go through a link, component by component."""
    steps, wanted = path.split("/"), link.split("/")
    return len(steps) >= len(wanted) and all(map(fnmatchcase, wanted, steps))


def _named(texts: "Iterable[str]", cwds: "Cwds", cwd: str) -> "Iterator[str]":
    for text in texts:
        for directory in cwds or ("",):
            for name in (text, text.partition("=")[2]):
                yield posixpath.normpath(posixpath.join(cwd, directory, name))


def _made_by(part: "Part", cwd: str, is_dir: "Callable[[str], bool | None]") -> "Iterator[tuple[str, str]]":
    by_place = has_option(part.texts, "s", "--symbolic", "--symbolic-link") and not has_option(
        part.texts, "r", "--relative"
    )
    itself = has_option(part.texts, "Tn", "--no-target-directory", "--no-dereference")
    for source, place in landing_of(part):
        for directory in part.cwds or ("",):
            base = posixpath.join(cwd, directory)
            path = posixpath.normpath(posixpath.join(base, place))
            names = [posixpath.join(path, posixpath.basename(source.rstrip("/")))]
            if not (place.endswith("/") or place.rpartition("/")[2] in (".", "..")):
                known = False if itself else is_dir(path)
                names = names if known else [path] if known is False else [path, *names]
            for name in names:
                start = posixpath.dirname(name) if by_place else base
                yield name, posixpath.normpath(posixpath.join(start, source))


def through_links(paths: "Iterable[str]", links: "Sequence[MadeLink]", cwd: str) -> "Iterator[str]":
    """Paths, and what each also names when links lie on its way."""
    for path in paths:
        yield path
        fresh, seen = [posixpath.normpath(posixpath.join(cwd, path))], set[str]()
        for _ in range(_MAX_CHAIN):
            found = [
                target + name[len(link) :]
                for name in fresh
                for link, target, named in links
                if (named and name == link) or name.startswith(link + "/")
            ]
            fresh = [name for name in dict.fromkeys(found) if name not in seen][:_MAX_NAMES]
            seen.update(fresh)
            yield from fresh


_MAX_HANDED: Final = 64
_MAX_DEPTH: Final = 3
_DOTTED: Final = frozenset(name for name in PROTECTED_NAMES if name[0] == ".")


class Forms(NamedTuple):
    """The commands of a text with every form of them, and the links they make."""

    parts: "tuple[Part, ...]"
    links: tuple[MadeLink, ...] = ()
    untold: str = ""
    """Why some file that is written is not among them; empty when none is."""
    writes: bool = False
    """Whether some command may write what its table does not name."""


def written_forms(analysis: "Analysis", context: "PermissionContext", cwd: str) -> Forms:
    """The forms of a text; those of a text that only reads are its commands as they stand."""
    parts = analysis.parts
    pieces = bool(analysis.pieces) and context.book.holds_edits
    if analysis.read_only or not (pieces or any(map(_may_write, parts))):
        return Forms(parts)
    found = _Finder(analysis, context, cwd)
    parts = (*parts, *found.forms())
    links = links_made(
        parts, analysis.redirects, cwd, lambda path: context.disk.look(path, cwd, home=context.home).is_dir
    )
    untold = found.untold
    if not untold and any(map(makes_links, parts)) and links_untold(parts, links, cwd):
        untold = "it may go through a link that it makes itself"
    return Forms(parts, links, untold, writes=True)


def _may_write(part: "Part") -> bool:
    """Whether a command may write more than its table names as it stands."""
    if part.refusal is None or not part.texts:
        return False
    if part.words is not None and not all(word.static for word in part.words):
        return True
    return part.name in TELLING or makes_links(part) or any(text[:1] == "-" for text in part.texts)


class _Finder:
    """One text under one context."""

    def __init__(self, analysis: "Analysis", context: "PermissionContext", cwd: str) -> None:
        self._analysis = analysis
        self._context = context
        self._cwd = cwd
        self._live = isinstance(context.disk, LiveDisk)
        self._values = Values(analysis.values, context.home, None)
        self.untold = ""

    def forms(self) -> "Iterator[Part]":
        """The forms that differ from the commands as they stand."""
        analysis = self._analysis
        for part in analysis.parts:
            yield from self._forms_of(part, 0)
        if analysis.pieces and analysis.parts and not analysis.doubt and self._context.book.holds_edits:
            for text in analysis.pieces[:_MAX_HANDED]:
                yield from self._handed(text, analysis.parts[0], 0)
            if len(analysis.pieces) > _MAX_HANDED:
                self._lose("it hands on more words than are checked")

    def _forms_of(self, part: "Part", depth: int) -> "Iterator[Part]":
        if part.refusal is None or not part.texts or part.only_redirected:
            return
        form = part
        if part.words is not None and not all(word.static for word in part.words[1:]):
            form = self._expanded(part)
            yield form
        if outputs := tuple(outputs_of(form)):
            yield form._replace(writes=(*form.writes, *outputs))
        if writes_untold(form):
            self._lose(f"{part.name} writes files that its script does not name")
        texts = handed_texts(form)
        if len(texts) > _MAX_HANDED or (texts and depth >= _MAX_DEPTH):
            self._lose("it hands on more words than are checked")
        for text in texts[:_MAX_HANDED] if depth < _MAX_DEPTH else ():
            yield from self._handed(text, part, depth + 1)

    def _handed(self, text: str, outer: "Part", depth: int) -> "Iterator[Part]":
        """The commands of a text that a command runs, where it runs."""
        inner = analyse(text)
        for part in inner.parts:
            placed = part._replace(cwds=outer.cwds) if part.cwds == START else part
            yield placed
            yield from self._forms_of(placed, depth)
        written = tuple(item.target.text for item in inner.redirect_writes if item.target is not None)
        if written:
            yield outer._replace(name="", texts=(), words=(), refusal="it writes", reads=(), writes=written)

    def _expanded(self, part: "Part") -> "Part":
        """A command with what the shell may make of its words."""
        words, texts = [part.argv[0]], [part.texts[0]]
        for word, form in zip(part.argv[1:], part.texts[1:], strict=True):
            names = None if word.static else self._names(form, part)
            if names is None:
                words.append(word)
                texts.append(form)
            else:
                words += map(known_literal, names)
                texts += names
        writes, kind = part.writes, part.kind
        if part.cover == "" and part.name:
            facts = inspect_command(part.name, words[1:], stdin_is_data=part.piped)
            writes, kind = tuple(dict.fromkeys((*writes, *facts.writes))), facts.kind
        return part._replace(words=tuple(words), texts=texts, writes=writes, kind=kind)

    def _names(self, form: str, part: "Part") -> list[str] | None:
        """What a word becomes, as far as that is told; None leaves it as it is."""
        forms = brace_words(form)
        if forms is None:
            if changes_by_words(part):
                self._lose(f"{form!r} stands for more files than are looked at")
            return None
        # A script does what the rest of it says, whatever a variable in it holds.
        is_script = part.name in SCRIPTED and form[:1] == '"'
        names: list[str] = []
        for one in forms:
            for text, guessed in self._values.spellings(one, static=False):
                # What stands behind an expansion nobody knows still tells that it is a protected name.
                if text and (not guessed or is_script or protected_by((f"/{text}",)) is not None):
                    names += [text] if is_script else self._places(text, one, part)
        if self._values.exhausted:
            self._lose(f"{form!r} stands for more files than are looked at")
        return list(dict.fromkeys(names)) or None

    def _places(self, text: str, form: str, part: "Part") -> "Iterator[str]":
        pieces = [text] if '"' in form or "'" in form else text.split()
        for piece in pieces:
            if WILD.isdisjoint(piece):
                yield piece
            else:
                yield from self._matches(piece, part)

    def _matches(self, pattern: str, part: "Part") -> "Iterator[str]":
        """What a pattern stands for; where no rule is in force, only the protected names among it."""
        book = self._context.book
        holds = book.holds_edits or book.holds_reads
        directories = [os.path.join(self._cwd, directory) for directory in part.cwds or ("",)]
        protected = named_by(pattern, PROTECTED_NAMES if self._live else _DOTTED)
        for name in protected:
            if protected_by((f"/{name}",)) is not None and self._may_exist(name, directories):
                yield name
        if not holds or (part.name == "find" and not self._live):  # where nobody can look, its start is a question
            return
        found = [matching_files(pattern, directory) if self._live else None for directory in directories]
        if part.cwds is None or None in found:
            if self._live and None in found and changes_by_words(part):
                self._lose(f"{pattern!r} stands for more files than are looked at")
            yield from named_by(pattern, book.edit_names)
        yield from (name for names in found for name in names or ())
        if not any(found):
            yield pattern

    def _lose(self, reason: str) -> None:
        self.untold = self.untold or reason

    def _may_exist(self, name: str, directories: list[str]) -> bool:
        if not self._live:
            return True
        return any(os.path.lexists(os.path.join(directory, name)) for directory in directories)
