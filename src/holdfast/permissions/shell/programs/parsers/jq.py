"""jq and yq: filters that only look at their input, never at the environment or at other files."""

from collections.abc import Sequence

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.tool_table import TOOLS
from holdfast.permissions.shell.words.word import Word

JQ = TOOLS["jq"]
YQ = TOOLS["yq"]
_REFUSED = frozenset({"env", "$ENV", "import", "include", "modulemeta", "get_search_list", "$__prog_args", "$"})
"""A `$` alone: jq 1.6 takes `$ ENV` for `$ENV`."""
_YQ_LETTERS = frozenset(" .[]|()\"'_-,*:=!<>/?@{}+")
_YQ_REFUSED = ("env", "load", "eval", "system", "input")
_PAIRS = ("--arg", "--argjson", "--slurpfile", "--rawfile")


def filter_refusal(program: str, *, from_text: bool = False) -> str | None:
    """Return why a jq filter is not read-only, or None; `from_text`: its strings are shown as code."""
    at = 0
    opened: list[str] = []
    while at < len(program):
        letter = program[at]
        if letter == '"':
            end = _string_end(program, at + 1)
            if end < 0:
                return "jq filter: a string has no end"
            if "\\(" in program[at:end] and (
                reason := filter_refusal(_inner(program[at + 1 : end - 1]), from_text=True)
            ):
                return reason
            at = end
        elif letter == "#":
            at = _comment_end(program, at)
            if at < 0:
                return "jq filter: a comment that goes on in the next line for some versions"
        elif letter.isalpha() or letter in "_$":
            end = _word_end(program, at + 1)
            is_key = opened[-1:] == ["{"] and not from_text and _is_key(program, at, end)
            if program[at:end] in _REFUSED and program[at - 1 : at] != "." and not is_key:
                return f"jq filter: {program[at:end]!r} may read the environment or other files"
            at = end
        elif letter == "\\":
            return "jq filter: a backslash outside a string"
        else:
            _note_bracket(opened, letter)
            at += 1
    return None


def _word_end(program: str, at: int) -> int:
    while at < len(program) and (program[at].isalnum() or program[at] == "_"):
        at += 1
    return at


def _comment_end(program: str, at: int) -> int:
    """Return where a comment ends; -1 when versions disagree, since a backslash ends its line."""
    end = program.find("\n", at)
    if end < 0:
        return len(program)
    return -1 if program[end - 1] == "\\" else end


def _note_bracket(opened: list[str], letter: str) -> None:
    if letter in "([{":
        opened.append(letter)
    elif letter in ")]}" and opened:
        opened.pop()


def _is_key(program: str, start: int, end: int) -> bool:
    """Whether `env`, directly inside braces, only names a key of the object: `{name, env: .environment}`."""
    before, after = program[:start].rstrip(), program[end:].lstrip()
    return program[start:end] == "env" and before[-1:] in ("{", ",") and after[:1] == ":" and after[:2] != "::"


def _inner(text: str) -> str:
    """Show the text of a string with interpolation as code, so that its words are checked."""
    return text.replace("\\(", "(").replace('\\"', " ").replace('"', " ").replace("\\", " ").replace("#", " ")


def _string_end(program: str, at: int) -> int:
    """Return the index after the closing quote, taking interpolations with their own strings as part of it."""
    depth = 0
    while at < len(program):
        if program.startswith("\\(", at):
            depth, at = depth + 1, at + 2
            continue
        letter = program[at]
        if letter == "\\":
            at += 1
        elif depth and letter in "()":
            depth += 1 if letter == "(" else -1
        elif letter == '"' and not depth:
            return at + 1
        elif letter == '"':
            at = _string_end(program, at + 1) - 1
            if at < 0:
                return -1
        at += 1
    return -1


def inspect_jq(args: "Sequence[Word]") -> CommandFacts:
    """Judge a `jq` call."""
    words = _without_second_values(args)
    found = scan(JQ, words)
    program, files = found.operands[:1], found.operands[1:]
    if found.has("--args", "--jsonargs"):
        files = found.operands[1 : _before_arguments(words)]
    if program and not program[0].static:
        found.refuse("the jq filter is only known at run time")
    elif program and (reason := filter_refusal(program[0].text)):
        found.refuse(reason)
    for word in files:
        found.note_path(word, "file")
    for at, word in enumerate(args[:-2]):
        if word.static and word.text in ("--slurpfile", "--rawfile"):
            found.note_path(args[at + 2], "file")
    return found.facts()


def _before_arguments(words: "Sequence[Word]") -> int:
    """How many operands stand before `--args` or `--jsonargs`: those are files, the later ones are not."""
    last = max(at for at, word in enumerate(words) if word.text in ("--args", "--jsonargs"))
    return len(scan(JQ, words[:last]).operands)


def _without_second_values(args: "Sequence[Word]") -> "list[Word]":
    """Drop the second value of `--arg NAME VALUE` and its kin when it is a literal."""
    kept: list[Word] = []
    at = 0
    while at < len(args):
        word = args[at]
        kept.append(word)
        at += 1
        if word.static and word.text == "--":  # what follows are files, whatever they are called
            return [*kept, *args[at:]]
        if word.static and word.text in _PAIRS:
            kept.extend(args[at : at + 1])
            value = args[at + 1 : at + 2]
            if value and not value[0].static and value[0].may_be_flag:
                kept.extend(value)
            at += 2
    return kept


def inspect_yq(args: "Sequence[Word]") -> CommandFacts:
    """Judge a `yq` call: only plain path expressions pass."""
    found = scan(YQ, args)
    operands = found.operands
    if operands and operands[0].static and operands[0].text in ("e", "eval", "ea", "eval-all"):
        operands = operands[1:]
    program, files = operands[:1], operands[1:]
    if not program and not found.has("-V", "-h"):
        found.refuse("yq has no expression")
    for word in program:
        allowed = word.static and all(letter.isalnum() or letter in _YQ_LETTERS for letter in word.text)
        if not allowed or any(name in word.text for name in _YQ_REFUSED):
            found.refuse("the yq expression is more than a plain path")
    for word in files:
        found.note_path(word, "file")
    return found.facts()
