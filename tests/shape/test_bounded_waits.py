"""No test waits without a limit: one lost signal or one child that stays must not hold the whole suite for ever."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "src" / "holdfast" / "testing").rglob("*.py")])
KIT = "src/holdfast/testing/started.py"
VIRTUAL = {"src/holdfast/testing", "tests/testing/test_clock.py"}
"""Waits in virtual time end by `Deadlock`."""
WAITS = {"wait", "join", "communicate"}
PAUSE = "signal." + "pause()"
RUNS = {"run", "check_output", "check_call", "call"}


def unbounded(tree: ast.AST, *, virtual: bool = False) -> Iterator[str]:
    """Each wait in this text that nothing ends."""
    bounded = {id(inner) for node in ast.walk(tree) for outer in _limits(node) for inner in ast.walk(outer)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            yield from (f"{item.lineno}: with Popen" for item in map(_called, node.items) if _name(item) == "Popen")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and PAUSE in node.value:
            yield f"{node.lineno}: a flag and then a pause: the signal in between is lost"
        elif isinstance(node, ast.Call) and id(node) not in bounded and not virtual and _is_wait(node):
            yield f"{node.lineno}: {ast.unparse(node)[:80]}"


def _limits(node: ast.AST) -> list[ast.AST]:
    """What stands under a limit: the argument of `wait_for`, the body of `asyncio.timeout`."""
    if isinstance(node, ast.Call) and _name(node) == "wait_for":
        return list(node.args)
    if isinstance(node, ast.AsyncWith) and any(_name(_called(item)) == "timeout" for item in node.items):
        return list(node.body)
    return []


def _called(item: ast.withitem) -> ast.expr:
    return item.context_expr


def _name(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_wait(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    words = {word.arg for word in call.keywords}
    if call.func.attr in WAITS:
        return not (call.args or words)
    owner = ast.unparse(call.func.value)
    if owner == "subprocess" and call.func.attr in RUNS:
        return "timeout" not in words and None not in words
    return owner == "os" and call.func.attr in {"wait", "waitpid"} and "WNOHANG" not in ast.unparse(call)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_wait_has_a_limit_and_only_the_kit_holds_processes(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    virtual = any(name.startswith(place) for place in VIRTUAL)
    found = list(unbounded(ast.parse(path.read_text("utf-8")), virtual=virtual))
    assert found == [], "use holdfast.testing.started, or give the wait a limit"
    starts = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if _name(node) == "Popen"]
    assert name == KIT or starts == [], "use holdfast.testing.started"


@pytest.mark.parametrize(
    "text",
    [
        "process.wait()",
        "thread.join()",
        "process.communicate()",
        "subprocess.run(['x'])",
        "os.waitpid(3, 0)",
        "with subprocess.Popen(['x']) as p: pass",
        "with Popen(['x']) as p: pass",
        "await event.wait()",
    ],
)
def test_the_check_sees_a_wait_without_a_limit(text: str) -> None:
    assert len(list(unbounded(ast.parse(text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "process.wait(5)",
        "thread.join(timeout=5)",
        "subprocess.run(['x'], timeout=5)",
        "subprocess.run(['x'], **options)",
        "os.waitpid(3, os.WNOHANG)",
        "asyncio.wait_for(event.wait(), 5)",
        "async def f():\n    async with asyncio.timeout(5):\n        await event.wait()",
        "', '.join(words)",
    ],
)
def test_the_check_lets_a_wait_with_a_limit_pass(text: str) -> None:
    assert list(unbounded(ast.parse(text))) == []
