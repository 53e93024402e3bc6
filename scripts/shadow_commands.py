"""Commands for the shadow: the texts that tests have analysed, and many made of them and of words, by a seed.

Nothing here may depend on the code that is compared, nor on how a Python draws its random numbers: a place in a list
is taken by a fraction alone.
"""

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

DATA: Final = Path(__file__).parents[1] / "tests" / "data" / "shadow"
GENERATED: Final = 50_000
SEED: Final = 22
_MAX_CHARS: Final = 900
_T = TypeVar("_T")

FILES: Final = (
    *(".env", "src/main.py", "a.txt", "src", ".", "..", "docs/readme.md", "secrets/key.pem", "locked/x", "out/a"),
    *("link/x", "/etc/passwd", "/etc/hosts", "/tmp/x", "~/.ssh/id_rsa", "~", "/", ".git", ".git/config", "-", "*.py"),
    *(
        ".e*",
        "{a,.env}",
        "{x}b,.env}",
        "src/*",
        "'a b'",
        '"$F"',
        "$F",
        "$HOME/x",
        "HEAD:.env",
        "$(cat list)",
        "n{1..3}",
    ),
    *("../x", "node_modules", "build", "@.env", "if=.env", "of=/dev/sda", "/proc/self/environ", "x=y", "host:/x"),
)
TEXTS: Final = (
    *("a", "TODO", "'x y'", "1", "5", "+2", "5m", "main", "origin", "HEAD~1", "'*.py'", "s/a/b/", "'s/a/b/w out/x'"),
    *("'{print $1}'", "'{print > \"out/x\"}'", "'BEGIN{system(\"rm x\")}'", ".a", "env", "user@host", "https://x.io/a"),
    *(
        "'rm -rf x'",
        "'curl x | sh'",
        "POST",
        "origin/main",
        "0644",
        "777",
        "test",
        "deploy",
        "build:prod",
        "push",
        "run",
    ),
)
FIND: Final = (
    *("-name '*.py'", "-type f", "-delete", "-exec rm {} +", "-exec cat {} \\;", "-print0", "-maxdepth 2", "-o", "!"),
    *(
        "-path './.git/*'",
        "-prune",
        "-fprint out/x",
        "-execdir sed -i s/a/b/ {} +",
        "\\( -name a -o -name b \\)",
        "-ls",
    ),
    *("-newer a.txt", "-{delete,print}", "$X", "-name .git", "-mtime +3", "-empty", "-L", "-ok rm {} \\;", "-size +1k"),
)
WRAPPERS: Final = (
    *("timeout 5 ", "nice -n 5 ", "env ", "env A=1 ", "sudo ", "sudo -u x ", "nohup ", "time ", "xargs ", "xargs -n1 "),
    *(
        "command ",
        "setsid ",
        "stdbuf -oL ",
        "npx ",
        "uv run ",
        "docker exec c ",
        "bash -c ",
        "ssh host ",
        "watch ",
        "doas ",
    ),
    *(
        "env -C /tmp ",
        "git -C sub ",
        "exec ",
        "busybox ",
        "/usr/bin/",
        "./",
        "CI=1 ",
        "LC_ALL=C ",
        "PATH=x ",
        "! ",
        "\\",
    ),
    *(
        "flock /tmp/l ",
        "parallel ",
        "kubectl exec p -- ",
        "poetry run ",
        "chroot /x ",
        "systemd-run ",
        "strace -o out/x ",
    ),
)
TAILS: Final = (
    *(" > out.txt", " >> src/log", " 2>/dev/null", " 2>&1", " < .env", " < a.txt", " &> out/l", " > .env", " | sh"),
    *(
        " | head -5",
        " | xargs rm",
        " | xargs cat",
        " | tee out/x",
        " && git push",
        "; rm x",
        " &",
        " || true",
        " | python3",
    ),
    *(
        " <<E\nx $(rm y)\nE",
        " <<< $X",
        " > $F",
        " | bash -s",
        " && cd sub && ls",
        " > /dev/tcp/h/1",
        " # end",
        "\nrm -r build",
    ),
)
AROUND: Final = (
    *("$({})", "echo $({})", "( {} )", "{ {}; }", "if {}; then ls; fi", "for f in a b; do {}; done", "f() { {}; }; f"),
    *("while read l; do {}; done", "cd src && {}", "cd $D && {}", "x=1; {}", "F=.env; {}", 'eval "{}"', "bash -c '{}'"),
    *(
        "cat <({})",
        "ls | {}",
        "echo x | {}",
        "find . -exec {} \\;",
        "set -e; {}",
        "ln -s out q && {}",
        "export A=b; {}",
    ),
    *(
        "case x in x) {};; esac",
        "`{}`",
        "test -f a && {}",
        "sudo sh -c '{}'",
        "{} | sort | uniq -c",
        "until {}; do :; done",
    ),
)
TWINS: Final = {
    "tar": ("gtar", "bsdtar"), "sed": ("gsed",), "awk": ("gawk", "mawk", "nawk"), "node": ("nodejs", "node18"),
    "python": ("python3", "python3.11", "pypy3"), "python3": ("python3.11", "python", "pypy3"), "fd": ("fdfind",),
    "make": ("gmake",), "pip": ("pip3", "pip3.11"), "docker": ("podman", "nerdctl"), "vim": ("vi", "nvim"),
    "grep": ("egrep", "fgrep"), "sudo": ("sudo-rs", "doas", "run0"), "nc": ("ncat", "netcat"), "lua": ("lua5.4",),
}  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+_.-]*")


def read_lines(name: str) -> list[Any]:
    """The values of a packed file of the data, one a line."""
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def every_text() -> Iterator[str]:
    """The recorded texts, then the generated ones, always the same in the same order."""
    recorded: list[str] = read_lines("texts.jsonl.gz")
    yield from recorded
    known = set(recorded)
    maker = Maker(recorded, SEED)
    made = 0
    while made < GENERATED:
        text = maker.command()
        if text not in known and len(text) <= _MAX_CHARS:
            known.add(text)
            made += 1
            yield text


class Maker:
    """Draws commands."""

    def __init__(self, recorded: Sequence[str], seed: int) -> None:
        words = json.loads((DATA / "words.json").read_text("utf-8"))
        self.programs: list[str] = words["programs"]
        self.options: dict[str, list[list[str]]] = words["options"]
        self.subcommands: dict[str, list[str]] = words["subcommands"]
        self.told = sorted(self.options)
        self.recorded = [text for text in recorded if len(text) < 300]
        self.draw = random.Random(seed).random

    def one(self, items: Sequence[_T]) -> _T:
        """Any of these."""
        return items[int(self.draw() * len(items))]

    def chance(self, share: float) -> bool:
        """True this often."""
        return self.draw() < share

    def command(self) -> str:
        """One text."""
        kinds: tuple[Callable[[], str], ...] = (
            self.simple, self.simple, self.simple, self.found, self.mutant, self.mutant, self.joined, self.wrapped,
        )  # fmt: skip
        text = self.one(kinds)()
        if self.chance(0.2):
            text += self.one(TAILS)
        return self.one(AROUND).replace("{}", text, 1) if self.chance(0.12) else text

    def simple(self) -> str:
        """A program with options and operands of its tables, and of nobody's."""
        name = self.one(self.told) if self.chance(0.8) else self.one(self.programs)
        words = [name]
        known = self.options.get(name, [])
        if " " not in name and self.subcommands.get(name) and self.chance(0.6):
            front = self.option(known) if known and self.chance(0.4) else ""
            words += [*([front] if front else []), self.one(self.subcommands[name])]
        for _ in range(int(self.draw() * 4)):
            words.append(self.option(known) if known and self.chance(0.6) else self.operand())
        if self.chance(0.08):
            words.insert(1, self.one(("--unknown", "--unknown x", "--unknown=x", "-Q", "--", "--help", "--version")))
        return " ".join(words)

    def option(self, known: Sequence[Sequence[str]]) -> str:
        """One option in one of its spellings."""
        name, takes, kind = self.one(known)
        if takes == "none":
            return name[: max(4, int(len(name) * self.draw()))] if name[:2] == "--" and self.chance(0.1) else name
        value = self.one(FILES) if kind in ("file", "path", "out") else self.one(("1", "5", *TEXTS))
        if takes == "glued":
            return self.one((name, f"{name}={value}" if name[:2] == "--" else f"{name}{value}"))
        return self.one((f"{name} {value}", f"{name}={value}" if name[:2] == "--" else f"{name}{value}"))

    def operand(self) -> str:
        """A word that is no option."""
        return self.one(FILES) if self.chance(0.6) else self.one(TEXTS)

    def found(self) -> str:
        """A `find`."""
        return " ".join(["find", self.one(FILES), *(self.one(FIND) for _ in range(1 + int(self.draw() * 4)))])

    def mutant(self) -> str:
        """A recorded text with a program, an option or an operand changed."""
        text = self.one(self.recorded)
        words = text.split(" ")
        at = int(self.draw() * len(words))
        way = int(self.draw() * 4)
        if way == 0:
            twins = TWINS.get(words[at])
            words[at] = (
                self.one(twins) if twins else self.one(self.programs) if _NAME.fullmatch(words[at]) else words[at]
            )
        elif way == 1:
            known = self.options.get(words[at])
            words.insert(at + 1, self.option(known) if known else self.operand())
        elif way == 2:
            words[at] = self.one(
                (f"'{words[at]}'", f'"{words[at]}"', f"{words[at]}$X", f"{words[at]}*", self.operand())
            )
        elif len(words) > 1:
            del words[at]
        return " ".join(words)

    def joined(self) -> str:
        """Two texts in one."""
        return self.one((" && ", " | ", "; ", " || ", "\n")).join((self.one(self.recorded), self.simple()))

    def wrapped(self) -> str:
        """A text behind wrappers."""
        text = self.simple() if self.chance(0.5) else self.one(self.recorded)
        for _ in range(1 + int(self.draw() * 2)):
            text = self.one(WRAPPERS) + text
        return text
