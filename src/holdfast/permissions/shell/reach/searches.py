"""Which directories a search goes through, and which files in them it opens, told by its options.

The words are read by the option tables, so that a value is never taken for an option nor an option for a value. What
the tables do not know counts as opening everything.
"""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from holdfast.permissions.rules.path_patterns import alternatives
from holdfast.permissions.shell.programs.inspect import TABLES
from holdfast.permissions.shell.programs.options import Scan, scan
from holdfast.permissions.shell.programs.parsers.find import RUNS, hands_on_links
from holdfast.permissions.shell.programs.parsers.git import EXCLUDES, git_call
from holdfast.permissions.shell.programs.program import family, having, names_of
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.expansion import literal_words
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.word import Word, has_option

_GREPS: Final = names_of("grep")
_SEARCHERS: Final = having("searches-here")
_OTHER_SEARCHERS: Final = having("searches")
"""Searchers without a table: they are taken to open everything."""
_FINDERS: Final = names_of("fd")
FOLLOWERS: Final = _GREPS | _SEARCHERS | {"diff", "find"}
"""Commands that may follow links in the directories they go through."""
_COPIERS: Final = having("copies-trees")
_COMPARERS: Final = having("compares-trees")
_NAMES_ONLY: Final = having("opens-nothing")
_FOLLOWING: Final = frozenset({"-L", "-follow"})
_LOOSE: Final = frozenset({"-o", "-or", "!", "-not", ",", "(", "\\("})
_FD_HIDDEN: Final = frozenset({"--hi", "--un"})
_GREP_LIMITS: Final = frozenset({"--include", "--exclude", "--exclude-from"})
_INPUT_TEXT: Final = frozenset({"heredoc", "herestring", "commands"})
_RG_SETTINGS: Final = "RIPGREP_CONFIG_PATH"
_GLOB_MARKS: Final = frozenset("*?[{\\!")
_PATTERN: Final = frozenset("*?[\\")
_PACKING: Final = frozenset("cruA")
_PACKING_LONG: Final = ("--create", "--append", "--update", "--catenate", "--concatenate")
_TYPES: Final = {
    "py": "*.py *.pyi", "js": "*.js *.jsx *.mjs *.cjs *.vue", "ts": "*.ts *.tsx *.mts *.cts", "rust": "*.rs",
    "go": "*.go", "java": "*.java *.jsp *.jspx *.properties", "c": "*.[chH] *.[chH].in *.cats", "cs": "*.cs",
    "cpp": "*.[CchH] *.[CchH].in *.[ch]pp *.[ch]pp.in *.[ch]xx *.[ch]xx.in *.cc *.cc.in *.hh *.hh.in *.inl",
    "html": "*.html *.htm *.ejs", "css": "*.css *.scss", "yaml": "*.yaml *.yml", "toml": "*.toml Cargo.lock",
    "md": "*.md *.mdx *.markdown *.mdown *.mdwn *.mkd *.mkdn", "kotlin": "*.kt *.kts", "swift": "*.swift",
    "sql": "*.sql *.psql", "lua": "*.lua", "php": "*.php *.php3 *.php4 *.php5 *.php7 *.php8 *.phtml",
    "ruby": "*.gemspec *.rb *.rbw .irbrc Gemfile Rakefile config.ru", "scala": "*.scala *.sbt",
    "sh": "*.bash *.[bckt]sh *.tcsh *.zsh *.sh *shrc *_login *_logout *_profile *login *logout *profile *zshenv",
    "docker": "*Dockerfile*", "txt": "*.txt",
}  # fmt: skip
"""What the usual types of ripgrep take in, over its versions; of any other nothing is known."""


class Reach(NamedTuple):
    """The directories whose files a command opens."""

    directories: tuple[str, ...]
    includes: tuple[str, ...] = ()
    """Only files with such names; none: every file."""
    hidden: bool = True
    """Also names that start with a dot."""
    follows: bool = False
    """Also what lies behind links below the directories."""
    passed_over: tuple[str, ...] = ()
    """Names of directories that are left out."""
    seen_only: bool = False
    """Only what the disk says to be a directory: the words may as well be files."""


def reaches(analysis: "Analysis", part: "Part") -> Reach | None:
    """What a command opens without naming it, or None when it names all it opens."""
    name = part.name
    owner = analysis.parts[part.parent] if part.parent >= 0 else None
    if owner is not None and name not in _NAMES_ONLY and (started := _started_by(owner)) is not None:
        return started
    if name == "find" and hands_on_links(part.texts):
        return _started_by(part)
    if name in _GREPS:
        return _grep(part)
    if name in _SEARCHERS:
        return None if _reads_input(analysis, part) else _search(part)
    if name == "git":
        return _git_grep(part)
    return _of_others(part)


def follows(part: "Part") -> bool:
    """Whether a command goes through directories and opens what the links in them lead to."""
    name, texts = part.name, part.texts
    if name in _GREPS:
        return has_option(texts, "R") or any(text.startswith("--der") for text in texts)
    if name in _SEARCHERS:
        return has_option(texts, "L" if name == "rg" else "f") or "--follow" in texts
    if name == "diff":
        return "--no-dereference" not in texts and _recursive(texts)
    return name == "find" and (not _FOLLOWING.isdisjoint(texts) or hands_on_links(texts))


def _scan(part: "Part") -> "Scan":
    # The tables load with the first command.
    return scan(TABLES[part.name], literal_words(part.words, part.texts))


def _started_by(owner: "Part") -> Reach | None:
    """What a command opens that is started once for every file found."""
    if owner.name == "find":
        return Reach(owner.reads or (".",), _find_names(owner.texts), follows=follows(owner))
    if owner.name in _FINDERS:
        texts = owner.texts
        hidden = has_option(texts, "H") or has_option(texts, "u") or any(text[:4] in _FD_HIDDEN for text in texts)
        return Reach((*_operands(owner), "."), hidden=hidden)
    return None


def _find_names(texts: Sequence[str]) -> tuple[str, ...]:
    """The one name that all files have which `find` hands on; what stands behind the action limits nothing."""
    tests = list(takewhile(lambda text: text not in RUNS, texts))
    if not _LOOSE.isdisjoint(tests) or tests.count("-name") != 1:
        return ()
    return _file_names(tests[tests.index("-name") + 1 :][:1])


def _grep(part: "Part") -> Reach | None:
    found = _scan(part)
    recursive = found.has("-r", "-R") or any(not _is_flat(word) for word in found.values("-d"))
    if not recursive and (found.refusal is None or not _recursive(part.texts)):
        return None
    limits = [(name, value) for name, value in found.given if name in _GREP_LIMITS]
    includes: tuple[str, ...] = ()
    # Files that no pattern is about are opened, unless the first of the patterns is one of `--include`.
    if found.refusal is None and limits and limits[0][0] == "--include":
        includes = _file_names(_texts(value for name, value in limits if name == "--include"))
    left_out = tuple(word.text for word in found.values("--exclude-dir") if word.static)
    return Reach(_places(part, found), includes, follows=follows(part), passed_over=left_out)


def _is_flat(word: "Word") -> bool:
    """Whether `-d read` or `-d skip` was said; both may be shortened."""
    return word.static and (word.text[:3] == "rea" or word.text[:1] == "s")


def _reads_input(analysis: "Analysis", part: "Part") -> bool:
    """Whether it searches what is piped into it; with `< /dev/null` and the like it goes through the directory."""
    if not part.piped or part.reads:
        return False
    return not any("<" in one.operator and one.kind not in _INPUT_TEXT for one in analysis.redirects)


def _search(part: "Part") -> Reach | None:
    if part.name == "ack":
        return Reach((*_operands(part), "."), follows=follows(part))
    found = _scan(part)
    if found.has("--files", "--filename-pattern"):
        return None  # it lists names
    if part.name == "ag":
        return Reach(_places(part, found), follows=follows(part))
    wanted = [word for word in found.values("-g", "--iglob") if not (word.static and word.text[:1] == "!")]
    types = found.values("-t")
    # What a glob, a type or a line of an ignore file asks for is opened although it is hidden.
    told = found.refusal is None and _RG_SETTINGS not in os.environ
    hidden = not told or bool(wanted or types) or found.has("-.", "-u", "--ignore-file")
    includes: tuple[str, ...] = ()
    places = _places(part, found)
    if told and not found.has("--iglob", "--glob-case-insensitive", "--type-add", "--type-clear"):
        includes = _file_names([*_texts(wanted), *_type_globs(_texts(types))])
        if wanted and not types and places == (".",):
            places = _starts(_texts(wanted))
    return Reach(places, includes, hidden, follows(part))


def _starts(globs: Sequence[str]) -> tuple[str, ...]:
    """The directories in which globs such as `src/**` start; the current one when they do not tell."""
    found: list[str] = []
    for glob in globs:
        first, slash, _ = glob.removeprefix("/").partition("/")
        if not slash or not first or not _GLOB_MARKS.isdisjoint(first):
            return (".",)
        found.append(first)
    return tuple(found)


def _type_globs(types: Iterable[str]) -> Iterator[str]:
    for name in types:
        yield from _TYPES.get(name, "*").split()


def _git_grep(part: "Part") -> Reach | None:
    """The files on the disk that `git grep` opens; those of a commit or the index are looked up there."""
    call = git_call(part)
    if call.name != "grep":
        return None
    paths = [path for path in (*call.operands, *call.pathspecs) if not path.startswith(EXCLUDES)]
    here = call.moved or "."
    if any(path[:1] == ":" for path in paths) and not {"--untracked", "--no-index"}.isdisjoint(call.given):
        return Reach((here, "/"))
    if not call.sure or not paths or any(path[:1] == ":" for path in paths):
        return Reach((here,))
    if any(not _PATTERN.isdisjoint(path) for path in paths):
        return Reach((here,), _ends_of(paths))
    return Reach(tuple(posixpath.join(call.moved, path) for path in paths))


def _ends_of(paths: Sequence[str]) -> tuple[str, ...]:
    """How names end that fit paths of git, in which `*` stands for directories too."""
    if any("\\" in path or _PATTERN.isdisjoint(path) for path in paths):
        return ()
    ends = [re.split(r"[*?\]]", path)[-1].rpartition("/")[2] for path in paths]
    return () if any(not end or "[" in end for end in ends) else tuple(f"*{end}" for end in ends)


def _of_others(part: "Part") -> Reach | None:
    name, texts = part.name, part.texts
    if name in _OTHER_SEARCHERS:
        return Reach((*_operands(part), "."))
    if name in _COMPARERS:
        return Reach(_operands(part), follows=follows(part), seen_only=not _recursive(texts))
    if (name in _COPIERS and _recursive(texts)) or (family(name) in ("tar", "bsdtar") and _packs(texts)):
        return Reach(_operands(part))
    return None


def _packs(texts: Sequence[str]) -> bool:
    """Whether `tar` puts files into an archive; its first word needs no dash."""
    for at, text in enumerate(texts[1:]):
        if text[:2] == "--":
            if len(text) > 3 and any(name.startswith(text) for name in _PACKING_LONG):
                return True
        elif (at == 0 or text[:1] == "-") and not _PACKING.isdisjoint(text):
            return True
    return False


def _recursive(texts: Sequence[str]) -> bool:
    return has_option(texts, "rRad", "--recursive", "--archive", "--dereference-recursive", "--directories")


def _places(part: "Part", found: "Scan") -> tuple[str, ...]:
    """The directories named, with those in which a pattern or an unknown name starts."""
    named = tuple(dict.fromkeys((*part.reads, *found.reads)))
    return (*named, ".") if part.reads_unknown or found.reads_unknown else named or (".",)


def _operands(part: "Part") -> tuple[str, ...]:
    words = part.argv[1:]
    static = tuple(word.text for word in words if word.static and word.text[:1] not in ("-", ""))
    return static if all(word.static for word in words) else (*static, ".")


def _texts(words: "Iterable[Word | None]") -> list[str]:
    """The texts of values; one that is only known at run time may be anything."""
    return [word.text if word is not None and word.static else "*" for word in words]


def _file_names(patterns: Sequence[str]) -> tuple[str, ...]:
    """What the names of files look like that fit one of these patterns; nothing when that cannot be told."""
    found = [name for pattern in patterns for name in _plain_names(pattern)]
    return () if "*" in found else tuple(found)


def _plain_names(pattern: str) -> list[str]:
    if "\\" in pattern or "[:" in pattern:
        return ["*"]
    last = [one.rpartition("/")[2].replace("[^", "[!") for one in alternatives(pattern)]
    return ["*" if not name or "**" in name or "{" in name or "}" in name else name for name in last]
