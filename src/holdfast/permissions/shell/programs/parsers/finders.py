"""What `find` and `fd` start, also by words that are an action only when the shell has expanded them."""

import re
from collections.abc import Container, Iterator, Sequence
from typing import Final

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.rules.path_patterns import alternatives
from holdfast.permissions.shell.programs.parsers.find import (
    ALONE,
    CHANGES,
    IN_DIRECTORIES,
    LEADING,
    NEWER,
    RUNS,
    WITH_VALUE,
    hands_to_readers,
    runs_of,
)
from holdfast.permissions.shell.programs.program import names_of
from holdfast.permissions.shell.programs.wrappers import UNTOLD, Inner, places_of, tails
from holdfast.permissions.shell.words.quoting import QUOTES
from holdfast.permissions.shell.words.word import Word

_ACTIONS: Final = RUNS | CHANGES
_ENDS: Final = frozenset({";", "+"})
_EXPANSION: Final = re.compile(r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+")
_NAMES: Final = re.compile(r"\$\{?(\w+)")
_ABSOLUTE: Final = re.compile(
    r'"?(?:\$\{?(HOME|PWD|OLDPWD)\b(?![^/"}])\}?|\$\((?:pwd|git rev-parse --show-toplevel)\))(?:/[^$`]*)?"?\Z'
)
_SEQUENCE: Final = re.compile(r"\{[^{},]*\}")
_REFUSAL: Final = "a word known only at run time may become a find action"
_LATE_OPTION: Final = "a word known only at run time may become an option that runs a command"
_MAX_DEPTH: Final = 4


def open_find(argv: tuple[Word, ...]) -> Inner | None:
    """Give what `-exec` and its kin run, and whether it changes what it finds."""
    commands: list[tuple[Word, ...]] = []
    texts, places = [word.text for word in argv], ()
    changes = not CHANGES.isdisjoint(texts)
    for action, begin, end in runs_of(texts):
        commands.append(
            tuple(
                Word("", static=False, may_be_flag=False) if word.static and "{}" in word.text else word
                for word in argv[begin:end]
            )
        )
        if action in IN_DIRECTORIES and any(_names_a_file(word) for word in argv[begin + 1 : end]):
            places = UNTOLD
    if not commands and not changes:
        return None
    first = commands[0] if commands else ()
    doubt = "what find runs is not known" if any(not c or not c[0].static for c in commands) else ""
    refusal = "it runs a command on every file found" if commands else "it deletes or writes what it finds"
    refusal = None if hands_to_readers(argv) else refusal  # what they read is judged with them
    return Inner(first, tuple(commands[1:]), (), refusal, doubt=doubt, places=places)


def _names_a_file(word: Word) -> bool:
    return word.static and word.text[:1] not in ("-", "/", "") and "{}" not in word.text


_FD_RUNS: Final = ("--exec", "--exec-batch")
_FD_VALUED: Final = frozenset("xXtdeEcjSo")  # short options whose value may follow in the same word


def open_fd(argv: tuple[Word, ...]) -> Inner | None:
    """Give what `fd -x` and `fd -X` run; both take every word up to `;` as the command."""
    for index, word in enumerate(argv[1:], start=1):
        text = word.text
        if text == "--":
            return None
        long, _, glued = text.partition("=")
        if long.startswith("--"):
            found = len(long) > len("--ex") and any(name.startswith(long) for name in _FD_RUNS)
        else:
            cut = next((at for at, letter in enumerate(text) if at and letter in _FD_VALUED), 0)
            found = text.startswith("-") and text[cut : cut + 1] in ("x", "X")
            glued = text[cut + 1 :].removeprefix("=")
        if found:
            first = (Word(glued, static=word.static),) if glued else ()
            inner = (*first, *argv[index + 1 :])
            others = tails(inner, 1, options=False)
            doubt = "" if inner and inner[0].static else "what fd runs is not known"
            places = places_of("fd", argv)
            refusal = "it runs a command on every file found"
            return Inner(inner, others, (), refusal, more=True, doubt=doubt, places=places)
    return None


def may_start(base: str, argv: "Sequence[Word]") -> bool:
    """Whether a command that starts others only by some words must be looked at for them more closely."""
    if base == "git":
        return len(argv) > 2 and argv[1].text[:1] == "-"
    return not all(word.static for word in argv)


def _open_find(
    argv: "tuple[Word, ...]", texts: "Sequence[str]", values: "Container[str]", *, more: bool
) -> Inner | None:
    late = list(runtime_actions(argv, texts, values))
    if not late:
        return Inner(refusal=_REFUSAL) if more else None
    others: list[tuple[Word, ...]] = []
    doubt = ""
    for at in late:
        end = next((i for i in range(at + 1, len(argv)) if argv[i].text in _ENDS), 0)
        others += [argv[at + 1 : end]] if end else []
        if (end and argv[at].glob) or _tells_code(texts[at], values):
            doubt = "what find runs is not known"
    return Inner(others=tuple(filter(None, others)), refusal=_REFUSAL, doubt=doubt)


def _open_fd(argv: "tuple[Word, ...]", texts: "Sequence[str]", values: "Container[str]", *, more: bool) -> Inner | None:
    late = [at for at, word in enumerate(argv) if not word.static and word.may_be_flag]
    if not late:
        return Inner(refusal=_LATE_OPTION) if more else None
    others = tails(argv, late[0] + 1, options=False)
    told = any(_tells_code(texts[at], values) or (argv[at].glob and "{" in texts[at]) for at in late)
    places = places_of("fd", argv)
    doubt = "what fd runs is not known" if told else ""
    return Inner(others=others, refusal=_LATE_OPTION, more=True, doubt=doubt, places=places)


def _tells_code(form: str, values: "Container[str]") -> bool:
    """Whether the text itself may have put a whole action into this word."""
    if _is_quoted(form) and "@" not in form:
        return False
    return "$(" in form or "`" in form or any(name in values for name in _NAMES.findall(form))


def runtime_actions(
    argv: "Sequence[Word]", texts: "Sequence[str]", values: "Container[str]" = (), *, paths: bool = True
) -> "Iterator[int]":
    """Where the words stand that may become an action of `find`.

    Args:
        argv: the command.
        texts: its words as written.
        values: names of variables that the text sets.
        paths: also unquoted words such as `$D/src`, which is an action only after blanks in the value.
    """
    for at in _free_words(argv):
        if not _is_absolute(texts[at], values) and _may_become(argv[at], texts[at], paths=paths):
            yield at


def _is_absolute(form: str, values: "Container[str]") -> bool:
    """Whether a word begins with a directory that the shell or git tells."""
    found = _ABSOLUTE.match(form)
    return found is not None and (found[1] is None or found[1] not in values)


def _free_words(argv: "Sequence[Word]") -> "Iterator[int]":
    """The words that the text does not tell and that are not the value of a test."""
    at, aligned = 1, True
    while at < len(argv):
        word = argv[at]
        at += 1
        if not word.static:
            yield at - 1
        elif aligned and (word.text in WITH_VALUE or word.text in NEWER):
            following = argv[at] if at < len(argv) else word
            at += following.static or following.single
        elif word.text[:1] == "-" and word.text not in ALONE and word.text not in LEADING:
            aligned = False


def _may_become(word: "Word", form: str, *, paths: bool) -> bool:
    if not word.may_be_flag:
        return False
    if "$" in form or "`" in form:
        literal = form
        for _ in range(_MAX_DEPTH):
            literal = _EXPANSION.sub("", literal)
        quoted = _is_quoted(form) and "$@" not in form
        return not ("/" in literal and "$" not in literal and "`" not in literal and (quoted or not paths))
    plain = _SEQUENCE.sub(_any_of, form.translate(QUOTES))
    return any(_matches(one) for one in alternatives(plain))


def _is_quoted(form: str) -> bool:
    return form[:1] == form[-1:] == '"' and form.count('"') == 2


def _any_of(found: "re.Match[str]") -> str:
    """`{a..e}` as a star; `{x}` means itself."""
    return "*" if ".." in found[0] else found[0].replace("{", "[{]").replace("}", "[}]")


def _matches(pattern: str) -> bool:
    # Braces in braces, and patterns with parentheses, may be anything from where they begin.
    cut = min((at for at in (pattern.find("{"), pattern.find("(") - 1) if at >= 0), default=-1)
    shell = (pattern if cut < 0 else f"{pattern[:cut]}*").replace("[^", "[!")
    return any(fnmatchcase(action, shell) for action in _ACTIONS)


LATE: Final = {"find": _open_find, **dict.fromkeys(names_of("fd"), _open_fd)}
"""Give a command of which a word may become an action, so that a rule for its name alone does not cover it.

They take the command, its words as written, the names of variables that the text sets, and whether more words arrive
at run time. Only a call that is not proven to read is given to them.
"""
