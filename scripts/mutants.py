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
        "tests/permissions/test_modes.py",
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
    f"{PERMISSIONS}/shell/rule_index.py": [
        "tests/permissions/shell/test_rule_index.py",
        "tests/permissions/shell/test_match.py",
    ],
    f"{PERMISSIONS}/path_index.py": ["tests/permissions/test_path_index.py"],
    "holdfast/lib/wildmatch.py": ["tests/lib/test_wildmatch.py", "tests/lib/test_gitignore.py"],
}
_ORDER = "only the order counts"
_CACHE = "the size of a cache is only felt as time"
_SHORTCUT = "a shortcut: the long way gives the same answer"
_FILED = "where a pattern is filed is only felt as time"
_NEGATIVE = "whoever asks only looks whether it is negative"
EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("permissions/decide.py", 'STRICTNESS: Final = {"allow": 0, "ask": 1, "deny": 2}', "2 -> 3"): _ORDER,
    (
        "permissions/decide.py",
        "answer, part = min(zip(cells, parts, strict=True), key=lambda one: order.index(one[0]))",
        "True -> False",
    ): "both lists have one entry per part",
    ("permissions/rules.py", "@lru_cache(maxsize=65_536)", "65536 -> 65537"): _CACHE,
    ("permissions/path_rules.py", "@lru_cache(maxsize=65_536)", "65536 -> 65537"): _CACHE,
    ("permissions/web.py", "@lru_cache(maxsize=4_096)", "4096 -> 4097"): _CACHE,
    ("permissions/web.py", "@lru_cache(maxsize=1_024)", "1024 -> 1025"): _CACHE,
    ("permissions/web.py", "_MAX_CACHED_CHARS: Final = 500", "500 -> 501"): _CACHE,
    (
        "permissions/web.py",
        "return _checked(url) if len(url) <= _MAX_CACHED_CHARS else _check(url)",
        "len(url) <= _MAX_CACHED_CHARS -> len(url) > _MAX_CACHED_CHARS",
    ): _CACHE,
    (
        "permissions/web.py",
        "host, colon, port = host + closed, after[:1], after[1:]",
        "1 -> 2",
    ): "of the first slice only whether it is empty counts; the second one's mutant fails other tests",
    (
        "permissions/web.py",
        'ord(char) > 0x7E and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Co")',
        "126 -> 127",
    ): "U+007F is refused two lines below, in the same words",
    (
        "permissions/web.py",
        'end = min((i for i in (rest.find(mark) for mark in "/?#") if i >= 0), default=len(rest))',
        "0 -> 1",
    ): "an empty authority is refused, and so is one that begins with a mark",
    ("permissions/paths.py", "if len(self._folds) > 10_000:", "10000 -> 10001"): _CACHE,
    (
        "permissions/paths.py",
        "if not name or _status_without_links(directory, directory) is None:",
        "not name -> +bool(name)",
    ): _SHORTCUT,
    (
        "permissions/paths.py",
        "if self._links_left < 0 or len(link) + len(rest) > 2 * MAX_PATH_BYTES:",
        "2 -> 3",
    ): "a bound on work; no name of that length can be opened",
    (
        "permissions/model_question.py",
        'mark = hashlib.sha256(data.encode("ascii")).hexdigest()[:16]',
        "16 -> 17",
    ): "a longer digest marks as well",
    ("lib/wildmatch.py", "_LONG_CHUNK: Final = 32", "32 -> 33"): _SHORTCUT,
    (
        "lib/wildmatch.py",
        "if self.length <= _LONG_CHUNK:",
        "self.length <= _LONG_CHUNK -> self.length > _LONG_CHUNK",
    ): _SHORTCUT,
    ("lib/wildmatch.py", "self.any = len(chunks) > 1 and self.least == 0", "1 -> 2"): _SHORTCUT,
    (
        "lib/wildmatch.py",
        "self.any = len(chunks) > 1 and self.least == 0",
        "len(chunks) > 1 -> len(chunks) <= 1",
    ): _SHORTCUT,
    ("lib/wildmatch.py", "return -1", "1 -> 2"): _NEGATIVE,
    ("lib/wildmatch.py", "return -1 if found is None else found.start()", "1 -> 2"): _NEGATIVE,
    ("lib/wildmatch.py", "if end < 0:", "0 -> 1"): "a bracket never closes at the first character",
    ("permissions/shell/match.py", "first = command.split(None, 1)", "1 -> 2"): "only the first word is looked at",
    ("permissions/shell/rule_index.py", "_MAX_SKIPPED: Final = 1024", "1024 -> 1025"): _CACHE,
    (
        "permissions/shell/rule_index.py",
        "if len(self._skipped) < _MAX_SKIPPED:",
        "len(self._skipped) < _MAX_SKIPPED -> len(self._skipped) >= _MAX_SKIPPED",
    ): _CACHE,
    ("permissions/shell/rule_index.py", "self.longest = 0", "0 -> 1"): "no rule is shorter than one character",
    ("permissions/shell/rule_index.py", "while 0 <= position <= longest:", "0 -> 1"): "no rule begins with a gap",
    ("permissions/shell/rule_index.py", "position = text.find(gap, position + 1)", "1 -> 2"): "no rule ends in a gap",
    ("permissions/path_index.py", "_CROWDED: Final = 4", "4 -> 5"): _FILED,
    (
        "permissions/path_index.py",
        "if not _crowded(places):",
        "not _crowded(places) -> +bool(_crowded(places))",
    ): _FILED,
    (
        "permissions/path_index.py",
        "return all(len(place) >= _CROWDED for place in places)",
        "len(place) >= _CROWDED -> len(place) < _CROWDED",
    ): _FILED,
    **{
        (
            "permissions/path_index.py",
            "return next(size for size in (16, 8, 4, 2, 1) if len(text) >= size)",
            f"{size} -> {size + 1}",
        ): _FILED
        for size in (16, 8, 4, 2)
    },
}
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
