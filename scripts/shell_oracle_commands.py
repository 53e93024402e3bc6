"""Commands for the shell oracle, made from the option tables with a seeded generator."""

import itertools
import random
import shlex
from collections.abc import Iterator

from shell_oracle_mutations import mutant

from holdfast.permissions.shell.programs.inspect import OWN_RULES, version_forms
from holdfast.permissions.shell.programs.program import told
from holdfast.permissions.shell.programs.tool_table import GIT_READS, Option, Tool, parse_options
from holdfast.permissions.shell.programs.tool_table import TOOLS as KNOWN

FILES = [
    "a.txt",
    "b.csv",
    "c.json",
    "src/x.py",
    "with space.txt",
    "src",
    ".",
    "link",
    "bin.dat",
    "none.txt",
    "out.txt",
    "e.tar",
    "-",
]
TEXTS = [
    "a",
    "1",
    "TODO",
    "%s",
    "*.py",
    ",",
    "1,2",
    "name",
    "x",
    "HEAD",
    "auto",
    "never",
    "out.txt",
    "--output=out.txt",
]
NUMBERS = ["1", "2", "5", "0", "10"]
REVISIONS = [
    "HEAD",
    "HEAD~1",
    "side",
    "v1",
    "HEAD:a.txt",
    "--",
    "a.txt",
    "src",
    "HEAD~1..HEAD",
    "stash@{0}",
    "none",
    "new",
]
TOOLS = {name: tool for name, tool in KNOWN.items() if ":" not in name and name not in ("sed", "awk", "jq", "yq")}
ENDLESS = frozenset({"yes", "sleep", "watch", "top", "vmstat", "timeout"})
SED = [
    "p",
    "1,2p",
    "/a/d",
    "s/a/b/",
    "s/a/b/gp",
    "s,[^,]*,X,2",
    "$!N;P;D",
    ":a;N;$!ba;s/\\n/ /g",
    "y/abc/xyz/",
    "1!G;h;$!d",
    "/a/{p;q}",
    "w out.txt",
    "s/a/id/e",
    "s/a/b/w out.txt",
    "1e touch out.txt",
    "r a.txt",
    "s/[/]/w/w out.txt",
    "5q;l",
    "0,/a/p",
]
AWK = [
    "{print $1}",
    "$2 > 1",
    "NR==2{print;exit}",
    "{s+=$2} END{print s/NR}",
    "/a/{n++} END{print n}",
    '{print > "out.txt"}',
    'BEGIN{system("touch out.txt")}',
    '{print | "cat > out.txt"}',
    "{print ($2 > 1)}",
    'BEGIN{while((getline l < "a.txt")>0) print l}',
    "{a[$1]++} END{for(k in a) print k, a[k]}",
    "length > 3",
    '{gsub(/a/,"b"); print}',
    'BEGIN{printf "%d\\n", 3>2}',
    'BEGIN{if (1) /"/; system("touch out.txt") #"\n}',
    "{ if ($2 > 1) print $1; else print $2 }",
    '3system("touch out.txt")',
]
JQ = [".a", ".a.b[]", "keys", "env", "$ENV", ".n|length", '"\\(env)"', "to_entries", "paths", "input", ".a | map(1)?"]
FIND = [
    "-name '*.py'",
    "-type f",
    "-type d",
    "-maxdepth 1",
    "-print0",
    "-delete",
    "-fprint out.txt",
    "-newer a.txt",
    "-size +1k",
    "-exec cat {} +",
    "-exec touch {} \\;",
    "-mtime -1",
    "-empty",
    "-not -name a.txt",
    "-printf '%p\\n'",
    "-ls",
    "-prune -o -print",
    "-path './src/*'",
    "-regex '.*py'",
    "-perm -u+x",
    "-exec grep -l a {} +",
    "-fls out.txt",
    "-okdir ls ';'",
]


def read_only(command: str) -> bool:
    """Ask the analysis about the whole command text."""
    from holdfast.permissions.shell.text.analysis import analyse  # noqa: PLC0415  (slow to import, needed only here)

    return analyse(command).read_only


class Generator:
    """An endless, seeded source of commands: first every option of every table, then mixtures."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.singles = list(single_options())
        self.random.shuffle(self.singles)

    def command(self) -> str:
        """Return the next command."""
        pick = self.random.random()
        if pick < 0.25:
            return mutant(self.random)
        if pick < 0.6 and self.singles:
            return self.singles.pop()
        if pick < 0.8:
            return self.simple()
        return self.compound()

    def simple(self) -> str:
        kind = self.random.randrange(10)
        if kind == 0:
            return f"sed {self.flags('-n', '-E', '-s', '-z')} {shlex.quote(self.random.choice(SED))} a.txt"
        if kind == 1:
            return f"awk {self.flags('-F,', '-v x=1')} {shlex.quote(self.random.choice(AWK))} a.txt"
        if kind == 2:
            return f"jq {self.flags('-r', '-c', '-n', '-s')} {shlex.quote(self.random.choice(JQ))} c.json"
        if kind == 3:
            return "find . " + " ".join(self.random.sample(FIND, self.random.randrange(3)))
        if kind in (4, 5):
            name = self.random.choice(sorted(GIT_READS))
            return f"git {name} {self.arguments(GIT_READS[name], REVISIONS)}"
        name = self.random.choice([tool for tool in sorted(TOOLS) if tool not in ENDLESS])
        return f"{name} {self.arguments(TOOLS[name], FILES)}"

    def flags(self, *choices: str) -> str:
        return " ".join(self.random.sample(choices, self.random.randrange(2)))

    def arguments(self, tool: Tool, operands: list[str]) -> str:
        short, long = parse_options(tool.options)
        words: list[str] = []
        for _ in range(self.random.randrange(4)):
            table = self.random.choice([short, long]) or short or long
            if not table:
                break
            letter = self.random.choice(sorted(table))
            words.append(self.spell(letter, table[letter], one_dash=tool.one_dash))
        words += [shlex.quote(word) for word in self.random.choices(operands, k=self.random.randrange(3))]
        if self.random.random() < 0.3:
            self.random.shuffle(words)  # not every tool looks for options behind its first operand
        return " ".join(words)

    def spell(self, name: str, option: Option, *, one_dash: bool) -> str:
        dash = "" if name[0] == "+" else "-" if len(name) == 1 or one_dash else "--"
        if option.takes == "none":
            return dash + name
        value = shlex.quote(value_for(option, self.random))
        if option.takes == "glued":
            return self.random.choice([dash + name, f"{dash}{name}{'=' if dash == '--' else ''}{value}"])
        cut = name[: self.random.randrange(1, len(name) + 1)] if dash == "--" else name
        return self.random.choice([f"{dash}{name} {value}", f"{dash}{cut}{'=' if dash == '--' else ''}{value}"])

    def compound(self) -> str:
        parts = [self.simple() for _ in range(self.random.randrange(2, 4))]
        shape = self.random.randrange(7)
        if shape < 3:
            return " | ".join(parts)
        if shape == 3:
            return " && ".join(parts)
        if shape == 4:
            return f'for f in a.txt src/x.py; do {parts[0]}; done; echo "$({parts[1]})"'
        if shape == 5:
            return f"if {parts[0]}; then {parts[1]}; fi"
        return f"ls | xargs {parts[0]}"


def value_for(option: Option, chance: random.Random) -> str:
    if option.kind == "num":
        return chance.choice(NUMBERS)
    if option.kind in ("file", "path", "out"):
        return chance.choice(FILES)
    return chance.choice(TEXTS)


def single_options() -> Iterator[str]:
    """Yield one command per option of every table, and every version query."""
    chance = random.Random(0)
    tools = itertools.chain(
        ((name, tool) for name, tool in TOOLS.items() if name not in ENDLESS),
        ((f"git {name}", tool) for name, tool in GIT_READS.items()),
    )
    for name, tool in tools:
        short, long = parse_options(tool.options)
        for letter, option in {**short, **long}.items():
            dash = "" if letter[0] == "+" else "-" if len(letter) == 1 or tool.one_dash else "--"
            operand = "HEAD" if name.startswith("git") else "a.txt"
            if option.takes == "none":
                yield f"{name} {dash}{letter} {operand}"
                yield f"{name} {operand} {dash}{letter}"
                yield f"{name} {dash}{letter}"
                continue
            value = shlex.quote(value_for(option, chance))
            yield f"{name} {dash}{letter}{'=' if dash == '--' else ''}{value} {operand}"
            yield f"{name} {dash}{letter} {value} {operand}"
    for name in told("version"):
        yield from (f"{name} {form}" for form in version_forms(name))
    yield from (f"{name} --help" for name in OWN_RULES)
