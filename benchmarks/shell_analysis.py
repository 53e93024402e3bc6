"""Shell verdicts against the bare tree-sitter parse, on distinct commands of about 200 characters with 1,000 rules."""

import random
import statistics
import time

from holdfast.permissions.rules.command_index import RuleIndex, compile_bash_rule
from holdfast.permissions.shell.judge.coverage import allowed, deny_matches
from holdfast.permissions.shell.text import syntax as grammar
from holdfast.permissions.shell.text.analysis import Analysis, analyse
from measure import Row, row

PIECES = [
    "git log --oneline -{n} -- src/app{n}.py",
    "grep -rn 'needle{n}' src tests --include='*.py'",
    "head -n {n} docs/README{n}.md",
    "find . -name 'file{n}*.py' -type f -not -path './node_modules/*'",
    "sed -n '{n},+20p' src/module{n}.py",
    "cat src/package/part{n}.txt 2>/dev/null",
    "wc -l src/holdfast/file{n}.py",
    "sort -k{n} -rn",
    "ls -la build{n}/output",
    "awk '{{print ${n}}}' data{n}.csv",
    'echo "--- section {n} ---"',
    "npm run test{n} -- --watch=false",
    "git diff HEAD~{n} -- src/holdfast/engine{n}.py",
    'for f in src/a{n}/*.py; do wc -l "$f"; done',
    "python3 -m pytest tests/test_{n}.py -q -x --maxfail={n}",
    "docker compose -f compose.{n}.yml logs --tail={n} web",
    "test -f package{n}.json && echo found{n}",
    "git show {n}abc:src/file{n}.ts",
    "rg -n --type py 'class Node{n}' src",
    "curl -s https://example.com/api/v{n}/status",
]
OPERATORS = [" | ", " && ", "; ", " || "]


def cases(count: int = 300, *, seed: int = 7, length: int = 190) -> list[str]:
    """Make distinct commands."""
    chance = random.Random(seed)
    commands: dict[str, None] = {}
    while len(commands) < count:
        text = ""
        while len(text) < length:
            piece = chance.choice(PIECES).format(n=chance.randint(1, 99_999))
            text += (chance.choice(OPERATORS) if text else "") + piece
        commands[text] = None
    return list(commands)


def rules() -> tuple[RuleIndex, RuleIndex]:
    """Make 500 deny and 500 allow rules of every kind."""
    contents = [f"tool{number} sub{number} *" for number in range(300)]
    contents += [f"git push origin{number}" for number in range(120)]
    contents += [f"service{number}:*" for number in range(50)]
    contents += [f"npm * x{number}" for number in range(10)]
    contents += [f"rm{number}*" for number in range(20)]
    compiled = [compile_bash_rule(content) for content in contents]
    return RuleIndex(compiled, exact_words=False), RuleIndex(compiled, exact_words=True)


def verdict(command: str, deny: RuleIndex, allow: RuleIndex) -> Analysis:
    """Analyse and match as the permission engine does."""
    analysis = analyse(command, cwd="/project")
    if deny_matches(deny, analysis) is None and not analysis.read_only:
        allowed(allow, analysis)
    return analysis


def measure(rounds: int = 5) -> dict[str, float]:
    """Time parse and verdict side by side; every command is new to the analysis."""
    deny, allow = rules()
    parser = grammar.grammar().parser
    verdict("ls | cat", deny, allow)
    parse_us: list[float] = []
    verdict_us: list[float] = []
    ratios: list[float] = []
    for round_number in range(rounds):
        for command in cases(300, seed=100 + round_number):
            data = command.encode()
            started = time.perf_counter()
            parser.parse(data)
            middle = time.perf_counter()
            verdict(command, deny, allow)
            ended = time.perf_counter()
            parse_us.append((middle - started) * 1e6)
            verdict_us.append((ended - middle) * 1e6)
            ratios.append((ended - middle) / (middle - started))
    return {
        "commands": float(len(parse_us)),
        "parse_median_us": statistics.median(parse_us),
        "verdict_median_us": statistics.median(verdict_us),
        "verdict_p99_us": statistics.quantiles(verdict_us, n=100)[98],
        "ratio_median": statistics.median(ratios),
        "ratio_of_medians": statistics.median(verdict_us) / statistics.median(parse_us),
    }


def rows() -> list[Row]:
    """A verdict for about 200 characters with 1,000 rules, against the bare parse of the same command."""
    found = measure()
    ours, parse = found["verdict_median_us"], found["parse_median_us"]
    return [
        row("verdict, distinct commands", ours, parse, unit="µs", limit=4.0, against="bare tree-sitter parse"),
        row("verdict, p99", found["verdict_p99_us"], 2_000.0, unit="µs", limit=1.0, against="2 ms"),
    ]


def main() -> None:
    for name, value in measure().items():
        print(f"{name:>20} {value:10.2f}")


if __name__ == "__main__":
    main()
