"""Programs that we start ourselves are found in one place, and never by a bare name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "holdfast"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "demo_project" not in path.parts)
STARTS = {"Popen", "run", "call", "check_call", "check_output", "create_subprocess_exec", "Command", "spawn"}
FORBIDDEN = {"which", "system", "popen", "execvp", "execvpe", "execlp", "execlpe", "spawnvp", "spawnlp", "posix_spawnp"}
MODULES_OF_FORBIDDEN = {"os", "shutil"}


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _argv(call: ast.Call) -> ast.expr | None:
    named = next((keyword.value for keyword in call.keywords if keyword.arg in ("argv", "args")), None)
    return named if named is not None else (call.args[0] if call.args else None)


def _faults(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES_OF_FORBIDDEN:
            yield from (f"imports {alias.name}" for alias in node.names if alias.name in FORBIDDEN)
        if not isinstance(node, ast.Call):
            continue
        name = _name(node.func)
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in FORBIDDEN and isinstance(of, ast.Name) and of.id in MODULES_OF_FORBIDDEN:
            yield f"{of.id}.{name} in line {node.lineno}"
        argv = _argv(node) if name in STARTS else None
        first = argv.elts[0] if isinstance(argv, (ast.List, ast.Tuple)) and argv.elts else argv
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("/"):
            yield f"starts {first.value!r} by a bare name in line {node.lineno}"
        if any(keyword.arg == "shell" for keyword in node.keywords) and name in STARTS:
            yield f"starts a shell of the system's choice in line {node.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_looks_for_programs_by_itself(path: Path) -> None:
    assert list(_faults(ast.parse(path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    "text",
    [
        'shutil.which("rg")',
        "from shutil import which",
        'subprocess.run(["git", "status"])',
        'Command(argv=["bash", "-c", x])',
        'asyncio.create_subprocess_exec("git")',
        "subprocess.Popen(x, shell=True)",
        'os.system("ls")',
        'os.execvp("ls", x)',
    ],
)
def test_the_check_sees_what_it_forbids(text: str) -> None:
    assert list(_faults(ast.parse(text))) != []
