"""Removals that are asked about in every mode: the root, home, the project itself, its parents, `.git`."""

import os
import posixpath
import re
from collections.abc import Container, Iterator
from typing import Final

from holdfast.permissions.shell.programs.parsers.find import (
    Target,
    narrows,
    picks_history,
    printed_by,
    removes,
    starts_of,
    teller_of,
    tells_below,
)
from holdfast.permissions.shell.programs.parsers.finders import runtime_actions
from holdfast.permissions.shell.programs.program import having
from holdfast.permissions.shell.risk.places import EVEN_IN_PART, SYSTEM, Ground
from holdfast.permissions.shell.text.analysis import Analysis, analyse
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.values import FROM_STDIN, STDIN, Spelling, Values
from holdfast.permissions.shell.words.word import has_option

_QUOTING: Final = b"'\"\\"
_NAMES: Final = (
    *sorted(having("deletes"), key=len),
    *("wipe", "wipefs", "mkfs", "-delete", "--delete", "removedirs", "rmtree", "remove_tree", "rm_r", "rm_rf"),
    *("rmSync", "rmdirSync", "unlinkSync"),
)
_FOLLOWED: Final = {"del": rb"(?=\s+[-/~.$*{])"}  # it is a word of programming languages too
_LOOKS: Final = tuple(
    # The name first: a pattern that begins with letters is searched for many times as fast.
    (name.encode(), re.compile(b"%b(?<![\\w-]%b)(?![\\w-])%b" % (*(name.encode(),) * 2, _FOLLOWED.get(name, b""))))
    for name in _NAMES
)
_GIT: Final = re.compile(rb"git(?<![\w-]git)(?![\w-])|clean(?<![\w-]clean)(?![\w-])")
_GIT_OPTIONS: Final = 300
"""How far in front of `clean` the `git` may stand."""


def rough_removal(command: str) -> str | None:
    """Give a word of the text that may remove files, wherever and however quoted it stands, or None.

    For text of which nobody knows what it runs: the answer may be wrong, and nothing is allowed because of it.
    """
    data = command.encode("utf-8", "surrogatepass")
    found = _removal_in(data.translate(None, _QUOTING))
    if found is None and b"\\\n" in data:  # a line that goes on may be one word, or end in an escaped backslash
        found = _removal_in(data.replace(b"\\\n", b"").translate(None, _QUOTING))
    return found


def _removal_in(plain: bytes) -> str | None:
    for name, word in _LOOKS:
        if name in plain and word.search(plain):
            return name.decode()
    return "git clean" if b"git" in plain and b"clean" in plain and _cleans(plain) else None


def _cleans(plain: bytes) -> bool:
    git = -_GIT_OPTIONS
    for found in _GIT.finditer(plain):
        if found.group() == b"git":
            git = found.end()
        elif found.start() - git < _GIT_OPTIONS:
            return True
    return False


SHELLS: Final = having("shell")
RUNNING: Final = having("shell", "evaluates")
_MAX_ROWS: Final = 8
_TELLING: Final = having("prints-words")
_ESCAPES: Final = str.maketrans({"\\": " "})  # `\n` in a format ends a line


def indirect_scripts(analysis: "Analysis", number: int, values: "Values") -> "Iterator[str]":
    """What `x='rm a'; eval $x`, `sh -c "$x"` and `echo 'rm a' | sh` run, as far as the text tells."""
    part = analysis.parts[number]
    if part.words is not None and not all(word.static for word in part.words):
        yield from _spelled(part, values)
    while analysis.parts[number].parent >= 0:
        number = analysis.parts[number].parent
    teller = teller_of(analysis.parts, number) if part.piped and part.name in SHELLS else None
    if teller is not None and teller.name in _TELLING:
        yield from _spelled(teller, values)
        yield from (word.text.translate(_ESCAPES) for word in teller.argv[1:])


def _spelled(part: "Part", values: "Values") -> "Iterator[str]":
    """The arguments in every spelling, and all of them in a row."""
    row = [""]
    for form, word in zip(part.texts[1:], part.argv[1:], strict=True):
        texts = [one.text for one in values.spellings(word.text if word.static else form, static=word.static)]
        yield from texts if not word.static else ()
        row = [f"{before} {text}" for before in row[:_MAX_ROWS] for text in texts[:_MAX_ROWS]] or row
    yield from row


_REMOVERS: Final = having("deletes")
_MAX_SCRIPTS: Final = 64


def critical_removal(analysis: "Analysis", *, cwd: str | None = None) -> str | None:
    """Which removal must always be asked about; without `cwd` only `.`, `..` and absolute paths are judged."""
    ground: Ground | None = None
    for number, part in enumerate(analysis.parts):
        hidden = not part.name and part.dynamic_name
        if part.name in RUNNING:
            ground = ground or Ground(analysis, os.path.expanduser("~"), cwd)
            told = _told(analysis, number, ground, cwd)
            if told is not None:
                return told
        if part.name not in _REMOVERS and part.kind != "remove" and part.name != "find" and not hidden:
            continue
        untold = _untold(analysis, part)
        if untold is not None:
            return f"{part.name} would remove whatever {untold} names, which is not known before it runs"
        ground = ground or Ground(analysis, os.path.expanduser("~"), cwd)
        for target in _spelled_out(part, ground) if hidden else _targets(analysis, number):
            reason = _reason(target, part, ground)
            if reason is not None:
                return f"{part.name or part.texts[0]} would remove {reason} ({target.form})"
    if not analysis.parsed or analysis.unread:
        return _unseen(analysis)
    return _by_lines(analysis, cwd) if analysis.doubt and "\n" in analysis.command else None


def _by_lines(analysis: "Analysis", cwd: str | None) -> str | None:
    """What a line of a doubted text removes when it is read alone: the text may have been cut at the wrong places."""
    lines = dict.fromkeys(line.strip() for line in analysis.command.split("\n"))
    suspects = [line for line in lines if rough_removal(line)]
    if len(suspects) > _MAX_SCRIPTS:
        return f"{analysis.doubt}, and it has too many lines that may remove something"
    return next(filter(None, (critical_removal(analyse(line, cwd=cwd), cwd=cwd) for line in suspects)), None)


def _told(analysis: "Analysis", number: int, ground: Ground, cwd: str | None) -> str | None:
    """What a script removes that a variable or a pipe hands to a shell, or None."""
    told = (script.strip(" ;&|") for script in indirect_scripts(analysis, number, ground.values))
    scripts = dict.fromkeys(script for script in told if rough_removal(script))
    scripts.pop(analysis.command, None)
    if len(scripts) > _MAX_SCRIPTS:
        return f"{analysis.parts[number].name} would run one of too many scripts to follow"
    found = (critical_removal(analyse(script, cwd=cwd), cwd=cwd) for script in scripts)
    return next(filter(None, found), None)


def _unseen(analysis: "Analysis") -> str | None:
    """Why a text that was not understood whole may remove something that matters, or None."""
    texts = analysis.unread if analysis.parsed else (analysis.command,)
    word = next(filter(None, map(rough_removal, texts)), None)
    doubt = analysis.doubt or "some of the text cannot be parsed"
    return None if word is None else f"{doubt}, so nobody knows what {word} would remove"


def _reason(target: Target, part: "Part", ground: "Ground") -> str | None:
    """What matters about the places that a target may stand for."""
    for spelling in ground.values.spellings(target.form, static=target.static):
        reason = _critical(spelling, part, ground, wild=not target.static)
        if reason is not None and (not target.narrowed or reason in EVEN_IN_PART):
            return reason
    return "one of too many places to follow" if ground.values.exhausted else None


def _targets(analysis: "Analysis", number: int) -> "Iterator[Target]":
    part = analysis.parts[number]
    if part.name == "find":
        yield from _found(part, analysis.values)
        return
    yield from _operands(part)
    if part.more:
        yield Target(FROM_STDIN, static=False)
        teller = teller_of(analysis.parts, part.parent)
        if teller is not None:
            yield from printed_by(teller)
            if teller.name == "find" and picks_history(teller.texts, trees=has_option(part.texts, "rR", "--recursive")):
                yield Target(".git", static=True)


def _operands(part: "Part") -> "Iterator[Target]":
    ended = False
    for form, word in zip(part.texts[1:], part.argv[1:], strict=True):
        if word.static and word.text == "--" and not ended:
            ended = True
        elif ended or not word.text.startswith("-"):
            yield Target(word.text if word.static else form, word.static)


def _spelled_out(part: "Part", ground: Ground) -> "Iterator[Target]":
    """What is removed by a command whose name the text puts together: `$(echo rm) -rf /`, `x='rm -rf /'; $x`."""
    form = part.texts[0]
    words = [word for one in ground.values.spellings(form, static=False) for word in one.text.split()]
    others = [word for word in dict.fromkeys(words) if posixpath.basename(word) not in _REMOVERS]
    if len(others) < len(set(words)):
        yield from (Target(word, static=False) for word in others if not word.startswith("-"))
    elif rough_removal(form) is None:
        return
    yield from _operands(part)


def _untold(analysis: "Analysis", part: "Part") -> str | None:
    """What decides which directories go, when that is the content of a file or another program's answer."""
    if part.name == "find" or not has_option(part.texts, "rR", "--recursive"):
        return None
    if part.more:
        return None if STDIN in analysis.values or _is_told(analysis.parts, part.parent) else "its input"
    for form, word in zip(part.texts[1:], part.argv[1:], strict=True):
        if not word.static and (source := _source(form, analysis)):
            return source
    return None


def _is_told(parts: "tuple[Part, ...]", number: int) -> bool:
    """Whether the names that reach this command come from one that tells them, perhaps by way of filters."""
    if parts[number].reads_file:
        return False
    while number > 0 and parts[number].piped:
        number -= 1
        part = parts[number]
        if tells_below(part) or part.name in _TELLERS:
            return True
        if part.name not in _SELECTING or part.reads or part.reads_unknown or part.reads_file:
            return False
    return False


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


_TELLERS: Final = having("tells-names")
_SELECTING: Final = having("selects")
_WHOLE_WORD: Final = re.compile(r'"?(?:\$\{?(?P<name>[A-Za-z_]\w*)(?:\[[@*]\])?\}?|\$\([^()]*\)|`[^`]*`)"?/?\*?')
_ANSWERS: Final = re.compile(
    r'"?(?:\$\(|`)\s*(?:<|(?:cat|tac|head|tail|sed|awk|cut|tr|jq|yq|grep|sort|uniq|paste|curl|wget)(?=\s)(?![^|)]*\s-\w*l))'
)


def _found(part: "Part", values: "Container[str]") -> "Iterator[Target]":
    """Where `find` removes, when it does."""
    words = [word.text for word in part.argv]
    if not removes(words) and (
        part.words is None or not any(runtime_actions(part.argv, part.texts, values, paths=False))
    ):
        return
    narrowed = narrows(part.texts)
    if picks_history(part.texts, trees="-delete" not in part.texts):
        yield Target(".git", static=True)
    starts = starts_of(words)
    for at in starts:
        word = part.argv[at]
        yield Target(word.text if word.static else part.texts[at], word.static, narrowed)
    if not starts:
        yield Target(".", static=True, narrowed=narrowed)


def _critical(spelling: "Spelling", part: "Part", ground: "Ground", *, wild: bool) -> str | None:
    text = spelling.text
    if not text:
        return None
    if spelling.guessed and not text.startswith(("/", ".")) and text.strip("*/.") == "":
        return "everything under an expansion that may be empty"
    top = _TOP.match(text) if spelling.guessed else None
    if top is not None and top[1].strip(".") and top[1] not in SYSTEM:
        return None
    for base in ground.bases(part):
        reason = ground.places.judge(text, base, wild=wild)
        if reason is not None:
            return reason
    return ground.judge_moved(text, part, wild=wild)


_TOP: Final = re.compile(r"/+([^/*?\[]+)/*\**\Z")
