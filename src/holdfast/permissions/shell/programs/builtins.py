"""Which built-in commands of bash only look, with which arguments."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.words.word import Word, names

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CERTAIN_PIECE: Final = r"""[A-Za-z0-9_./,:=@%+*?~^-]|'[^']*'|"[^"$`\\]*\""""
COUNT: Final = re.compile(
    rf"\$\((?:(?:2>&1|2> ?/dev/null|{_CERTAIN_PIECE}|[ \t<])+\|[ \t]*(?![ \t]))*"
    rf"wc -[lcwm](?: *< *(?:{_CERTAIN_PIECE})+)? *\)\Z"
)
"""A substitution whose output is one number: one pipe that ends in `wc`, and nothing else that prints."""
_NAMED: Final = r"\$[A-Za-z_][A-Za-z0-9_]*(?![A-Za-z0-9_])"
_ONE_WORD: Final = re.compile(
    rf"""\$\((?:(?:(?:2>&1|2> ?/dev/null|{_CERTAIN_PIECE}|{_NAMED}|"{_NAMED}"|[ \t<])+\|[ \t]*(?![ \t]))+wc -[lcwm]"""
    r"|nproc|id -[ug]|date \+%s|git rev-list --count [A-Za-z0-9_][A-Za-z0-9_./~^@]*"
    r"""|grep -c (?:'(?!-)[^']*'|"(?!-)[^"$`\\]*"|[A-Za-z0-9_]+) [A-Za-z0-9_./][A-Za-z0-9_./-]*)\)\Z"""
)
"""More of these. `[` takes any text for a number and evaluates none; what it must not get is a further word."""
_STORES: Final = re.compile(r"%[-+ #0'*.0-9$hlLjzt]*n")
_SET_FLAGS: Final = re.compile(r"[-+][euxo]+\Z")
_SET_OPTIONS: Final = frozenset({"pipefail", "errexit", "nounset", "xtrace"})
_UNARY: Final = names("-a -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S -z -n")
_BINARY: Final = names("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef < >")
_SAFE_READ_NAMES: Final = names("A B C D E F G H I J K L M N O P Q R S T U V W X Y Z FILE DIR LINE NAME REPLY _")


SPLITTING: Final = frozenset({"[", "test", "printf"})
"""Built-ins in which a further word may be an operator that evaluates text."""


def splitting(name: str, argv: "Sequence[Word]", texts: "Sequence[str]") -> bool:
    """Whether an unquoted expansion may give a test or printf further words, and with them operators that run code."""
    if name == "printf":
        argv, texts = argv[1:2], texts[1:2]
    return any(
        not word.static and word.may_be_flag and not (_is_quoted(text) or COUNT.match(text) or _ONE_WORD.match(text))
        for word, text in zip(argv, texts, strict=True)
    )


GOES: Final = frozenset({"cd", "pushd", "popd"})
"""Built-ins that go to another directory."""
FILLS: Final = frozenset({"read", "mapfile", "readarray"})
"""Built-ins that put what they read into variables."""
EVALUATING: Final = names(
    "printf read test [ unset declare typeset local export readonly let wait mapfile readarray getopts"
)
"""Built-ins that evaluate the index in a name they are given, with the commands in it, although it stands in quotes."""


def evaluates(argv: "Sequence[Word]", texts: "Sequence[str]") -> bool:
    """Whether a quoted word holds an index with a command in it: `read 'a[$(date)]'` runs date."""
    return any(
        "[" in text and (word.static or "='" in text) and _holds_index(word.text if word.static else text)
        for word, text in zip(argv[1:], texts[1:], strict=False)
    )


def _holds_index(text: str) -> bool:
    """Whether a substitution starts behind an opening bracket."""
    opened = text.find("[")
    return "$(" in text[opened:] or "`" in text[opened:] or "${" in text[opened:]


def _is_quoted(text: str) -> bool:
    """Whether a word stays one word: an array or `$@` becomes several in quotes too."""
    return len(text) > 1 and text[0] == text[-1] == '"' and "@" not in text


def _free(_args: "Sequence[Word]") -> str | None:
    return None


def _never(reason: str) -> "Callable[[Sequence[Word]], str | None]":
    def refuse(_args: "Sequence[Word]") -> str | None:
        return reason

    return refuse


def _only(pattern: str, reason: str) -> "Callable[[Sequence[Word]], str | None]":
    """A judge of a built-in that only looks while each of its words is certain and fits."""
    fits = re.compile(pattern, re.DOTALL).fullmatch

    def judge(args: "Sequence[Word]") -> str | None:
        return None if all(word.static and fits(word.text) for word in args) else reason

    return judge


def settable(name: str) -> bool:
    """Whether `read` and its kin may set this variable without changing what other commands do."""
    if name in _SAFE_READ_NAMES:
        return True
    return _IDENTIFIER.match(name) is not None and not name.isupper() and name.strip("_0123456789") != ""


def _printf(args: "Sequence[Word]") -> str | None:
    if not args:
        return None
    first = args[0]
    if first.static:
        if first.text.startswith("-v"):
            return "printf -v sets a variable and evaluates its name"
        if first.text == "--":
            return _printf_format(args[1:])
        return _printf_format(args) if not first.text.startswith("-") else "an option of printf is not known"
    if first.may_be_flag and (len(args) > 1 or first.glob):
        return "the format of printf is not known and may be an option"
    return _printf_format(args)


def _printf_format(args: "Sequence[Word]") -> str | None:
    """Refuse `%n`, which sets the variable that an argument names, such as PATH."""
    if not args:
        return None
    if args[0].static:
        return "printf %n sets a variable" if _STORES.search(args[0].text.replace("%%", "")) else None
    if args[0].glob or any(not word.static or _IDENTIFIER.match(word.text) for word in args[1:]):
        return "the format of printf is not known and may set a variable"
    return None


def _cd(args: "Sequence[Word]") -> str | None:
    for word in args:
        if word.static and word.text.startswith("-") and word.text not in ("-", "--", "-L", "-P", "-e", "-n"):
            return "an option of cd is not known"
    return None


_READ_VALUED: Final = "dnNptu"


def _read(args: "Sequence[Word]") -> str | None:
    index, ended = 0, False
    while index < len(args):
        word = args[index]
        if not word.static:
            return "read sets a variable whose name is not known"
        text = word.text
        if not ended and text == "--":
            ended = True
        elif not ended and text.startswith("-") and len(text) > 1:
            step, refusal = _read_option(text, args, index)
            if refusal is not None:
                return refusal
            index += step
        elif not settable(text):
            return f"read sets the variable {text}"
        index += 1
    return None


def _read_option(text: str, args: "Sequence[Word]", index: int) -> tuple[int, str | None]:
    for position, letter in enumerate(text[1:], start=2):
        if letter in "rs":
            continue
        if letter not in _READ_VALUED:
            return 0, f"the option -{letter} of read is not known"
        if text[position:]:
            return 0, None
        if index + 1 < len(args) and not args[index + 1].static:
            return 0, "an argument of read is not known"
        return 1, None
    return 0, None


def _test(args: "Sequence[Word]") -> str | None:
    words = list(args)
    segments: list[list[Word]] = [[]]
    for word in words:
        if word.static and word.text in ("-a", "-o") and segments[-1]:
            segments.append([])
        elif not (word.static and word.text in ("(", ")", "!")):
            segments[-1].append(word)
    for segment in segments:
        refusal = _test_segment(segment)
        if refusal is not None:
            return refusal
    return None


def _test_segment(segment: "list[Word]") -> str | None:
    unsure = "a test whose operator is not known may evaluate text as code"
    for word in segment:
        if word.glob:
            return unsure
    if len(segment) <= 1:
        return None
    if len(segment) == 2:
        return None if segment[0].static and segment[0].text in _UNARY else unsure
    if len(segment) == 3 and segment[1].static and segment[1].text in _BINARY:
        return None
    return unsure


def _bracket(args: "Sequence[Word]") -> str | None:
    if not args or not args[-1].static or args[-1].text != "]":
        return "a test without its closing bracket"
    return _test(args[:-1])


def _set(args: "Sequence[Word]") -> str | None:
    if not args:
        return "it prints every variable"
    for word in args:
        if not word.static or not (_SET_FLAGS.match(word.text) or word.text in _SET_OPTIONS):
            return "it changes how the shell works"
    return None if not args[-1].text.endswith("o") else "it prints or changes how the shell works"


def _kill(args: "Sequence[Word]") -> str | None:
    if args and args[0].static and args[0].text in ("-l", "-L"):
        return None
    return "it sends a signal"


def _command(args: "Sequence[Word]") -> str | None:
    if args and args[0].static and args[0].text in ("-v", "-V", "-pv", "-pV"):
        return None if all(word.static or not word.may_be_flag for word in args) else _lookup(args)
    return None if not args else "it runs another command"


def _lookup(args: "Sequence[Word]") -> str | None:
    return None if args[0].text in ("-v", "-V") else "an argument of command is not known"


_SETS: Final = "it sets or prints variables of the shell"
BUILTINS: Final["Mapping[str, Callable[[Sequence[Word]], str | None]]"] = {
    **dict.fromkeys([":", "true", "false", "echo", "pwd", "dirs", "times", "caller", "type"], _free),
    **dict.fromkeys(["exit", "return", "break", "continue", "shift", "logout"], _free),
    **dict.fromkeys(GOES, _cd),
    **dict.fromkeys(["export", "declare", "typeset", "local", "readonly", "unset", "let", "getopts"], _never(_SETS)),
    **dict.fromkeys(["mapfile", "readarray"], _never("it sets a variable or runs a callback")),
    **dict.fromkeys(["alias", "unalias"], _never("it changes what command names mean")),
    "enable": _never("it changes what command names mean"),
    **dict.fromkeys(["source", "."], _never("it runs a file as a script")),
    **dict.fromkeys(["shopt", "bind", "complete", "compopt"], _never("it changes how the shell works")),
    **dict.fromkeys(["fg", "bg", "disown", "suspend"], _never("it controls jobs")),
    **dict.fromkeys(["history", "fc"], _never("it may write the history file or run it")),
    "printf": _printf,
    "read": _read,
    "test": _test,
    "[": _bracket,
    "set": _set,
    "ulimit": _only("-[a-zA-Z]+", "it changes limits"),
    "umask": _only("-[Sp]", "it changes the umask"),
    "jobs": _only("-[lnprs]+", "jobs may run a command"),
    "wait": _only(r"\d+|-[nf]|%.*", "an argument of wait is not known"),
    "compgen": _only("-[abckdfug]|(?!-).*", "compgen may run code"),
    "kill": _kill,
    "command": _command,
    "help": _only("(?!-).*", "an option is not known"),
    "hash": _never("it changes what command names mean"),
}
"""By name: why the built-in with these arguments is not read-only, or None."""


def plain_builtins(free: "CommandFacts") -> "dict[str, Callable[[Sequence[str], bool], CommandFacts | None]]":
    """Judges of built-ins whose every word is certain; None leaves it to `BUILTINS`."""
    harmless = {name for name, judge in BUILTINS.items() if judge is _free}

    def always(_texts: "Sequence[str]", _piped: bool) -> "CommandFacts | None":  # noqa: FBT001 - hot
        return free

    def test(texts: "Sequence[str]", _piped: bool) -> "CommandFacts | None":  # noqa: FBT001 - hot
        usual = len(texts) == 3 and texts[1] in _UNARY and texts[1] != "-a" and texts[2] not in _TEST_SIGNS
        return free if usual else None

    none = dict.fromkeys(BUILTINS, _leave_open)
    return none | dict.fromkeys(harmless, always) | {"test": test}


_TEST_SIGNS: Final = frozenset({"-a", "-o", "(", ")", "!"})


def _leave_open(_texts: "Sequence[str]", _piped: bool) -> "CommandFacts | None":  # noqa: FBT001 - hot
    return None
