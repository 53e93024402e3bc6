"""What arguments of a program hold: files that an option or a small language names, and texts that it runs.

`strace -o f` and `openssl -out f` write what they are told to, sed's `r` and awk's `getline` read, and
`tar --to-command='rm x'` runs a text. Roughly, for rules and protected paths: nothing is allowed because of it.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.permissions.shell.programs.builtins import BUILTINS
from holdfast.permissions.shell.programs.operands import inside, option_values, spellings
from holdfast.permissions.shell.programs.parsers.awk import awk_files, program_refusal
from holdfast.permissions.shell.programs.parsers.git import git_front
from holdfast.permissions.shell.programs.parsers.sed import ScriptFiles, script_of, script_refusal, sed_files
from holdfast.permissions.shell.programs.program import git_having, having, is_interpreter, names_of, told, words_told
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.quoting import known_literal, rough_pieces
from holdfast.permissions.shell.words.word import names

_AWK: Final = names_of("awk")
SCRIPTED: Final = names_of("sed") | _AWK
"""Programs with a small language of their own."""
_OUT: Final = (
    *("-o", "--output", "--output-file", "--output-dir", "--output-directory", "--out", "--outfile", "--out-file"),
    *("--outdir", "--out-dir", "--log-file", "--logfile", "--save-to", "--dump-to"),
)
_ONE_DASH: Final = names("-out -output -outfile -outdir -keyout -logfile -Logfile -csr -crl_out -sigfile -writerand")
"""Long options that start with one dash."""
_NO_FILE: Final = having("o-is-no-file")
"""Programs to which `-o` says something else, or whose outputs other tables name."""
_OUTPUTS: Final = {name: tuple(text.split()) for name, text in told("outputs").items()}
"""Further options that name a file or a directory to write."""
_GIT_WRITES: Final = git_having("writes-named")
_EDITORS: Final = having("vi")
_SAVES: Final = re.compile(
    r"(?:^\+?|[|:])[ \t]*(?:w|wq|x|xit|up|update|write|sav|saveas)!?[ \t]+(?:>>[ \t]*)?([^\s|]+)"
)
"""What an editor is told to write, in its own commands."""
_FIRST: Final = having("writes-first")
_LAST: Final = having("writes-last")
_COPYING_SUBCOMMAND: Final = having("in-container")
"""Of those, programs that only write with `cp`."""
_IN_PLACE: Final = {name: text.split() for name, text in told("rewrites-with").items()}
"""Programs that rewrite the files they are given, and the words with which they do."""
_ARCHIVING: Final = having("archives")
_ONLY_SAYS: Final = names("--check --diff --check-only --dry-run --list-different -l -n")
TELLING: Final = (
    SCRIPTED | _LAST | _ARCHIVING | frozenset(_IN_PLACE) | _EDITORS | _FIRST | having("edits-named") | {"git"}
)
"""Programs that are told what to write without an option."""


def outputs_of(part: "Part") -> "Iterator[str]":
    """What the options of a command name as its output."""
    if part.refusal is None or not part.texts:
        return
    name, texts = part.name, part.texts
    options = _OUTPUTS.get(name, ())
    if name not in _NO_FILE:
        options = (*_OUT, *options)
    if options and any(text[:1] == "-" for text in texts):
        yield from filter(None, option_values(part, options))
    yield from (texts[at + 1] for at, text in enumerate(texts[:-1]) if text in _ONE_DASH)
    if name == "git":
        yield from _of_git(part)
    if name in _EDITORS:
        yield from (found[1] for text in texts[1:] for found in _SAVES.finditer(text))
    yield from _by_operands(part)
    if name in _FIRST:
        yield from next(([text] for text in texts[1:] if text[:1] != "-"), ())


def _by_operands(part: "Part") -> "Iterator[str]":
    """What a program writes because it stands among its operands; in a directory, anything."""
    name, texts = part.name, part.texts
    operands = [text for text in texts[1:] if text[:1] != "-"]
    found: list[str] = []
    if name in _LAST and (name not in _COPYING_SUBCOMMAND or "cp" in texts):
        found = [place for place in operands[1:][-1:] if ":" not in place]
    elif name in _IN_PLACE and _ONLY_SAYS.isdisjoint(texts):
        needed = _IN_PLACE[name]
        found = operands if not needed or not set(needed).isdisjoint(texts) else []
    elif name in _ARCHIVING and operands[:1] and operands[0][:1] in ("a", "u", "d", "r", "q"):
        found = operands[1:2]
    for place in found:
        yield place
        yield inside(place)


def _of_git(part: "Part") -> "Iterator[str]":
    """Files of the working directory that a git command removes, moves or brings back, and directories it makes."""
    texts, front = part.texts, git_front([known_literal(text) for text in part.texts[1:]])
    at = front.end + 1
    subcommand, rest = (texts[at], texts[at + 1 :]) if at < len(texts) else ("", ())
    places = [word.text for word in front.values("-C")] or [""]
    operands = [text for text in rest if text[:1] != "-"]
    if subcommand == "config":
        operands = list(option_values(part, ("-f", "--file")))
    elif subcommand in ("checkout", "reset", "stash"):
        operands = list(rest[rest.index("--") + 1 :]) if "--" in rest else []
    elif subcommand in ("worktree", "bundle", "submodule"):
        operands = operands[1:]
    elif subcommand not in _GIT_WRITES:
        return
    for name in operands:
        yield from (posixpath.join(place, name) for place in places)
        yield from (posixpath.join(place, name, "x") for place in places if subcommand in ("rm", "mv", "clean"))


def handed_texts(part: "Part") -> "tuple[str, ...]":
    """Texts that the small language of a command gives to a shell."""
    return () if (opened := _opened_by_script(part)) is None else opened.commands


def writes_untold(part: "Part") -> bool:
    """Whether a script in a command may write a file whose name is not in the text."""
    return (opened := _opened_by_script(part)) is not None and not opened.understood


def _opened_by_script(part: "Part") -> "ScriptFiles | None":
    """What the script of a command does that is not proven to read; None where there is no script."""
    if part.refusal is None or part.name not in SCRIPTED:
        return None
    if part.name in _AWK:
        return awk_files(part.argv[1:])
    script = script_of(part.argv[1:])
    return ScriptFiles(understood=script is not None) if not script else sed_files(script)


_SED: Final = names_of("sed")
_SCRIPTED: Final = _SED | names_of("awk")
"""Programs of which most scripts run nothing: those count that are not proven to."""
_CODE: Final = names("-c -e -E -r -p -pe -ne -le --eval --print --run --command -Command")
_TAKING: Final = words_told("runs-text")
_STARTING: Final = (
    *("system", "exec", "popen", "spawn", "proc", "shell", "passthru", "pty", "pipe", "fork", "open3", "getoutput"),
    *("run(", "command(", "sh import", "fileutils", "`", "qx", "%x", "$(", '"|', "'|", '|"', "|'", "{|", "|}"),
)
"""What stands in the code of an interpreter that starts a program; other code may speak of `rm` and runs none."""
_OBEYS_BANG: Final = having("obeys-bang")
_MAKE: Final = names_of("make")
_EDITOR_STARTS: Final = ("!", "system", "term", "job", "exe", "lua", "py", "perl", "ruby", "tcl", "make", "grep")
_MAKE_PROGRAMS: Final = names(
    "SHELL .SHELLFLAGS AR AS CC CPP CXX FC LD RM MAKE INSTALL LEX YACC LINT GET CO PC M2C TEX MAKEINFO TANGLE WEAVE"
)
"""Variables of make whose value is a command by its own rules; of others only the makefile knows."""
_JOINTS: Final = str.maketrans({"=": "\n", "[": "\n", "]": "\n", ":": "\n", "!": "\n", ",": "\n"})


def handed_pieces(parts: "Iterable[Part]") -> tuple[str, ...]:
    """Rough pieces of texts that programs run themselves, for deny and ask rules only."""
    found: list[str] = []
    for part in parts:
        if part.refusal is None:
            continue
        if part.name in _TAKING or is_interpreter(part.name):
            texts = (text for text in _handed(part) if _may_start(part.name, text))
        elif part.name in _SCRIPTED:
            texts = _scripts(part)
        else:
            continue
        for text in texts:
            found += rough_pieces(text.translate(_JOINTS))
    return tuple(dict.fromkeys(found)) if found else ()


def _handed(part: "Part") -> "Iterator[str]":
    options = _TAKING.get(part.name, _CODE)
    before = ""
    for word in part.argv[1:]:
        text = word.text
        if " " in text or before in options:
            yield text
            if text[:1] == "-" and text[1:2] != "-":
                yield text[2:]  # the value is glued to its option
        elif "=" in text and text.partition("=")[0] in options:
            yield text.partition("=")[2]
        before = text


def _may_start(name: str, text: str) -> bool:
    """Whether a program that is given this text may start another because of it."""
    if is_interpreter(name):
        return text.isalnum() or any(mark in text.lower() for mark in _STARTING)
    if name in _EDITORS:
        return any(mark in text for mark in _EDITOR_STARTS)
    if name in _OBEYS_BANG:
        return text[:1] in ("+", "!")
    variable, equals, _ = text.partition("=")
    if equals and name in _MAKE and text[0] != "-" and "$" not in text:
        return variable.rstrip(":+?! ") in _MAKE_PROGRAMS
    return True


def _scripts(part: "Part") -> "Iterator[str]":
    is_sed = part.name in _SED
    refusal = script_refusal if is_sed else program_refusal
    for word in part.argv[1:]:
        text = word.text
        starts = is_sed or "system" in text or "@" in text or "|" in text.replace("||", "")
        if " " in text and starts and refusal(text) is not None:
            yield text


PROGRAM_FIRST: Final = _SED | _AWK | {"jq"}
"""Commands whose first word is a program, and files follow."""
_OTHERWISE: Final = having("options-tell-no-files")
_MARKED: Final = re.compile(r"@|--[a-z0-9-]+=")
_SED_FILE: Final = re.compile(r"(?:\A|[\s;{}!0-9$/I])[rR][ \t]*([^\s][^\n]*)")
_STRING: Final = re.compile(r"\"([^\"\\\n]{1,400})\"|'([^'\\\n]{1,400})'")
_AWK_OPENS: Final = re.compile(r"getline|ARGV|@include|@load")
_AWK_VALUE: Final = re.compile(r"\A(?:-v)?[A-Za-z_][A-Za-z0-9_]*=(.+)\Z")
_JQ_FILE: Final = re.compile(r"-[A-Za-z]*f|--from-file\Z")
_AWK_END: Final = re.compile(r"[;}\n|)]")
_ONE_STRING: Final = re.compile(r"\"[^\"\\]*\"\s*\Z")


def named_in_program(part: "Part") -> "Iterator[str]":
    """The files that the words of a command may name inside a program, or where its table does not look."""
    if part.refusal is None:
        return
    name = part.name
    texts = [word.text for word in part.argv[1:] if word.static]
    if not part.cover and name not in _OTHERWISE and name not in BUILTINS:
        for text in filter(_MARKED.match, texts):
            yield from spellings(text)
    if name == "jq" and any(map(_JQ_FILE.match, texts)):
        yield from texts
    for text in texts:
        if name in _SED:
            yield from (found[1].strip() for found in _SED_FILE.finditer(text))
        elif is_interpreter(name):
            yield from _strings(text)
        elif name in _AWK:
            yield from _strings(text) if _AWK_OPENS.search(text) else ()
            yield from (found[1] for found in _AWK_VALUE.finditer(text))


def _strings(code: str) -> "Iterator[str]":
    yield from (found[1] or found[2] for found in _STRING.finditer(code))


def opens_untold(part: "Part") -> bool:
    """Whether an awk program reads files whose names it makes itself."""
    if part.name not in _AWK or part.refusal is None:
        return False
    for word in part.argv[1:]:
        if word.static and ("ARGV" in word.text or any(map(_is_made, word.text.split("getline")[1:]))):
            return True
    return False


def _is_made(rest: str) -> bool:
    """Whether what follows a `getline` takes its lines from anything but one file that is named there."""
    _, reads, source = _AWK_END.split(rest, maxsplit=1)[0].partition("<")
    return bool(reads) and _ONE_STRING.match(source.strip()) is None
