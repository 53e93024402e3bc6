"""Removals that are asked about in every mode: the root, home, the project itself, its parents, `.git`."""

import os
import posixpath
import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.roads import alternatives
from holdfast.permissions.shell.late_actions import late_actions
from holdfast.permissions.shell.parts import SHELL_CWD
from holdfast.permissions.shell.values import (
    FROM_STDIN,
    STDIN,
    Spelling,
    Target,
    Values,
    narrows,
    printed_by,
    teller_of,
    tells_below,
)
from holdfast.permissions.shell.words import names

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from holdfast.permissions.shell.analysis import Analysis
    from holdfast.permissions.shell.parts import Part
    from holdfast.permissions.shell.words import Word

_REMOVERS: Final = frozenset({"rm", "rmdir", "unlink", "shred", "srm", "rimraf", "trash", "trash-put", "del"})
_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WHOLE: Final = frozenset({"*", ".*", "**", "{*,.*}", "{.*,*}", ".[!.]*", "..?*"})
_HOMES: Final = re.compile(r"/(?:home|Users)/[^/]+\Z|/root\Z")
_SYSTEM: Final = names(
    "bin boot dev etc home lib lib32 lib64 media mnt opt proc root sbin srv sys usr var Users Library System"
    " Applications Volumes"
)
"""What lies at the top of file systems; an expansion that may be empty counts only in front of one of these."""


def critical_removal(analysis: "Analysis", *, cwd: str | None = None) -> str | None:
    """Say which removal must always be asked about, or None.

    Args:
        analysis: the command.
        cwd: the directory it starts in; without it, only `.` and `..` and absolute paths are judged.
    """
    home = os.path.expanduser("~")
    for number, part in enumerate(analysis.parts):
        if part.name not in _REMOVERS and part.name != "find":
            continue
        untold = _untold(analysis, part)
        if untold is not None:
            return f"{part.name} would remove whatever {untold} names, which is not known before it runs"
        values = Values(analysis.values, home, cwd)
        for target in _targets(analysis, number):
            for spelling in values.spellings(target.form, static=target.static):
                reason = _critical(spelling, part, cwd, home)
                if reason is not None and (not target.narrowed or reason in _EVEN_IN_PART):
                    return f"{part.name} would remove {reason} ({target.form})"
            if values.exhausted:
                return f"{part.name} would remove one of too many places to follow ({target.form})"
    return None


def _targets(analysis: "Analysis", number: int) -> "Iterator[Target]":
    part = analysis.parts[number]
    if part.name == "find":
        yield from _found(part, analysis.values)
        return
    ended = False
    for form, word in zip(part.texts[1:], part.argv[1:], strict=True):
        if word.static and word.text == "--" and not ended:
            ended = True
        elif ended or not word.text.startswith("-"):
            forms = alternatives(form) if word.glob and "${" not in form else [form]
            yield from (Target(word.text if word.static else one, word.static) for one in forms)
    if part.more:
        yield Target(FROM_STDIN, static=False)
        teller = teller_of(analysis.parts, part.parent)
        if teller is not None:
            yield from printed_by(teller)


def _untold(analysis: "Analysis", part: "Part") -> str | None:
    """What decides which directories go, when that is the content of a file or another program's answer."""
    if part.name == "find" or not any(_recursive(text) for text in part.texts[1:]):
        return None
    if part.more:
        return None if STDIN in analysis.values or _is_told(analysis.parts, part.parent) else "its input"
    for form, word in zip(part.texts[1:], part.argv[1:], strict=True):
        if not word.static and (source := _source(form, analysis)):
            return source
    return None


def _is_told(parts: "tuple[Part, ...]", number: int) -> bool:
    """Whether the names that reach this command come from one that tells them, perhaps by way of filters."""
    if parts[number].redirects:
        return False
    while number > 0 and parts[number].piped:
        number -= 1
        part = parts[number]
        if tells_below(part) or part.name in _TELLERS:
            return True
        if part.name not in _SELECTING or part.reads or part.reads_unknown or part.redirects:
            return False
    return False


def _recursive(text: str) -> bool:
    return text == "--recursive" or (text[:1] == "-" and text[1:2] != "-" and not {"r", "R"}.isdisjoint(text))


def _source(form: str, analysis: "Analysis") -> str | None:
    """The file or program that a whole word comes from, or None when the text tells more."""
    whole = _WHOLE_WORD.fullmatch(form)
    if whole is None:
        return None
    name = whole["name"]
    if name is None:
        return form.strip('"') if _ANSWERS.match(form) else None
    for value in analysis.values.get(name, ()):
        if value == FROM_STDIN:
            return None if STDIN in analysis.values else "its input"
        if _ANSWERS.match(value):
            return value.strip('"')
    return None


_TELLERS: Final = frozenset({"echo", "printf", "find", "ls"})
_SELECTING: Final = names("grep egrep fgrep head tail tr sort uniq cat tee")
_WHOLE_WORD: Final = re.compile(r'"?(?:\$\{?(?P<name>[A-Za-z_]\w*)(?:\[[@*]\])?\}?|\$\([^()]*\)|`[^`]*`)"?/?\*?')
_ANSWERS: Final = re.compile(
    r'"?(?:\$\(|`)\s*(?:<|(?:cat|tac|head|tail|sed|awk|cut|tr|jq|yq|grep|sort|uniq|paste|curl|wget)(?=\s)(?![^|)]*\s-\w*l))'
)


def _found(part: "Part", values: "Container[str]") -> "Iterator[Target]":
    """Where `find` removes, when it does."""
    words = part.argv
    removes = any(
        word.text == "-delete" or (word.text in _RUNS and _runs_rm(words, number)) for number, word in enumerate(words)
    )
    if not removes and (part.words is None or not any(late_actions(words, part.texts, values, paths=False))):
        return
    narrowed, some = narrows(part.texts), False
    for form, word in zip(part.texts[1:], words[1:], strict=True):
        if word.text in ("-H", "-L", "-P"):  # these stand in front of the places
            continue
        if word.text.startswith("-") or word.text in ("(", "!"):
            break
        some = True
        yield Target(word.text if word.static else form, word.static, narrowed)
    if not some:
        yield Target(".", static=True, narrowed=narrowed)


def _runs_rm(words: "tuple[Word, ...]", number: int) -> bool:
    return number + 1 < len(words) and posixpath.basename(words[number + 1].text) in _REMOVERS


def _critical(spelling: "Spelling", part: "Part", cwd: str | None, home: str) -> str | None:
    text = spelling.text
    if not text:
        return None
    if spelling.guessed and not text.startswith(("/", ".")) and text.strip("*/.") == "":
        return "everything under an expansion that may be empty"
    top = _TOP.match(text) if spelling.guessed else None
    if top is not None and top[1].strip(".") and top[1] not in _SYSTEM:
        return None
    directories = part.cwds if part.cwds is not None else (None,)
    for directory in directories:
        base = cwd if directory == SHELL_CWD else directory
        if base is not None and cwd is not None and not base.startswith("/"):
            base = posixpath.join(cwd, base)
        reason = _judge(text, base, cwd, home)
        if reason is not None:
            return reason
    return None


_TOP: Final = re.compile(r"/++([^/*?\[]++)/*+\**+\Z")
_EVEN_IN_PART: Final = frozenset({"the whole file system", "a home directory"})


def _judge(text: str, base: str | None, cwd: str | None, home: str) -> str | None:
    folder, _, last = text.rstrip("/").rpartition("/")
    whole = last in _WHOLE
    target = (folder or ("/" if text.startswith("/") else ".")) if whole else text
    if not target.startswith("/"):
        if base is None:
            plain = posixpath.normpath(target)
            if plain == ".git" or plain.endswith("/.git"):
                return "the repository's history"
            return "everything in a directory that is not known" if whole or plain.startswith("..") else _dot(plain)
        target = posixpath.join(base, target)
    path = posixpath.normpath(target)
    path = path[1:] if path.startswith("//") else path
    return _place(path, cwd, home, whole=whole)


def _dot(plain: str) -> str | None:
    return "the directory it runs in" if plain == "." else None


def _place(path: str, cwd: str | None, home: str, *, whole: bool) -> str | None:
    if path == "/":
        return "the whole file system"
    if path == home or _HOMES.match(path):
        return "a home directory"
    if path.count("/") == 1 and (not whole or path != "/tmp"):  # noqa: S108 - a place to protect, not to write to
        return "a directory at the top of the file system"
    if cwd is not None:
        here = posixpath.normpath(cwd)
        if path == here:
            return "everything in the working directory" if whole else "the working directory"
        if here.startswith(path.rstrip("/") + "/"):
            return "a parent of the working directory"
    if home.startswith(path.rstrip("/") + "/"):
        return "a parent of the home directory"
    if posixpath.basename(path) == ".git":
        return "the repository's history"
    return None
