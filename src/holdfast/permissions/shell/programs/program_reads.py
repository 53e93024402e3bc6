"""Files that programs given as text open by a name in that text: sed's `r`, awk's `getline`, strings in code.

Roughly, for deny and ask rules alone, and only for commands that are not proven to read no more than they name.
"""

import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.operands import spellings
from holdfast.permissions.shell.programs.program import having, is_interpreter, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.permissions.shell.words.parts import Part

__all__ = ["PROGRAM_FIRST", "named_in_program", "opens_untold"]

_SED: Final = names_of("sed")
_AWK: Final = names_of("awk")
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
    from holdfast.permissions.shell.programs.builtins import BUILTINS  # noqa: PLC0415 - the tables load with the first command

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
