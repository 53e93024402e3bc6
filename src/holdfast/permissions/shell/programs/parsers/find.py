"""`find`: paths first, then an expression in which every word is a known test or action.

All that is asked about a call of `find` is answered here: where it starts, what it runs, what it picks out and removes.
So are names that one command prints and the next one takes: `find x | xargs rm`, `echo a | while read f`.
"""

import posixpath
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.program import having, names_of
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.patterns import fits, matches_text
from holdfast.permissions.shell.words.word import Word, has_option, names

LEADING = names("-H -L -P -O0 -O1 -O2 -O3")
ALONE = names(
    "-a -and -o -or -not ! ( ) , -d -depth -mount -xdev -daystart -follow -noleaf -warn -nowarn"
    " -ignore_readdir_race"
    " -noignore_readdir_race -empty -executable -readable -writable -nogroup -nouser -true -false"
    " -print -print0 -prune"
    " -quit -ls -help --help -version --version"
)
WITH_VALUE = names(
    "-maxdepth -mindepth -regextype -name -iname -path -ipath -wholename -iwholename -lname -ilname"
    " -regex -iregex -type"
    " -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -links"
    " -inum -samefile -fstype -used -context -printf"
)
NEWER = frozenset(f"-newer{left}{right}" for left in "aBcm" for right in "aBcmt")
COMMANDS = frozenset({"-exec", "-execdir"})
"""Run a command that ends in `;` or `{} +`; the caller judges that command."""
ASKING = frozenset({"-ok", "-okdir"})
RUNS = COMMANDS | ASKING
IN_DIRECTORIES = frozenset({"-execdir", "-okdir"})
"""Of these, those that run it where the file is."""
WRITING = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
"""Actions that write the file named by the first of their values."""
CHANGES = frozenset({"-delete", *WRITING})
FILE_VALUES = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
READERS = having("reads-regular")
_REMOVERS = having("deletes")
_REWRITERS = having("in-place")
_NARROWING: Final = names("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname")
_NARROWING_MORE: Final = names(
    "-empty -mtime -mmin -atime -amin -ctime -cmin -size -newer -user -group -perm -nouser -nogroup -inum -samefile"
)
"""Tests with which `find` gives only some of what it finds; the first are given a pattern."""
_OR: Final = frozenset({"-o", "-or", ","})
_NOT: Final = frozenset({"!", "-not"})
_OPEN: Final = frozenset({"(", "\\("})
_CLOSE: Final = frozenset({")", "\\)"})
_BY_NAME: Final = names("-name -iname")
_BY_PATH: Final = names("-path -ipath -wholename -iwholename")
_ACTIONS: Final = RUNS | {"-delete", "-print", "-print0"}
_HISTORY: Final = ".git"
_INSIDE: Final = ("./.git", "./.git/x", "/x/.git", "/x/.git/x", ".git", ".git/x")
_FOLLOWS = names("-L -H -follow -delete") | ASKING | IN_DIRECTORIES


def hands_to_readers(argv: "Sequence[Word]") -> bool:
    """Whether `-exec` only gives what it finds to programs that read it, as `xargs` would; each call is judged as well.

    A word with more than `{}` in it may become an option.
    """
    words = argv[1:]
    texts = [word.text for word in words]
    if not all(word.static for word in words) or not _FOLLOWS.isdisjoint(texts) or "-exec" not in texts:
        return False
    first = texts.index("-exec")
    if any("{}" in text and text != "{}" for text in texts):
        return False
    runs = [at for at, text in enumerate(texts) if text == "-exec"]
    if len(runs) > 1 and not _OR.isdisjoint(texts[first:]):
        return False  # what fails the tests of one may be handed to the other
    return all(_is_reader(texts[at + 1 :]) for at in runs)


def hands_on_links(texts: "Sequence[str]") -> bool:
    """Whether `-exec` may give a link to a program, which then reads what lies elsewhere."""
    at = texts.index("-exec") if "-exec" in texts else 0
    return at > 0 and _is_reader(texts[at + 1 :]) and not _only_files(texts[:at])


def _is_reader(texts: "Sequence[str]") -> bool:
    """Whether a known reader stands here, and its words end where they seem to: a `+` ends them behind `{}` only."""
    end = next((at for at, text in enumerate(texts) if text in (";", "+")), 0)
    if end < 2 or texts[0] not in READERS or (texts[end] != ";" and texts[end - 1] != "{}"):
        return False
    return texts[0] not in _REWRITERS or not has_option(texts[:end], "i", "--in-place")


def _only_files(tests: "Sequence[str]") -> bool:
    """Whether all that passes these tests is a regular file."""
    depth, found = 0, False
    for at, text in enumerate(tests):
        if tests[at - 1 : at] and tests[at - 1] in WITH_VALUE:
            continue  # `-name '('` opens nothing
        depth += {"(": 1, ")": -1}.get(text, 0)
        if depth == 0 and text in _OR:
            return False
        typed = text == "-type" and list(tests[at + 1 : at + 2]) == ["f"]
        found = found or (depth == 0 and typed and tests[at - 1 : at] not in (["!"], ["-not"]))
    return found and depth == 0


def inspect_find(args: "Sequence[Word]") -> CommandFacts:
    """Judge a `find` call; what `-exec` runs is left to the caller."""
    at, reasons, reads, unknown = _start_paths(args)
    writes: list[str] = []
    while at < len(args):
        word = args[at]
        at += 1
        if not word.static:
            reasons.append("a word known only at run time may become a find action")
            continue
        text = word.text
        if text in ALONE:
            continue
        if text in WITH_VALUE or text in NEWER:
            at = _take_value(args, at, reasons)
            if text in FILE_VALUES or (text in NEWER and not text.endswith("t")):
                reads.extend(value.text for value in args[at - 1 : at] if value.static)
        elif text in COMMANDS:
            at = _command_end(args, at, reasons)
        elif text == "-delete":
            reasons.append("find -delete removes what it finds")
            writes.extend(reads)
        elif text in WRITING:
            reasons.append(f"find {text} writes a file")
            writes.extend(value.text for value in args[at : at + 1] if value.static)
            at += WRITING[text]
        elif text in ASKING:
            reasons.append(f"find {text} runs a command after a question on the terminal")
            at = _command_end(args, at, reasons)
        else:
            reasons.append(f"find: {text!r} is not in the table of read-only tests")
            reads.extend(
                value.text for value in args[at : at + 1] if value.static and value.text[:1] != "-"
            )  # a start, or its value
    refusal = reasons[0] if reasons else None
    return CommandFacts(
        refusal, tuple(reads or ["."]), tuple(writes), kind="search" if not writes else "remove", reads_unknown=unknown
    )


def _start_paths(args: "Sequence[Word]") -> tuple[int, list[str], list[str], bool]:
    at, reasons, reads, unknown = 0, list[str](), list[str](), False
    while at < len(args):
        word = args[at]
        if not word.static:
            if word.may_be_flag:
                reasons.append("a word known only at run time may become a find action")
            unknown = True
        elif word.text in LEADING:
            pass
        elif word.text[:1] in ("-", "(", "!", ",") or word.text == ")":
            break
        else:
            reads.append(word.text)
        at += 1
    return at, reasons, reads, unknown


def _take_value(args: "Sequence[Word]", at: int, reasons: list[str]) -> int:
    if at >= len(args):
        reasons.append("find: the last test has no value")
    elif not args[at].static and (args[at].may_be_flag or (args[at].glob and not args[at].text[:1].isalnum())):
        reasons.append("a word known only at run time may become a find action")
    elif "TZ=" in args[at].text and args[at - 1].text in NEWER:
        reasons.append("a date with a time zone of its own may read any file")
    return at + 1


def _command_end(args: "Sequence[Word]", at: int, reasons: list[str]) -> int:
    """Return the index after `;` or `{} +`, or the end when neither comes."""
    while at < len(args):
        word = args[at]
        at += 1
        if word.static and (word.text == ";" or (word.text == "+" and args[at - 2].text == "{}")):
            return at
        if not word.static and word.may_be_flag and not word.secret:
            continue
    reasons.append("find: the command after -exec has no end")
    return at


def narrows(texts: "Sequence[str]") -> bool:
    """Whether every alternative of a `find` expression is about only some of what is below its directories."""
    groups: list[tuple[bool, bool, bool]] = []  # for each open bracket: all before, this alternative, negated
    every, this, negated = True, False, False
    for at, text in enumerate(texts):
        if text in _NOT:
            negated = not negated
            continue
        if text in _OPEN:
            groups.append((every, this, negated))
            every, this = True, False
        elif text in _CLOSE and groups:
            inner = every and this
            every, this, was_negated = groups.pop()
            this = this or (inner and not was_negated)
        elif text in _OR:
            every, this = every and this, False
        elif not negated:
            following = texts[at + 1] if at + 1 < len(texts) else ""
            this = this or text in _NARROWING_MORE or (text in _NARROWING and following.strip("*./") != "")
        negated = False
    return every and this


def starts_of(texts: "Sequence[str]") -> range:
    """The numbers of the words that say where `find` starts; none: in the directory it runs in."""
    at = 1
    while at < len(texts) and (texts[at] in LEADING or texts[at] == "-D"):
        at += 1 + (texts[at] == "-D")
    first = at
    while at < len(texts) and texts[at][:1] not in ("-", "(", "!", ",") and texts[at] != ")":
        at += 1
    return range(first, at)


def runs_of(texts: "Sequence[str]") -> "Iterator[tuple[str, int, int]]":
    """Each action that runs a command, with the numbers of the command's first word and of what ends it."""
    at = 1
    while at < len(texts):
        if texts[at] in RUNS:
            end = next((place for place in range(at + 1, len(texts)) if texts[place] in (";", "+")), len(texts))
            yield texts[at], at + 1, end
            at = end
        at += 1


def removes(texts: "Sequence[str]") -> bool:
    """Whether what is found is removed, by `find` itself or by a program that it runs."""
    if "-delete" in texts:
        return True
    return any(one in RUNS and posixpath.basename(two) in _REMOVERS for one, two in pairwise(texts))


def picks_history(texts: "Sequence[str]", *, trees: bool) -> bool:
    """Whether some alternative that is not pruned asks for `.git` or what is in it; `trees`: all below goes, too."""
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


_PASSING: Final = having("passes-on")
_FD: Final = names_of("fd")
_SEARCH: Final = names_of("grep") | {"git", "rg"}
_TELL: Final = having("tells-names")
_WORDS: Final = having("prints-words")
_LS: Final = names_of("ls")
_NAMING: Final = names("-l --files --files-with-matches -rl -lr -Rl -lR -il -rli -ril -irl ls-files")


def teller_of(parts: "Sequence[Part]", number: int) -> "Part | None":
    """The command whose names reach the input of this one, by way of commands that hand them on."""
    while number > 0 and parts[number].piped:
        number -= 1
        if parts[number].name not in _PASSING:
            return parts[number]
    return None


def tells_below(part: "Part") -> bool:
    """Whether a command prints nothing but names of files below where it looks."""
    return part.name in _FD or (part.name in _SEARCH and not _NAMING.isdisjoint(part.texts))


class Target(NamedTuple):
    """A place that a command names, as written."""

    form: str
    static: bool
    narrowed: bool = False
    """Only some of what is below it."""


def printed_by(part: "Part") -> "Iterator[Target]":
    """The names that a command prints for the next one to take, as far as they are told."""
    name = part.name
    if name not in _TELL:
        return
    narrowed = name == "find" and narrows(part.texts)
    texts = [word.text for word in part.argv]
    told = starts_of(texts) if name == "find" else [at for at in range(1, len(texts)) if texts[at][:1] != "-"]
    for at in told:
        word, form = part.argv[at], part.texts[at]
        known = word.text if word.static else form
        for piece in known.split() if word.static and name in _WORDS else [known]:
            yield Target(f"{piece}/*" if name in _LS else piece, word.static, narrowed)
    if not told and name not in _WORDS:
        yield Target("*" if name != "find" else ".", static=True, narrowed=narrowed)
