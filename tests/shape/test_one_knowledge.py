"""What a program does is said in its entry, and nowhere else in permissions/."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.permissions.shell.programs.program import PROGRAMS

ROOM = Path(__file__).parents[2] / "src" / "holdfast" / "permissions"
ENOUGH = 3
"""So many known programs in one literal are a table of programs."""
BUILTINS = "shell/programs/builtins.py"
"""What bash itself does, one program: each of its built-ins has a function there."""
OTHER_WORDS = {
    "modes.py": ("Row", "TABLE"),
    "shell/judge/powershell.py": ("_ALIASES",),
    "shell/programs/arguments.py": ("_EDITOR_STARTS",),
    "shell/reach/git_config.py": ("_BOOLEAN",),
    "shell/reach/searches.py": ("_TYPES",),
    "shell/risk/outward.py": ("_LOOKS", "_FORGE_LOOKS"),
    "shell/text/analysis.py": ("_KNOWN",),
}
"""Names of literals whose words are no programs: kinds of rows, PowerShell's aliases, columns, subcommands, texts."""


def words_of(node: ast.AST) -> Iterator[str]:
    """The words that a literal holds: its items, its keys, or those of one text."""
    held: list[ast.expr | None] = []
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        held = [*node.elts]
    elif isinstance(node, ast.Dict):
        held = [*node.keys]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "names":
        held = [*node.args]
    for one in held:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield from one.value.split()
        elif isinstance(one, ast.Starred):
            yield from words_of(one.value)


def names_given(statement: ast.stmt) -> list[str]:
    """What a statement of a module names: a variable or a class."""
    if isinstance(statement, ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def tables_in(text: str, other_words: tuple[str, ...] = ()) -> Iterator[tuple[int, list[str]]]:
    for statement in ast.parse(text).body:
        if not set(other_words).isdisjoint(names_given(statement)):
            continue
        for node in ast.walk(statement):
            found = sorted({word for word in words_of(node) if word in PROGRAMS})
            if len(found) >= ENOUGH:
                yield getattr(node, "lineno", 0), found


def test_no_module_has_a_table_of_programs() -> None:
    found: list[str] = []
    for path in sorted(ROOM.rglob("*.py")):
        name = str(path.relative_to(ROOM))
        if name != BUILTINS:
            tables = tables_in(path.read_text("utf-8"), OTHER_WORDS.get(name, ()))
            found += [f"{name}:{line} lists {', '.join(names[:6])}; say it in their entries" for line, names in tables]
    assert found == []


def test_no_exception_is_stale() -> None:
    for name, variables in OTHER_WORDS.items():
        text = (ROOM / name).read_text("utf-8")
        for variable in variables:
            others = tuple(one for one in variables if one != variable)
            assert list(tables_in(text, others)), f"{variable} of {name} needs no exception any more"


@pytest.mark.parametrize(
    "text", ["X = {'curl', 'wget', 'ssh'}", "X = names('rm mv cp')", "X = {'tar': 1, 'zip': 2, 'ar': 3}"]
)
def test_the_search_sees_a_table(text: str) -> None:
    assert len(list(tables_in(text))) == 1


ONE_PLACE = {
    "-execdir": ("shell/programs/parsers/find.py", "one taking apart of a find call"),
    "--work-tree": ("shell/programs/parsers/git.py", "one taking apart of a git call"),
    "def parse_options": ("shell/programs/tool_table.py", "one notation of options"),
    "def brace_words": ("shell/words/patterns.py", "one expander of braces"),
}
"""A text without which nobody can do the work, and the only module that has it."""


@pytest.mark.parametrize("text", ONE_PLACE)
def test_what_is_read_in_one_place_is_read_nowhere_else(text: str) -> None:
    place, what = ONE_PLACE[text]
    having = [str(path.relative_to(ROOM)) for path in sorted(ROOM.rglob("*.py")) if text in path.read_text("utf-8")]
    readers = [name for name in having if text[:2] != "--" or _says(ROOM / name, text)]
    assert readers == [place], what


def _says(path: Path, text: str) -> bool:
    """Whether the text stands in a literal of the module that is no documentation."""
    tree = ast.parse(path.read_text("utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and text in node.value
        for node in ast.walk(tree)
        if id(node) not in documentation
    )


MOST_FILES = 16
"""Of a room; only the folder of entries may have more."""


def test_no_room_has_more_files_than_a_reader_can_hold_in_mind() -> None:
    rooms = [
        ROOM,
        *(place for place in ROOM.rglob("*") if place.is_dir() and place.name not in ("entries", "__pycache__")),
    ]
    crowded = {str(room.relative_to(ROOM)): len(list(room.glob("*.py"))) for room in rooms}
    assert {name: count for name, count in crowded.items() if count > MOST_FILES} == {}
