"""Time of one permission decision that is not about shell text, with 10,000 rules, and of attacks on the matchers.

Run: python benchmarks/permissions.py [--json]. Exits 1 when a limit is missed.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle

import msgspec

from holdfast.lib.gitignore import Pattern
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.facts import normalised
from holdfast.permissions.paths import LiveDisk, NoDisk
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleSource, parse_rule
from holdfast.permissions.tool_facts import facts_from_input
from holdfast.permissions.web import check_url
from measure import Row, row

RULES = 10_000
ROUNDS = 2_000
FEW_RULES = 10
LIMIT = 2.5
"""How many times the cost with a few rules a decision may cost with very many."""
ATTACK_LIMIT_S = 2.0
MILLION = 1_000_000


def many_rules(root: str, count: int = RULES) -> list[Rule]:
    source = RuleSource("project", "settings.json", 1, root)
    behaviors: tuple[Behavior, ...] = ("allow", "deny", "ask")
    texts = (
        "Read(/src/module_{i}/**)",
        "Edit(src/part_{i}/*.py)",
        "Read(secret_{i}.txt)",
        "Read(*.ext{i})",
        "Edit(**/generated_{i}/**)",
        "WebFetch(domain:host{i}.example.com)",
        "mcp__server{i}__tool",
        "Bash(make target_{i} *)",
        "Read(//opt/data_{i}/**)",
        "Read(~/notes_{i}*)",
    )
    return [
        Rule.parse(behaviors[i % 3], texts[i % len(texts)].format(i=i), msgspec.structs.replace(source, line=i))
        for i in range(count)
    ]


def median_us(action: Callable[[], object]) -> float:
    for _ in range(100):
        action()
    times: list[int] = []
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1_000


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def decisions(count: int = RULES) -> dict[str, float]:
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as directory:
        root = os.path.realpath(directory)
        os.makedirs(f"{root}/src/deep/er")
        with open(f"{root}/src/deep/er/file.py", "w", encoding="utf-8") as file:
            file.write("x")
        rules = many_rules(root, count)
        calls: dict[str, tuple[str, dict[str, object]]] = {
            "Read of a file": ("Read", {"file_path": f"{root}/src/deep/er/file.py"}),
            "Write of a new file": ("Write", {"file_path": f"{root}/src/deep/er/new.py"}),
            "Grep": ("Grep", {"pattern": "x", "path": root}),
            "WebFetch": ("WebFetch", {"url": "https://docs.example.org/page", "prompt": "x"}),
            "MCP tool": ("mcp__files__list", {}),
            "TodoWrite": ("TodoWrite", {"todos": []}),
        }
        context = PermissionContext(
            "acceptEdits", rules, working_directories=(root,), project_root=root, trusted=True, disk=LiveDisk()
        )
        for name, (tool, arguments) in calls.items():
            call = facts_from_input(tool, arguments, root)
            ready = [normalised(call, context)]
            if "file_path" in arguments:  # a new path each time, so that nothing is remembered
                paths = [{"file_path": f"{arguments['file_path']}{i}"} for i in range(ROUNDS)]
                ready = [normalised(facts_from_input(tool, path, root), context) for path in paths]
            turn = cycle(ready)
            figures[name] = median_us(lambda turn=turn: decide(next(turn), context))
            figures[f"{name}, with the disk"] = median_us(lambda call=call: decide(call, context))
    return figures


def attacks() -> dict[str, float]:
    context = PermissionContext(
        rules=[Rule.parse("deny", text) for text in ("Read(*a*a*a*b)", "Read(**/a/**/b/**/c)", "Edit(/x/**)")],
        working_directories=("/proj",),
        disk=NoDisk(),
    )

    def read(path: str) -> Callable[[], object]:
        facts = facts_from_input("Read", {"file_path": path}, "/proj")
        return lambda: decide(facts, context)

    return {
        "path of a million characters": seconds(read("a" * MILLION)),
        "path of half a million directories": seconds(read("a/" * (MILLION // 2) + "b")),
        "path of a million dots": seconds(read("./" * (MILLION // 2) + "b")),
        "pattern of stars on a million characters": seconds(lambda: Pattern("*a" * 400 + "b").matches("a" * MILLION)),
        "pattern of ** on a million characters": seconds(
            lambda: Pattern("**/a" * 400 + "/b").matches("a/" * (MILLION // 2))
        ),
        "rule of a million characters": seconds(
            lambda: parse_rule(f"Read({'*a' * (MILLION // 2)})", "deny", RuleSource(), aliases={})
        ),
        "web address of a million characters": seconds(lambda: check_url("https://" + "a." * (MILLION // 2) + "com")),
    }


def rows() -> list[Row]:
    """A decision that is not about shell text, with 10,000 rules; a million characters of attack."""
    few, many = decisions(FEW_RULES), decisions()
    found = [
        row(f"10,000 rules: {name}"[:34], value, few[name], unit="µs", limit=LIMIT, against="the same with 10 rules")
        for name, value in many.items()
        if not name.endswith("disk")
    ]
    worst = max(attacks().values())
    found.append(row("worst million-character attack", worst, ATTACK_LIMIT_S, unit="s", limit=1.0, against="the limit"))
    return found


def main() -> int:
    made = seconds(lambda: PermissionContext(rules=many_rules("/proj"), trusted=True, disk=NoDisk()))
    few, figures, attack = decisions(FEW_RULES), decisions(), attacks()
    missed = [name for name, value in figures.items() if value > LIMIT * few[name] and not name.endswith("disk")]
    missed += [name for name, value in attack.items() if value > ATTACK_LIMIT_S]
    if "--json" in sys.argv:
        print(json.dumps({"compile_s": made, "decision_us": figures, "attack_s": attack, "missed": missed}))
    else:
        print(f"{RULES} rules parsed and compiled: {made * 1000:.0f} ms")
        for name, value in figures.items():
            print(f"  {name:<36} {value:7.1f} µs   ({few[name]:.1f} with {FEW_RULES} rules)")
        for name, value in attack.items():
            print(f"  {name:<42} {value * 1000:8.1f} ms")
        print("missed: " + ", ".join(missed) if missed else "all limits hold")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
