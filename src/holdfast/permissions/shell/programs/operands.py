"""Files behind the operands of a command beyond those that its table names, for deny and ask rules alone.

A program that no table knows reads what it is given; a copy lands inside a directory under its own name; what removes
a directory removes what is in it. Nothing is allowed because of these names.
"""

import posixpath
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from holdfast.lib.name_glob import fnmatchcase, matching_paths
from holdfast.permissions.shell.programs.builtins import BUILTINS
from holdfast.permissions.shell.programs.inspect import OWN_RULES, TABLES
from holdfast.permissions.shell.programs.parsers.find import WRITING, narrows, runs_of, starts_of
from holdfast.permissions.shell.programs.parsers.finders import runtime_actions
from holdfast.permissions.shell.programs.program import PROGRAMS, having, names_of, told
from holdfast.permissions.shell.words.expansion import patterns_of
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.patterns import WILD
from holdfast.permissions.shell.words.word import Word, has_option, values_given

MAX_MATCHES: Final = 1_000
_MAXWILD: Final = 2
_HERE: Final = ("$PWD/", "${PWD}/", "$(pwd)/")
INSIDE: Final = "x"
"""Stands for any name inside a directory."""
_LOADERS: Final = having("loads")
"""Known commands of which the tables do not name all they read."""
SURE_READERS: Final = having("loads", "reads-all")
"""Commands that read whatever they are given."""
_PLACING: Final = having("places")
_COPYING: Final = _PLACING - {"mv"}
_TARS: Final = names_of("tar") | names_of("bsdtar")
_MAKING: Final = frozenset("cruA")
"""Letters with which `tar` writes an archive."""
_FILLING: Final = having("fills")
_WGET_MANY: Final = (
    *("--recursive", "--mirror", "--page-requisites", "--force-directories", "--input-file", "--content-disposition"),
    "--trust-server-names",
)
_RSYNC_PATTERNS: Final = ("--exclude", "--include", "--filter")
_MODES: Final = having("modes")
_INTO: Final = {name: tuple(text.split()) for name, text in told("into").items()}
"""Options that name a directory to put files into."""
_EDITORS: Final = having("edits-named")
_COMPILERS: Final = having("compiler")
_REWRITING: Final = having("rewrites")
_EDITING: Final = having("in-place")
_PACKING: Final = having("packs")
_FILE_COMMANDS: Final = having("file-command")
_IN_PLACE: Final = names_of("sed") | {"sort"}
_BY_OPTION: Final = _IN_PLACE | names_of("tee") | {"truncate"}
"""Commands that change what they are given, or do so with an option."""


class Landing(NamedTuple):
    """A file that lands at a place, or inside it when that is a directory."""

    source: str
    place: str


def is_unlisted(part: "Part") -> bool:
    """Whether no table says which of its operands a command reads."""
    if part.refusal is None or part.cover == "strip" or part.name == "git" or not part.texts:
        return False
    if part.name in _LOADERS:
        return True
    return part.name not in TABLES and part.name not in OWN_RULES and part.name not in BUILTINS


def perhaps_read(part: "Part") -> "Iterator[str]":
    """What the arguments of such a command may name: `x`, `--file=x`, `-fx`, `@x`, `field=@x`.

    The `build` of `npm run build` is no file; without a dot or a slash a word is one only for those that surely read.
    """
    yield from perhaps_named(part, [word.text for word in part.argv[1:] if word.static])


def perhaps_named(part: "Part", words: "Sequence[str]") -> "Iterator[str]":
    """What words that are certain may name for such a command."""
    sure = part.name in SURE_READERS
    for text in words:
        if text and (sure or not {".", "/", "@"}.isdisjoint(text)):
            yield from spellings(text)


def spellings(text: str) -> "Iterator[str]":
    """The files that one word may name, by itself or as the value of an option."""
    if text[0] != "-":
        yield text.removeprefix("@")
    elif text[1:2] != "-" and len(text) > 2:
        yield text[2:]
    _, equals, value = text.partition("=")
    if equals and value:
        yield value.removeprefix("@")


def landing_of(part: "Part") -> "Iterator[Landing]":
    """Where files land that a command copies, moves or links."""
    if part.name not in _PLACING:
        return
    operands = [word for word in part.argv[1:] if word.static and word.text[:1] != "-"]
    places = list(option_values(part, ("-t", "--target-directory")))
    passed = set(option_values(part, _RSYNC_PATTERNS)) if part.name == "rsync" else set[str]()
    sources = [word.text for word in operands if word.text not in places and word.text not in passed]
    if part.name == "ln" and len(operands) == 1:
        places = places or ["."]
    if not places:
        places, sources = ([part.writes[-1]] if part.writes else ["."]), sources[:-1] or sources
    for place in places:
        for source in sources:
            yield Landing(source, place)


def deep_changes(part: "Part") -> "Iterator[str]":
    """Directories whose content a command changes as a whole, or of which it changes what the text does not tell."""
    name = part.name
    for word, form in _expanded_words(part):
        yield from filter(None, (_told(form) or _known_directory(word, form),))
    if name == "mv" or (name == "rm" and has_option(part.texts, "rR", "--recursive")):
        yield from part.writes
    elif name in _MODES:
        yield from part.writes if has_option(part.texts, "R", "--recursive") else ()
    elif name in _FILLING or name in _INTO:
        places = tuple(filter(None, option_values(part, _INTO.get(name, ()))))
        one = name not in _FILLING or (
            name == "wget" and not has_option(part.texts, "rmpxi", *_WGET_MANY)
        )  # by its URL
        yield from places or (() if one else part.writes)
    elif name in _COPYING and has_option(part.texts, "rRa", "--recursive", "--archive"):
        yield from part.writes
    elif name in _PACKING:
        yield from part.writes if has_option(part.texts, "r", "--recursive") else ()
    elif name == "find" and (_deletes(part) or _runs_change(part.texts)):
        yield from part.reads or _start_points(part)


def _deletes(part: "Part") -> bool:
    """Whether a `find` removes what it finds, or may do so when the shell has expanded its words."""
    if "-delete" in part.texts or part.words is None or part.refusal is None:
        return "-delete" in part.texts
    return any(not part.argv[at].single for at in runtime_actions(part.argv, part.texts, paths=False))


def written_patterns(part: "Part") -> "Iterator[str]":
    """File patterns that a command expands to files it changes, and files that `find` writes."""
    if part.name == "find":
        yield from (part.texts[at + 1] for at, text in enumerate(part.texts[:-1]) if text in WRITING)
    elif part.name in _TARS:
        yield from _unpacked(part)
    elif part.name == "wget" or (
        part.name == "curl" and has_option(part.texts, "OJ", "--remote-name", "--remote-name-all")
    ):
        named = [posixpath.basename(text) for text in part.texts[1:] if text[:1] != "-"]
        for place in tuple(option_values(part, _INTO[part.name])) or (".",):
            yield from (posixpath.join(place, name) for name in named if name)
    elif part.name in _COMPILERS:
        yield from option_values(part, ("-o", "--output"))
    elif part.name in _EDITORS or (part.name in ("perl", "ruby") and has_option(part.texts, "i")):
        yield from (text for text in part.texts[1:] if text[:1] not in ("-", "+"))
    if not changes_by_words(part):
        return
    yield from filter(None, (_told(form) for _, form in _expanded_words(part)))
    last = part.argv[-1]
    if part.name not in _COPYING:
        yield from patterns_of(part)
    elif not last.static:
        yield from patterns_of(part._replace(words=(part.argv[0], last), texts=(part.texts[0], part.texts[-1])))


def _runs_change(texts: "Sequence[str]") -> bool:
    """Whether `find` gives what it finds to a command that changes it."""
    for _, at, end in runs_of(texts):
        if at >= end or "{}" not in texts[at:]:
            continue
        name = posixpath.basename(texts[at])
        changes = PROGRAMS[name].fields.get("changes", "") if name in PROGRAMS and name not in _COPYING else ""
        edits = name in _EDITING and has_option(texts[at:], "i", "--in-place")
        if changes.startswith(("edit", "remove")) or edits or name in _REWRITING:
            return True
    return False


def _start_points(part: "Part") -> "Sequence[str]":
    """Where `find` starts; the current directory when the text does not tell."""
    starts = [part.argv[at] for at in starts_of([word.text for word in part.argv])]
    return [word.text for word in starts] if starts and all(word.static for word in starts) else (".",)


def _unpacked(part: "Part") -> "Iterator[str]":
    """What `tar` writes: the members it unpacks, or the archive it makes."""
    texts = part.texts
    old = texts[1] if len(texts) > 1 and texts[1][:1] != "-" else ""  # letters without a dash, their values behind them
    if "x" in old or has_option(texts, "x", "--extract", "--get"):
        members = [text for text in texts[2:] if text[:1] != "-"]
        yield from members
        yield INSIDE
        for place in option_values(part, _INTO["tar"]):
            yield from (posixpath.join(place, member) for member in members)
    if not _MAKING.isdisjoint(old) or has_option(texts, "cruA", "--create", "--append", "--update", "--delete"):
        yield from texts[2:3] if old else option_values(part, ("-f", "--file"))
        yield from option_values(part, ("--file",)) if old else ()


def changes_untold(part: "Part") -> bool:
    """Whether a command changes files of which the text does not tell even the directory."""
    if not changes_by_words(part):
        return False
    return part.more or any(
        _told(form) is None and _known_directory(word, form) is None for word, form in _expanded_words(part)
    )


def spares(part: "Part", names: "Collection[str]") -> bool:
    """Whether a `find` that removes only files of some name leaves those alone that have one of these names."""
    texts = part.texts
    if part.name != "find" or not narrows(texts):
        return False
    wanted = [texts[at + 1] for at, text in enumerate(texts[:-1]) if text == "-name"]
    return bool(wanted) and not any(fnmatchcase(name, pattern) for name in names for pattern in wanted)


def matching_files(pattern: str, cwd: str) -> list[str] | None:
    """The files that the shell would put in the place of a pattern; None when there are too many to look at."""
    if sum(not WILD.isdisjoint(part) for part in pattern.split("/")) > _MAXWILD:
        return None
    found = list(islice(matching_paths(pattern.replace("[^", "[!"), cwd), MAX_MATCHES + 1))
    return found if len(found) <= MAX_MATCHES else None


def _expanded_words(part: "Part") -> "Iterator[tuple[Word, str]]":
    """The words with expansions that name what a command changes, with how they are written."""
    if not changes_by_words(part):
        return
    words, forms = part.argv[1:], part.texts[1:]
    if part.name in _COPYING:
        words, forms = words[-1:], forms[-1:]
    for word, form in zip(words, forms, strict=True):
        if not word.static and any(mark in form for mark in ("$", "`", "<(")):
            yield word, form


def _told(form: str) -> str | None:
    """The path behind `$PWD/`, as seen from the directory that the command runs in."""
    text = form.replace('"', "")
    for here in _HERE:
        rest = text.removeprefix(here)
        if rest != text and rest and {"$", "`", "("}.isdisjoint(rest) and ".." not in rest:
            return rest
    return None


def _known_directory(word: "Word", form: str) -> str | None:
    """The directory that is certain of a word such as `docs/$f`."""
    directory = word.text.rpartition("/")[0]
    return directory if directory and ".." not in form else None


def changes_by_words(part: "Part") -> bool:
    """Whether what a command is given by pattern or expansion is changed by it."""
    if part.refusal is None or not part.texts or part.words is None:
        return False
    if part.name in _BY_OPTION:
        return part.kind == "edit" or part.name not in _IN_PLACE or has_option(part.texts, "i", "--in-place")
    return part.kind in ("edit", "remove") and part.name not in ("zip", "mktemp")


def option_values(part: "Part", options: "Sequence[str]") -> "Iterator[str]":
    """The values of options in every spelling, as they are written."""
    texts = part.texts
    letters = [option[:2] for option in options if option[:2] != "--" and len(option) > 2]  # `-MF` may be a cluster
    for at, value in values_given(texts, (*options, *letters)):
        yield value if value is not None else texts[at + 1] if at + 1 < len(texts) else ""


def inside(place: str) -> str:
    """A name inside a directory, of which nothing is known."""
    return posixpath.join(place, INSIDE)


def is_plain_file_command(part: "Part") -> bool:
    """Whether a command only makes, touches, moves or copies the files that it names."""
    plain = part.name in _FILE_COMMANDS and part.cover == "" and not part.more and not part.assigns
    plain = plain and not any(_names_another(text) for text in part.texts[1:])
    return plain and all(word.static for word in part.argv) and part.argv[0].text == part.name


def _names_another(option: str) -> bool:
    """Whether an option makes a file under a name that stands nowhere: backups, and directories rebuilt."""
    if option[:2] == "--":
        return option.startswith(("--b", "--s", "--pare")) and not option.startswith("--st")
    return option[:1] == "-" and not {"b", "S"}.isdisjoint(option)
