"""Mutation testing of the code that decides: change one thing, run its tests, see whether they notice.

    scripts/mutants.py [--minutes 60] [--seed 1] [--count N] [--file web.py] [--harder]

Own and small, because the usual tool does not run with the pytest we use. Each mutant changes one comparison, boolean
word, negation, constant or number; with `--harder` also the boundary of a comparison, a whole condition (always or
never), one part of an `and` or `or`, or a word, or leaves a call out. Survivors are printed with their line; the score
is the part that was noticed. Mutants that change nothing anybody could observe stand in
`EQUIVALENT`, each with its reason, and are left out. The tests of a file must pass unchanged first, or nothing would
be told by their failing. They run in a forked child that has everything but the product loaded.
"""

import argparse
import ast
import compileall
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PERMISSIONS = "holdfast/permissions"
TARGETS = {
    f"{PERMISSIONS}/decision.py": [
        "tests/permissions/test_decision.py",
        "tests/permissions/test_modes.py",
        "tests/permissions/policy/test_explain.py",
        "tests/permissions/test_classifier.py",
        "tests/permissions/test_properties.py",
    ],
    f"{PERMISSIONS}/classifier.py": ["tests/permissions/test_classifier.py", "tests/engine/test_consult.py"],
    f"{PERMISSIONS}/model_question.py": ["tests/permissions/test_model_question.py"],
    f"{PERMISSIONS}/policy/backtest.py": ["tests/permissions/policy/test_backtest.py"],
    "holdfast/engine/consult.py": ["tests/engine/test_consult.py"],
    f"{PERMISSIONS}/modes.py": ["tests/permissions/test_modes.py", "tests/permissions/test_decision.py"],
    f"{PERMISSIONS}/rules/grammar.py": ["tests/permissions/rules/test_grammar.py", "tests/compat/test_rules.py"],
    f"{PERMISSIONS}/rules/path_patterns.py": [
        "tests/permissions/rules/test_path_patterns.py",
        "tests/compat/test_rules.py",
    ],
    f"{PERMISSIONS}/paths.py": ["tests/permissions/test_paths.py", "tests/permissions/rules/test_path_patterns.py"],
    f"{PERMISSIONS}/web.py": ["tests/permissions/test_web.py"],
    f"{PERMISSIONS}/rules/globs.py": ["tests/permissions/rules/test_star_glob.py"],
    f"{PERMISSIONS}/shell/judge/coverage.py": [
        "tests/permissions/shell/judge/test_coverage.py",
        "tests/permissions/shell/judge/test_possible_match.py",
        "tests/permissions/shell/judge/test_global_options.py",
    ],
    f"{PERMISSIONS}/rules/command_index.py": [
        "tests/permissions/rules/test_command_index.py",
        "tests/permissions/shell/judge/test_coverage.py",
        "tests/permissions/shell/judge/test_possible_match.py",
    ],
    f"{PERMISSIONS}/rules/path_index.py": ["tests/permissions/rules/test_path_index.py"],
    "holdfast/lib/wildmatch.py": ["tests/lib/test_wildmatch.py", "tests/lib/test_gitignore.py"],
}
_ORDER = "only the order counts"
_CACHE = "the size of a cache is only felt as time"
_SHORTCUT = "a shortcut: the long way gives the same answer"
_FILED = "where a pattern is filed is only felt as time"
_NEGATIVE = "whoever asks only looks whether it is negative"
EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("permissions/decision.py", 'STRICTNESS: Final = {"allow": 0, "ask": 1, "deny": 2}', "2 -> 3"): _ORDER,
    (
        "permissions/decision.py",
        "answer, part = min(zip(cells, parts, strict=True), key=lambda one: order.index(one[0]))",
        "True -> False",
    ): "both lists have one entry per part",
    ("permissions/rules/grammar.py", "@lru_cache(maxsize=65_536)", "65536 -> 65537"): _CACHE,
    ("permissions/rules/path_patterns.py", "@lru_cache(maxsize=65_536)", "65536 -> 65537"): _CACHE,
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
    (
        "permissions/shell/judge/coverage.py",
        "first = command.split(None, 1)",
        "1 -> 2",
    ): "only the first word is seen",
    ("permissions/rules/command_index.py", "_MAX_SKIPPED: Final = 1024", "1024 -> 1025"): _CACHE,
    (
        "permissions/rules/command_index.py",
        "if len(self._skipped) < _MAX_SKIPPED:",
        "len(self._skipped) < _MAX_SKIPPED -> len(self._skipped) >= _MAX_SKIPPED",
    ): _CACHE,
    ("permissions/rules/command_index.py", "self.longest = 0", "0 -> 1"): "no rule is shorter than one character",
    ("permissions/rules/command_index.py", "while 0 <= position <= longest:", "0 -> 1"): "no rule begins with a gap",
    (
        "permissions/rules/command_index.py",
        "position = text.find(gap, position + 1)",
        "1 -> 2",
    ): "no rule ends so",
    ("permissions/rules/path_index.py", "_CROWDED: Final = 4", "4 -> 5"): _FILED,
    (
        "permissions/rules/path_index.py",
        "if not _crowded(places):",
        "not _crowded(places) -> +bool(_crowded(places))",
    ): _FILED,
    (
        "permissions/rules/path_index.py",
        "return all(len(place) >= _CROWDED for place in places)",
        "len(place) >= _CROWDED -> len(place) < _CROWDED",
    ): _FILED,
    **{
        (
            "permissions/rules/path_index.py",
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
_BOUNDARIES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_LONGEST_WORD = 30
"""Longer texts are sentences."""


class Change(NamedTuple):
    """One node, and what stands there instead."""

    old: ast.AST
    new: ast.AST


class _Put(ast.NodeTransformer):
    def __init__(self, change: Change) -> None:
        self._change = change

    def visit(self, node: ast.AST) -> ast.AST:
        return self._change.new if node is self._change.old else self.generic_visit(node)


def changes(tree: ast.AST, *, harder: bool) -> list[Change]:
    """Every change; type hints, assertions, documentation and the parts of sentences are left alone."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Assert | ast.JoinedStr) or _only_describes(node):
            parts.append(node)
        for part in parts:
            if part is not None:
                skipped.update(
                    id(inner) for inner in ast.walk(part) if not isinstance(node, ast.JoinedStr) or _text(inner)
                )
    return [
        Change(node, new)
        for node in ast.walk(tree)
        if id(node) not in skipped
        for new in (*_changed(node), *(_changed_harder(node) if harder else ()))
    ]


def _text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _only_describes(node: ast.AST) -> bool:
    """Documentation, a list of names for the interpreter, or a type's name for a type checker."""
    if isinstance(node, ast.Expr):
        return _text(node.value)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id in ("__all__", "__slots__")
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal"


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, [op, *ops], right) if type(op) in _SWAPS:
            yield ast.Compare(left, [_SWAPS[type(op)](), *ops], right)
        case ast.BoolOp(ast.And(), values):
            yield ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(ast.Or(), values):
            yield ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield ast.UnaryOp(ast.UAdd(), ast.Call(ast.Name("bool", ast.Load()), [operand], []))
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case _:
            pass


def _changed_harder(node: ast.AST) -> Iterator[ast.AST]:
    """Boundaries, conditions that always or never hold, other words, and parts and calls left out."""
    match node:
        case ast.Compare(left, [op, *ops], right) if type(op) in _BOUNDARIES:
            yield ast.Compare(left, [_BOUNDARIES[type(op)](), *ops], right)
        case ast.BoolOp(op, values):
            for index in range(len(values)):
                yield ast.BoolOp(op, [*values[:index], *values[index + 1 :]])
        case ast.If(test, body, orelse) if ast.unparse(test) != "TYPE_CHECKING":
            yield ast.If(ast.Constant(True), body, orelse)  # noqa: FBT003 - the word itself
            yield ast.If(ast.Constant(False), body, orelse)  # noqa: FBT003 - the word itself
        case ast.IfExp(_, body, orelse):
            yield body
            yield orelse
        case ast.Constant(str(value)) if len(value) < _LONGEST_WORD:
            yield ast.Constant(f"§{value[1:]}")
        case ast.Expr(ast.Call()):
            yield ast.Pass()
        case _:
            pass


def mutants(seed: int, only: str, *, harder: bool) -> Iterator[tuple[str, int]]:
    found = [
        (file, index)
        for file in TARGETS
        if file.endswith(only)
        for index in range(len(changes(ast.parse((ROOT / "src" / file).read_text("utf-8")), harder=harder)))
    ]
    random.Random(seed).shuffle(found)
    yield from found


class Mutant(NamedTuple):
    """One change, and whether the tests noticed it."""

    noticed: bool
    equivalent: bool
    place: str


def try_mutant(source: Path, file: str, index: int, *, harder: bool) -> Mutant:
    path = source / file
    original = path.read_text("utf-8")
    tree = ast.parse(original)
    made = changes(tree, harder=harder)[index]
    number: int = getattr(made.old, "lineno", 0)
    change = " -> ".join(ast.unparse(ast.fix_missing_locations(node)).splitlines()[0] for node in made)
    line = original.splitlines()[number - 1].strip()
    place = f"{file}:{number}: {change}   in   {line}"
    if (file.removeprefix("holdfast/"), line, change) in EQUIVALENT:
        return Mutant(noticed=False, equivalent=True, place=place)
    path.write_text(ast.unparse(ast.fix_missing_locations(_Put(made).visit(tree))), encoding="utf-8")
    try:
        return Mutant(not passes(TARGETS[file]), equivalent=False, place=place)
    finally:
        path.write_text(original, encoding="utf-8")


def copy_of_source(directory: str) -> Path:
    """The product with its byte code, but none of the files that change: theirs could be taken for the original's."""
    source = Path(directory, "src")
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(source, quiet=1)
    for file in TARGETS:
        for stale in (source / file).parent.glob(f"__pycache__/{Path(file).stem}.*.pyc"):
            stale.unlink()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source))
    os.environ.update(PYTHONPATH=str(source), PYTHONDONTWRITEBYTECODE="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    os.chdir(ROOT)
    for name in ("asyncio", "hypothesis.strategies", "msgspec", "pytest_timeout"):
        import_module(name)  # once, for every child
    return source


def passes(tests: Sequence[str], *, limit_s: float = 180.0) -> bool:
    """Run tests against the copy; a run that does not end has not passed."""
    child = os.fork()
    if child == 0:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        plugins = ["-p", "no:cacheprovider", "-p", "pytest_timeout"]
        code = 1
        try:
            code = int(pytest.main(["-x", "-q", "--assert=plain", *plugins, "--timeout", "60", *tests]))
        finally:
            os._exit(code)  # whatever was raised: the copy is the parent's to remove
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--file", default="", help="Only files whose path ends so.")
    parser.add_argument(
        "--harder", action="store_true", help="Also boundaries, fixed conditions, words, parts left out."
    )
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    tried: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    equivalent: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="holdfast-mutants-") as directory:
        source = copy_of_source(directory)
        for file, index in mutants(options.seed, options.file, harder=options.harder):
            if tried.total() == options.count or time.monotonic() > end:
                break
            if not tried[file] and not equivalent[file] and not passes(TARGETS[file]):
                sys.exit(f"the tests of {file} fail without any change; run {' '.join(TARGETS[file])}")
            mutant = try_mutant(source, file, index, harder=options.harder)
            equivalent[file] += mutant.equivalent
            tried[file] += not mutant.equivalent
            noticed[file] += mutant.noticed
            if not (mutant.noticed or mutant.equivalent):
                print(f"survived: {mutant.place}", flush=True)
    for file in sorted(tried):
        print(_score(file, tried[file], noticed[file], equivalent[file]))
    print(_score("together", tried.total(), noticed.total(), equivalent.total()))
    return 0 if noticed.total() >= 0.95 * tried.total() else 1


def _score(what: str, tried: int, noticed: int, equivalent: int) -> str:
    score = 100 * noticed / tried if tried else 0.0
    return f"{what}: {tried} mutants, {noticed} noticed, score {score:.1f} %; {equivalent} equivalent ones left out"


if __name__ == "__main__":
    sys.exit(main())
