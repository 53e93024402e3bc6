"""Names of tools and modes stand in one table; a second copy would go its own way."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast.tools
from holdfast.contract import Tool
from holdfast.contract.names import ALIASES, BUILTIN_NAMES, BY_STRICTNESS, MODES, RETIRED

SOURCE = Path(__file__).parents[2] / "src" / "holdfast"
TABLE = SOURCE / "contract" / "names.py"
COPIES = {
    "modes": (frozenset(MODES), len(MODES) - 1),
    "older names": (frozenset(ALIASES), 2),
    "retired names": (frozenset(RETIRED), 2),
    "tools": (BUILTIN_NAMES, len(BUILTIN_NAMES) // 2),
}
"""What stands in the table, and how much of it elsewhere is a copy."""


def texts_in(node: ast.AST) -> set[str]:
    """The texts that one list, set, tuple, dict or `Literal` holds directly."""
    held: list[ast.expr | None] = []
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        held = [*node.elts]
    elif isinstance(node, ast.Dict):
        held = [*node.keys]
    return {one.value for one in held if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def copies_in(text: str) -> Iterator[tuple[int, str]]:
    """Where a list repeats the table; what a tool says of its own older names is compared with it below."""
    tree = ast.parse(text)
    own = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) and names_aliases(node)}
    for node in ast.walk(tree):
        texts = set[str]() if id(node) in own else texts_in(node)
        for what, (names, enough) in COPIES.items():
            if len(texts & names) >= enough:
                yield getattr(node, "lineno", 0), what


def names_aliases(node: ast.Assign) -> bool:
    return [ast.unparse(target) for target in node.targets] == ["aliases"]


def built_in_tools() -> Iterator[type[Tool]]:
    for found in pkgutil.walk_packages(holdfast.tools.__path__, "holdfast.tools."):
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Tool) and value.__module__ == module.__name__:
                yield value


def test_no_other_module_has_a_copy_of_the_table() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line} lists {what}; take them from contract/names.py"
        for path in sorted(SOURCE.rglob("*.py"))
        if path != TABLE
        for line, what in copies_in(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("X = {'LS': 'Glob', 'MultiEdit': 'Edit'}", "retired names"),
        ("X = ('Task', 'KillShell')", "older names"),
        ("X = Literal['default', 'plan', 'acceptEdits', 'auto', 'dontAsk']", "modes"),
    ],
)
def test_the_search_sees_a_copy(text: str, what: str) -> None:
    assert [found for _, found in copies_in(text)] == [what]


def test_every_older_name_of_a_tool_is_in_the_table() -> None:
    told: dict[str, str] = {}
    for tool in built_in_tools():
        if "name" in vars(tool):
            told |= {alias if isinstance(alias, str) else alias.name: tool.name for alias in tool.aliases}
    assert told.items() <= ALIASES.items()


def test_the_table_fits_together() -> None:
    assert set(ALIASES.values()) | set(RETIRED.values()) <= BUILTIN_NAMES
    assert not BUILTIN_NAMES & {*ALIASES, *RETIRED}
    assert sorted(BY_STRICTNESS) == sorted(MODES)
