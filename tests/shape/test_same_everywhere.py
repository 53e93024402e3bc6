"""What decides means the same on every supported Python."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "holdfast"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "demo_project" not in path.parts)
USES_OF_PATTERNS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
NOT_EVERYWHERE = {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
"""CPython 3.11.0 to 3.11.4 match these wrongly."""
MADE_OF_THESE = {"fnmatch", "glob"}


def module_of(path: Path) -> ModuleType | None:
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    if name.endswith("__main__"):
        return None
    return importlib.import_module(name)


def patterns_in(path: Path) -> Iterator[str | bytes]:
    """Every pattern that the module hands to `re`; what only a run tells stands for a letter."""
    module = module_of(path)
    known: dict[str, Any] = vars(module) if module is not None else {}
    for value in list[object](known.values()):
        if isinstance(value, re.Pattern):
            yield cast("re.Pattern[str] | re.Pattern[bytes]", value).pattern
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        if node.func.attr in USES_OF_PATTERNS and ast.unparse(node.func.value) == "re":
            yield from texts_of(node.args[0], known)


def texts_of(node: ast.expr, known: dict[str, Any]) -> Iterator[str | bytes]:
    try:
        value = eval(compile(ast.Expression(node), "pattern", "eval"), dict(known))
    except Exception:  # noqa: BLE001 - it uses names of a function: its fixed pieces are what can be read
        value = "".join(piece_of(piece) for piece in ast.walk(node))
    if isinstance(value, (str, bytes)):
        yield value


def piece_of(node: ast.AST) -> str:
    if isinstance(node, ast.FormattedValue):
        return "x"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def operators_of(pattern: str | bytes) -> set[str]:
    try:
        return set(re.findall(r"[A-Z_]{4,}", str(re._parser.parse(pattern).data)))  # type: ignore[attr-defined]
    except re.error:
        rough = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
        return NOT_EVERYWHERE if re.search(r"(?<!\\)[*+?}]\+|\(\?>", rough) else set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_pattern_uses_what_some_pythons_match_wrongly(path: Path) -> None:
    for pattern in patterns_in(path):
        assert NOT_EVERYWHERE.isdisjoint(operators_of(pattern)), pattern


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_uses_a_library_that_makes_such_patterns(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        assert MADE_OF_THESE.isdisjoint(names), "holdfast.lib.name_glob does the same everywhere"


@pytest.mark.parametrize("pattern", ["a*+", "a++", "a?+", "a{1,2}+", "(?>a)", "x(?:b|(?=c*+))"])
def test_the_check_finds_them(pattern: str) -> None:
    assert not NOT_EVERYWHERE.isdisjoint(operators_of(pattern))
