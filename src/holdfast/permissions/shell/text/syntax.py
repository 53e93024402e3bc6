"""One grammar for shell text: tree-sitter-bash, loaded on first use, with limits that fail closed."""

import re
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree


_ONE_LINE: Final = names(
    "command declaration_command unset_command file_redirect herestring_redirect redirected_statement"
    " variable_assignments"
)
"""What ends with its line for the shell, unless a quote or a bracket is open."""
_DOCUMENT: Final = "heredoc_redirect"
_BLANK: Final = " \t\n"
_ROUNDS: Final = 4


def lines_apart(view: str, data: bytes, tree: "Tree", parse: "Callable[[bytes], Tree]") -> "Tree":
    """Parse again with a `;` at each end of a line that the grammar passed over, for which the shell ends a command."""
    for _ in range(_ROUNDS):
        places = list(_passed_over(view, tree.root_node))
        if not places:
            break
        changed = bytearray(data)
        for place in places:
            changed[place] = ord(";")
        data = bytes(changed)
        again = parse(data)
        if again.root_node.has_error and not tree.root_node.has_error:
            break
        tree = again
    return tree


def _passed_over(view: str, root: "Node") -> "Iterator[int]":
    """The blanks behind the last word of each line that is followed by more of the same command."""
    stack = [root]
    while stack:
        node = stack.pop()
        children = [child for child in node.children if view.find("\n", child.start_byte, child.end_byte) >= 0]
        stack.extend(children)
        if node.type not in _ONE_LINE or any(child.type == _DOCUMENT for child in node.children):
            continue
        yield from _gaps(view, [child for child in node.children if child.type != "comment"])


def _gaps(view: str, words: "list[Node]") -> "Iterator[int]":
    for one, two in pairwise(words):
        start, end = one.end_byte, two.start_byte
        if view.startswith("\n", end):  # the grammar takes it for the begin of `\rm`
            end += 1
        if view.find("\n", start, end) < 0 or view[start] not in _BLANK:
            continue
        lines = (line.strip(_BLANK) for line in view[start:end].split("\n"))
        if all(not line or line[0] == "#" for line in lines):
            yield start


MAX_CHARS: Final = 10_000
"""Longer commands are never run unasked."""
MAX_PARSED_CHARS: Final = 131_072
"""Longer commands are only split roughly, so that deny rules still see every piece in linear time."""
_KIND_NUMBERS: Final = 65_536  # error nodes carry the largest number
MAX_DEPTH: Final = 120
"""Deeper syntax trees are not followed."""

# Categories of syntax nodes; 0 is every kind this analysis does not know and therefore does not trust.
(
    UNKNOWN,
    WORD,
    RAW,
    STRING,
    ANSI,
    CONCAT,
    SIMPLE_EXPANSION,
    EXPANSION,
    COMMAND_SUBSTITUTION,
    PROCESS_SUBSTITUTION,
    ARITHMETIC,
    BRACE,
    DOLLAR,
    OPERATOR_WORD,
    LAST_WORD,
    COMMAND,
    COMMAND_NAME,
    ASSIGNMENT,
    FILE_REDIRECT,
    HEREDOC,
    HERESTRING,
    PIPELINE,
    LIST,
    REDIRECTED,
    SUBSHELL,
    COMPOUND,
    NEGATED,
    FOR,
    C_FOR,
    WHILE,
    DO_GROUP,
    IF,
    ELIF,
    ELSE,
    CASE,
    CASE_ITEM,
    FUNCTION,
    TEST,
    DECLARATION,
    UNSET,
    ASSIGNMENTS,
    TOKEN,
    COMMENT,
    PROGRAM,
    ERROR,
    ARRAY,
    SUBSCRIPT,
) = range(47)

_TOKENS: Final = names(
    "; & && || | |& ( ) { } (( )) [[ ]] [ ] for select in while until do done if then fi elif else case"
    " esac function ! declare typeset export readonly local unset"
)
_BY_NAME: Final = {
    "word": WORD,
    "number": WORD,
    "raw_string": RAW,
    "string": STRING,
    "ansi_c_string": ANSI,
    "concatenation": CONCAT,
    "simple_expansion": SIMPLE_EXPANSION,
    "expansion": EXPANSION,
    "command_substitution": COMMAND_SUBSTITUTION,
    "process_substitution": PROCESS_SUBSTITUTION,
    "arithmetic_expansion": ARITHMETIC,
    "brace_expression": BRACE,
    "$": DOLLAR,
    "==": OPERATOR_WORD,
    "=~": OPERATOR_WORD,
    "command": COMMAND,
    "command_name": COMMAND_NAME,
    "variable_assignment": ASSIGNMENT,
    "variable_assignments": ASSIGNMENTS,
    "file_redirect": FILE_REDIRECT,
    "heredoc_redirect": HEREDOC,
    "herestring_redirect": HERESTRING,
    "pipeline": PIPELINE,
    "list": LIST,
    "redirected_statement": REDIRECTED,
    "subshell": SUBSHELL,
    "compound_statement": COMPOUND,
    "negated_command": NEGATED,
    "for_statement": FOR,
    "c_style_for_statement": C_FOR,
    "while_statement": WHILE,
    "do_group": DO_GROUP,
    "if_statement": IF,
    "elif_clause": ELIF,
    "else_clause": ELSE,
    "case_statement": CASE,
    "case_item": CASE_ITEM,
    "function_definition": FUNCTION,
    "test_command": TEST,
    "declaration_command": DECLARATION,
    "unset_command": UNSET,
    "comment": COMMENT,
    "program": PROGRAM,
    "array": ARRAY,
    "subscript": SUBSCRIPT,
    **dict.fromkeys(_TOKENS, TOKEN),
}


class Grammar(NamedTuple):
    """The loaded parser; per node kind number, this module's category."""

    parser: "Parser"
    kinds: bytes


_grammar: Grammar | None = None


def grammar() -> Grammar:
    """Load the grammar once."""
    global _grammar  # noqa: PLW0603 - the lazily loaded grammar is the one piece of module state
    if _grammar is None:
        from tree_sitter import Language, Parser  # noqa: PLC0415 - loaded only where it is used

        language = Language(_bash())
        kinds = bytearray(_KIND_NUMBERS)
        for number in range(language.node_kind_count):
            kinds[number] = _BY_NAME.get(language.node_kind_for_id(number) or "", UNKNOWN)
        _grammar = Grammar(Parser(language), bytes(kinds))
    return _grammar


def _bash() -> object:
    """The grammar of bash, from the compiled half of its package.

    The other half only reads texts for editors, and loads twenty modules for it, which a first command would pay.
    """
    package = PathFinder.find_spec("tree_sitter_bash")
    found = package and PathFinder.find_spec("_binding", package.submodule_search_locations)
    if found is None or found.loader is None:  # the package is made another way
        import tree_sitter_bash  # noqa: PLC0415 - see above

        return tree_sitter_bash.language()
    binding: Any = module_from_spec(found)
    found.loader.exec_module(binding)
    return binding.language()


def ready(command: str) -> tuple[str, bytes]:
    """Make shell text ready for the parser: a view of it, and the bytes to parse.

    The view has one character per byte, so that the parser's byte offsets index it directly; for ASCII text it is the
    text itself.
    """
    if command.isascii():
        return command, command.encode("ascii")
    view = command.encode("utf-8", "surrogatepass").decode("latin-1")
    return view, _NOT_ASCII.sub(_stand_in, command).encode()


_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")


def _stand_in(found: re.Match[str]) -> str:
    """Give as many bytes of a character that is no letter, digit or space.

    The grammar's own scanner looks characters up in the C library's tables: large numbers read outside of them, which
    can end the process, and letters depend on the locale. For bash all of these are the same: part of a word.
    """
    code = ord(found.group())
    return "\u00d7" if code < 0x800 else "\u00d7%" if code < 0x10000 else "\u00d7\u00d7"


def parse(data: bytes) -> "Tree":
    """Parse; the grammar recovers from errors, so there is always a tree."""
    return (_grammar or grammar()).parser.parse(data)


_TIMED: Final = re.compile(r"(?<![^\s;&({])(time(?: -p)?)[ \t]+(?=\(|\{\s|\[\[\s|!\s|(?:for|while|until|if|case)\s)")
_BODIES: Final = names(
    "program list compound_statement subshell do_group if_statement elif_clause else_clause while_statement"
    " case_item command_substitution process_substitution"
)


def tree_of(text: str) -> tuple[str, "Tree"]:
    """Give the view of a shell text and its tree.

    The grammar takes `time` for a command, and what follows for its arguments. In front of a group or a loop it is read
    as a command of its own, `time; { …; }`: nothing else in the text changes, and what is timed is seen whole. It also
    takes a line for more words of the one before it, see `lines_apart`.
    """
    view, data = ready(text)
    tree = _timed(view, data) if "time" in text else parse(data)
    return view, lines_apart(view, data, tree, parse) if "\n" in text.strip() else tree


def _timed(view: str, data: bytes) -> "Tree":
    places = [found.span(1) for found in _TIMED.finditer(view)]
    if places:
        changed = bytearray(data)
        for _, end in places:
            changed[end] = ord(";")
        tree = parse(bytes(changed))
        root = tree.root_node
        if not root.has_error and all(_stands_alone(root, *place) for place in places):
            return tree
    return parse(data)


def _stands_alone(root: "Node", start: int, end: int) -> bool:
    """Whether the `time` between these places is a whole command where the shell takes it for its keyword."""
    word, sign = root.descendant_for_byte_range(start, start + 4), root.descendant_for_byte_range(end, end + 1)
    name = word.parent if word is not None else None
    command = name.parent if name is not None and name.type == "command_name" else None
    if command is None or command.end_byte != end or command.start_byte != start or command.parent is None:
        return False
    return command.parent.type in _BODIES and sign is not None and sign.type == ";"


_COSTLY: Final = {
    "<<": 16,
    "=(": 60,
    "()": 100,
    "=~": 200,
    "|": 300,
    "${": 300,
    "for": 300,
    "case": 300,
    ")": 600,
    "{": 3_000,
}
"""Tokens for which the grammar's time grows with the square of their number, and how many are still quick."""


_ALWAYS_QUICK: Final = 256


def too_costly(command: str) -> str | None:
    """Say why this text is not given to the parser, or None."""
    if len(command) > MAX_PARSED_CHARS:
        return f"it is {len(command)} characters long"
    if len(command) < _ALWAYS_QUICK:
        return None
    for token, limit in _COSTLY.items():
        if command.count(token) > limit:
            return f"it holds more than {limit} times {token!r}"
    return None


def hides_continuation(command: str) -> bool:
    """Whether a backslash-newline stands where the shell keeps it: in quotes, comments or here-documents."""
    view, data = ready(command)
    root = parse(data).root_node
    stack = [root]
    while stack:
        node = stack.pop()
        name = node.type
        text = view[node.start_byte : node.end_byte]
        if name == "comment" and text.endswith("\\"):
            return True
        if name in ("raw_string", "heredoc_body", "heredoc_start", "ansi_c_string") and "\\\n" in text:
            return True
        if "\\\n" in text or name == "program":
            stack.extend(node.children)
    return root.has_error
