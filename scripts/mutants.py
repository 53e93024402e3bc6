"""Mutation testing of the code that decides: change one thing, run its tests, see whether they notice.

    scripts/mutants.py [--minutes 60] [--seed 1] [--count N] [--file web.py]

Own and small, because the usual tool does not run with the pytest we use. Each mutant changes one comparison, boolean
word, negation, constant or number. Survivors are printed with their line; the score is the part that was noticed.
Mutants that change nothing anybody could observe stand in `EQUIVALENT`, each with its reason, and are left out.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PERMISSIONS = "holdfast/permissions"
TARGETS = {
    f"{PERMISSIONS}/decide.py": [
        "tests/permissions/test_decide.py",
        "tests/permissions/test_explain.py",
        "tests/permissions/test_classifier.py",
        "tests/permissions/test_properties.py",
    ],
    f"{PERMISSIONS}/classifier.py": ["tests/permissions/test_classifier.py", "tests/engine/test_consult.py"],
    f"{PERMISSIONS}/model_question.py": ["tests/permissions/test_model_question.py"],
    f"{PERMISSIONS}/backtest.py": ["tests/permissions/test_backtest.py"],
    "holdfast/engine/consult.py": ["tests/engine/test_consult.py"],
    f"{PERMISSIONS}/modes.py": ["tests/permissions/test_modes.py", "tests/permissions/test_decide.py"],
    f"{PERMISSIONS}/rules.py": ["tests/permissions/test_rules.py", "tests/compat/test_rules.py"],
    f"{PERMISSIONS}/path_rules.py": ["tests/permissions/test_path_rules.py", "tests/compat/test_rules.py"],
    f"{PERMISSIONS}/paths.py": ["tests/permissions/test_paths.py", "tests/permissions/test_path_rules.py"],
    f"{PERMISSIONS}/web.py": ["tests/permissions/test_web.py"],
    f"{PERMISSIONS}/star_glob.py": ["tests/permissions/test_star_glob.py"],
    f"{PERMISSIONS}/shell/match.py": ["tests/permissions/shell/test_match.py"],
    "holdfast/lib/wildmatch.py": ["tests/lib/test_gitignore.py"],
}
EQUIVALENT: dict[tuple[str, str, str], str] = {}
"""File, source line and change (`before -> after`) of mutants that nobody can tell from the original, and why."""
_SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def places(tree: ast.AST) -> list[ast.AST]:
    """The nodes that can be changed; type hints and assertions are left alone."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        hints = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for part in (*hints, node if isinstance(node, ast.Assert) else None):
            if part is not None:
                skipped.update(id(inner) for inner in ast.walk(part))
    return [node for node in ast.walk(tree) if id(node) not in skipped and mutate(node, probe=True)]


def mutate(node: ast.AST, *, probe: bool = False) -> bool:
    """Change the node in place; with `probe` only say whether it could be."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        if not probe:
            node.ops[0] = _SWAPS[type(node.ops[0])]()
        return True
    if isinstance(node, ast.BoolOp):
        if not probe:
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        if not probe:
            node.op = ast.UAdd()
            node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
        return True
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int):
        if not probe:
            node.value = (not node.value) if isinstance(node.value, bool) else int(node.value) + 1  # pyright: ignore[reportArgumentType]
        return True
    return False


def mutants(seed: int, only: str) -> Iterator[tuple[str, int]]:
    found = [
        (file, index)
        for file in TARGETS
        if file.endswith(only)
        for index in range(len(places(ast.parse((ROOT / "src" / file).read_text("utf-8")))))
    ]
    random.Random(seed).shuffle(found)
    yield from found


class Mutant(NamedTuple):
    """One change, and whether the tests noticed it."""

    noticed: bool
    equivalent: bool
    place: str


def try_mutant(source: Path, file: str, index: int) -> Mutant:
    path = source / file
    original = path.read_text("utf-8")
    tree = ast.parse(original)
    node = places(tree)[index]
    number: int = getattr(node, "lineno", 0)
    before = ast.unparse(node)
    mutate(node)
    change = f"{before} -> {ast.unparse(node)}"
    line = original.splitlines()[number - 1].strip()
    place = f"{file}:{number}: {change}   in   {line}"
    if (file.removeprefix("holdfast/"), line, change) in EQUIVALENT:
        return Mutant(noticed=False, equivalent=True, place=place)
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout", "60", *TARGETS[file]]
    try:
        done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, timeout=180, check=False)
        return Mutant(done.returncode != 0, equivalent=False, place=place)
    except subprocess.TimeoutExpired:
        return Mutant(noticed=True, equivalent=False, place=place)
    finally:
        path.write_text(original, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--file", default="", help="Only files whose path ends so.")
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    noticed = tried = equivalent = 0
    with tempfile.TemporaryDirectory(prefix="holdfast-mutants-") as directory:
        source = Path(directory, "src")
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        for file, index in mutants(options.seed, options.file):
            if tried == options.count or time.monotonic() > end:
                break
            mutant = try_mutant(source, file, index)
            equivalent += mutant.equivalent
            tried += not mutant.equivalent
            noticed += mutant.noticed
            if not (mutant.noticed or mutant.equivalent):
                print(f"survived: {mutant.place}", flush=True)
    score = 100 * noticed / tried if tried else 0.0
    print(f"{tried} mutants, {noticed} noticed, score {score:.1f} %; {equivalent} equivalent ones left out")
    return 0 if score >= 95 else 1


if __name__ == "__main__":
    sys.exit(main())
