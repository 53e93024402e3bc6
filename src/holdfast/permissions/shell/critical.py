"""Removals that are asked about in every mode: the root, home, the project itself, its parents, `.git`."""

import os
import posixpath
import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.roads import alternatives
from holdfast.permissions.shell.parts import SHELL_CWD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.permissions.shell.analysis import Analysis
    from holdfast.permissions.shell.parts import Part
    from holdfast.permissions.shell.words import Word

_REMOVERS: Final = frozenset({"rm", "rmdir", "unlink", "shred", "srm", "rimraf", "trash", "trash-put", "del"})
_EXPANSION: Final = re.compile(r"\$\{([A-Za-z_]\w*)[^}]*\}|\$([A-Za-z_]\w*)|\$\([^()]*\)|`[^`]*`|\$[@*0-9#?!$-]")
_DEFAULT: Final = re.compile(r"\$\{\w+:?[-=+]([^}]*)\}")
_QUOTES: Final = str.maketrans("", "", "'\"\\")
_WHOLE: Final = frozenset({"*", ".*", "**", "{*,.*}", "{.*,*}", ".[!.]*", "..?*"})
_HOMES: Final = re.compile(r"/(?:home|Users)/[^/]+\Z|/root\Z")


def critical_removal(analysis: "Analysis", *, cwd: str | None = None) -> str | None:
    """Say which removal must always be asked about, or None.

    Args:
        analysis: the command.
        cwd: the directory it starts in; without it, only `.` and `..` and absolute paths are judged.
    """
    for part in analysis.parts:
        for form, word in _targets(part):
            forms = alternatives(form) if word.glob and "${" not in form else [form]
            for one in forms:
                reason = _critical(one, word, part, cwd)
                if reason is not None:
                    return f"{part.name} would remove {reason}"
    return None


def _targets(part: "Part") -> "Iterator[tuple[str, Word]]":
    forms, words = part.texts, part.argv
    if part.name in _REMOVERS:
        ended = False
        for form, word in zip(forms[1:], words[1:], strict=True):
            if word.static and word.text == "--" and not ended:
                ended = True
            elif ended or not word.text.startswith("-"):
                yield form, word
    elif part.name == "find" and any(
        word.text == "-delete" or (word.text in ("-exec", "-execdir", "-ok", "-okdir") and _runs_rm(words, number))
        for number, word in enumerate(words)
    ):
        narrowed = any(
            word.text in ("-name", "-iname", "-path", "-regex", "-type", "-mtime", "-size") for word in words
        )
        for form, word in zip(forms[1:], words[1:], strict=True):
            if word.text.startswith("-") or word.text in ("(", "!"):
                break
            if not narrowed or word.text.rstrip("/") in ("", "~") or posixpath.normpath(word.text) == "/":
                yield form, word
    elif (
        part.name == "git"
        and "clean" in (word.text for word in words[1:3])
        and any("x" in w.text[:4] for w in words[2:])
    ):
        return


def _runs_rm(words: "tuple[Word, ...]", number: int) -> bool:
    return number + 1 < len(words) and posixpath.basename(words[number + 1].text) in _REMOVERS


def _expand(form: str, home: str, cwd: str | None) -> str:
    def value(found: "re.Match[str]") -> str:
        name = found.group(1) or found.group(2) or ""
        if name == "HOME":
            return home
        if name in ("PWD", "OLDPWD") or found.group() in ("$(pwd)", "`pwd`"):
            return cwd or "."
        default = _DEFAULT.fullmatch(found.group())
        return default.group(1) if default else ""

    text = _EXPANSION.sub(value, form).translate(_QUOTES)
    if text == "~" or text.startswith("~/"):
        text = home + text[1:]
    elif text.startswith("~"):
        text = "/"
    return text


def _critical(form: str, word: "Word", part: "Part", cwd: str | None) -> str | None:
    home = os.path.expanduser("~")
    raw = word.text if word.static else form
    dynamic = not word.static and _EXPANSION.search(form) is not None
    text = raw if word.static else _expand(form, home, cwd)
    if not text:
        return None
    if dynamic and not text.startswith(("/", ".")) and text.strip("*/.") == "":
        return f"everything under an expansion that may be empty ({form})"
    directories = part.cwds if part.cwds is not None else (None,)
    for directory in directories:
        base = cwd if directory == SHELL_CWD else directory
        if base is not None and cwd is not None and not base.startswith("/"):
            base = posixpath.join(cwd, base)
        reason = _judge(text, base, cwd, home)
        if reason is not None:
            return f"{reason} ({form})"
    return None


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
    if path.count("/") == 1 and (not whole or path != "/tmp"):  # noqa: S108 - a place to protect, not to write to
        return "a directory at the top of the file system"
    if path == home or _HOMES.match(path):
        return "a home directory"
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
