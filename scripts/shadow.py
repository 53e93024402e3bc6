"""Hold today's shell verdicts against those of the commit before permissions/ was cut anew.

    python scripts/shadow.py            compare all of them (about two minutes on two cores)
    python scripts/shadow.py --share 20 compare every twentieth
    python scripts/shadow.py --record   write the verdicts; only on purpose, on a commit that is to be the measure

Every line must be equal, or stricter, or changed in what is only shown, with a reason that `exceptions.jsonl` names. A
line that is looser must be listed there by the digest of its text. The files are frozen by `frozen.json`.
"""

import argparse
import gzip
import hashlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from shadow_commands import DATA, every_text, read_lines

from holdfast.permissions import LiveDisk, NoDisk, PermissionContext, Rule, decide, facts_from_input
from holdfast.permissions.policy.suggest_commands import suggest_rules
from holdfast.permissions.shell import analyse, critical_removal, high_risk

HOME: Final = "/home/user"
PROJECT: Final = "/project"
_DENY: Final = (
    *("Bash(rm *)", "Bash(git push *)", "Bash(npm publish *)", "Bash(docker push *)", "Bash(kubectl delete *)"),
    *("Bash(curl *)", "Bash(sudo *)", "Bash(* --force)", "Read(.env)", "Read(secrets/**)", "Edit(locked/**)"),
)
_FAMILIES: Final = (
    *("Bash(git *)", "Bash(npm run *)", "Bash(find *)", "Bash(ls:*)", "Bash(python3 *)", "Bash(xargs *)", "Bash(cp *)"),
    *("Bash(docker *)", "Bash(make*)", "Bash(CI=1 npm:*)", "Bash(timeout 5 npm test)", "Edit(src/**)", "Edit(out/**)"),
)
_ASK: Final = ("Bash(git *)", "Bash(npm *)", "Read(.env)", "Edit(docs/**)")


def settle() -> None:
    """Give this process an environment that is the same everywhere."""
    os.environ.update({"HOME": HOME, "PATH": "/usr/bin:/bin", "SHELL": "/bin/bash", "LANG": "C.UTF-8"})
    for name in ("RIPGREP_CONFIG_PATH", "CDPATH", "GLOBIGNORE", "BASHOPTS"):
        os.environ.pop(name, None)


class Policy(NamedTuple):
    """Rights under which every text is judged."""

    mode: str
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    ask: Sequence[str] = ()
    live: bool = False
    """In a real directory, with files, links and a repository."""


POLICIES: Final = (
    Policy("acceptEdits"),
    Policy("auto"),
    Policy("bypassPermissions", deny=_DENY),
    Policy("default", allow=("Bash",), deny=_DENY),
    Policy("default", allow=("Bash",), ask=_ASK),
    Policy("default", allow=_FAMILIES),
    Policy("auto", allow=_FAMILIES, deny=("Read(.env)", "Edit(locked/**)")),
    Policy("auto", deny=("Read(.env)", "Edit(locked/**)"), live=True),
    Policy("default", allow=("Bash",), deny=_DENY, live=True),
)
_LETTERS: Final = {"allow": "a", "ask": "q", "deny": "x"}
_RISKS: Final = (
    *("privilege", "deletes-outside", "critical-removal", "history-rewrite", "publishes", "remote-code", "credentials"),
    *("system-config", "kills-processes", "disk-devices", "network-exfiltration", "permission-widening", "git-config"),
    *("background", "hidden", "infrastructure", "deploys", "container", "tracked-tree", "database"),
)
_SHOWN: Final = frozenset({"kind", "suggestions"})
"""Fields that nothing is allowed by: another value is neither looser nor stricter."""
FIELDS: Final = ("read_only", "critical", "doubt", "kind", "network", "risk", "suggestions")
_ORDER: Final = {"a": 0, "q": 1, "x": 2}


class Line(NamedTuple):
    """The verdicts on one text: facts in the order of `FIELDS`, then a letter for each policy."""

    digest: str
    facts: tuple[str, ...]
    verdicts: str

    def __str__(self) -> str:
        return f"{self.digest} {','.join(self.facts)} {self.verdicts}"

    @classmethod
    def parse(cls, text: str) -> "Line":
        """Read what `str` has written."""
        digest, facts, verdicts = text.split(" ")
        return cls(digest, tuple(facts.split(",")), verdicts)


class Difference(NamedTuple):
    """A text that is judged otherwise than before."""

    kind: str
    """looser, stricter or changed."""
    what: str
    digest: str
    text: str


def digest_of(text: str) -> str:
    """What a text is known by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Judge:
    """Judges texts under every policy."""

    def __init__(self, tree: str) -> None:
        self._tree = tree
        self._contexts = [(self._context(policy), tree if policy.live else PROJECT) for policy in POLICIES]

    def _context(self, policy: Policy) -> PermissionContext:
        root = self._tree if policy.live else PROJECT
        rules = [Rule.parse("allow", text) for text in policy.allow]
        rules += [Rule.parse("deny", text) for text in policy.deny]
        rules += [Rule.parse("ask", text) for text in policy.ask]
        disk = LiveDisk() if policy.live else NoDisk()
        return PermissionContext.started_in(root, policy.mode, rules, home=HOME, trusted=True, disk=disk)

    def line(self, text: str) -> Line:
        """The verdicts on one text."""
        analysis = analyse(text, cwd=PROJECT)
        risk = (high_risk(analysis, cwd=PROJECT) or "").partition(":")[0]
        offered = "\n".join(suggest_rules(analysis))
        facts = (
            "R" if analysis.read_only else "-",
            "C" if critical_removal(analysis, cwd=PROJECT) else "-",
            "D" if analysis.doubt else "-",
            (analysis.kind or "-")[0],
            "N" if analysis.effects.network else "-",
            chr(ord("a") + _RISKS.index(risk)) if risk else "-",
            digest_of(offered)[:4] if offered else "-",
        )
        verdicts = "".join(self._verdict(text, context, cwd) for context, cwd in self._contexts)
        return Line(digest_of(text), facts, verdicts)

    def _verdict(self, text: str, context: PermissionContext, cwd: str) -> str:
        return _LETTERS[decide(facts_from_input("Bash", {"command": text}, cwd), context).behavior]


def recorded_verdict(case: dict[str, Any]) -> str:
    """The verdict on a decision that a test has made, without its disk."""
    rules = [Rule.parse(behavior, text) for behavior, text in case["rules"]]
    context = PermissionContext.started_in(case["cwd"], case["mode"], rules, home=HOME, trusted=True, disk=NoDisk())
    return _LETTERS[decide(facts_from_input("Bash", {"command": case["command"]}, case["cwd"]), context).behavior]


def make_tree(root: str) -> None:
    """A small project with what rules are about: secrets, links, tracked files."""
    for name in (
        ".env",
        "secrets/key.pem",
        "src/main.py",
        "src/app.js",
        "docs/readme.md",
        "locked/x",
        "a.txt",
        "out/a",
    ):
        path = Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n", encoding="utf-8")
    for name, target in (("link", "docs"), ("far", "/etc"), ("env_link", ".env"), ("src/deep", "../secrets")):
        Path(root, name).symlink_to(target)
    git = ["/usr/bin/git", "-C", root, "-c", "user.name=n", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "src/main.py", "docs", "a.txt", "secrets"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True, timeout=60, capture_output=True)


def _lines_of(texts: Sequence[str]) -> list[Line]:
    with tempfile.TemporaryDirectory(prefix="shadow-") as folder:
        tree = os.path.join(os.path.realpath(folder), "above", "project")  # what lies beside it is ours, too
        make_tree(tree)
        judge = Judge(tree)
        return [judge.line(text) for text in texts]


def _decisions_of(cases: Sequence[dict[str, Any]]) -> list[str]:
    return [recorded_verdict(case) for case in cases]


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


def verdicts_now(texts: Sequence[str], cases: Sequence[dict[str, Any]]) -> tuple[list[Line], list[str]]:
    """The verdicts on all of these, with every core."""
    with multiprocessing.get_context("spawn").Pool(min(2, os.cpu_count() or 1), settle) as pool:
        lines = [line for found in pool.imap(_lines_of, _chunks(texts, 2_000)) for line in found]
        decisions = [letter for found in pool.imap(_decisions_of, _chunks(cases, 1_000)) for letter in found]
    return lines, decisions


def compare(old: Line, new: Line, text: str) -> Difference | None:
    """What is another verdict on a text, or None."""
    assert old.digest == new.digest, f"another text than was recorded: {text!r}"
    if old == new:
        return None
    looser: list[str] = []
    stricter: list[str] = []
    changed: list[str] = []
    for name, before, after in zip(FIELDS, old.facts, new.facts, strict=True):
        if before == after:
            continue
        if name in _SHOWN or (name == "risk" and "-" not in (before, after)):
            changed.append(f"{name} {before}>{after}")
        else:  # a proof that is new is looser, and so is a danger that is no longer seen
            (looser if (after == "-") != (name == "read_only") else stricter).append(f"{name} {before}>{after}")
    for policy, before, after in zip(POLICIES, old.verdicts, new.verdicts, strict=True):
        if before != after:
            where = f"{policy.mode}{' live' if policy.live else ''} {before}>{after}"
            (looser if _ORDER[after] < _ORDER[before] else stricter).append(where)
    kind = "looser" if looser else "stricter" if stricter else "changed"
    return Difference(kind, "; ".join((*looser, *stricter, *changed)), old.digest, text)


def excused(difference: Difference, exceptions: Iterable[dict[str, Any]]) -> str | None:
    """The reason that is named for a difference, or None. A looser line is listed by its digest alone."""
    for entry in exceptions:
        if difference.digest in entry.get("digests", ()):
            return str(entry["reason"])
        pattern = entry.get("pattern")
        if difference.kind != "looser" and pattern and re.search(pattern, difference.text):
            return str(entry["reason"])
    return None


def frozen_problems() -> list[str]:
    """What is not as it was frozen."""
    frozen = json.loads((DATA / "frozen.json").read_text("utf-8"))
    found = [
        f"{name} is not the file that was frozen"
        for name, known in frozen["files"].items()
        if hashlib.sha256((DATA / name).read_bytes()).hexdigest() != known
    ]
    if frozen["policies"] != digest_of(repr(POLICIES)):
        found.append("the policies are not those that were frozen")
    return found


def record(texts: Sequence[str], cases: Sequence[dict[str, Any]]) -> None:
    """Write the verdicts of this commit, and freeze them."""
    lines, decisions = verdicts_now(texts, cases)
    body = "".join(f"{line}\n" for line in lines).encode()
    (DATA / "verdicts.txt.gz").write_bytes(gzip.compress(body, 9, mtime=0))
    (DATA / "decided.txt").write_text("".join(decisions), encoding="ascii")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True, timeout=60)
    names = ("texts.jsonl.gz", "decisions.jsonl.gz", "words.json", "verdicts.txt.gz", "decided.txt")
    frozen = {
        "commit": commit.stdout.strip(),
        "texts": len(lines),
        "decisions": len(decisions),
        "policies": digest_of(repr(POLICIES)),
        "files": {name: hashlib.sha256((DATA / name).read_bytes()).hexdigest() for name in names},
    }
    (DATA / "frozen.json").write_text(json.dumps(frozen, indent=1) + "\n", encoding="utf-8")
    print(f"recorded {len(lines):,} texts under {len(POLICIES)} policies, and {len(decisions):,} decisions of tests")


def known_lines() -> list[Line]:
    """The verdicts that were recorded."""
    with gzip.open(DATA / "verdicts.txt.gz", "rt", encoding="ascii") as file:
        return [Line.parse(line.rstrip("\n")) for line in file]


def differences(*, share: int = 1, offset: int = 0) -> tuple[list[Difference], int]:
    """What is judged otherwise than it was recorded, and how many texts and decisions were looked at."""
    texts = list(islice(every_text(), offset, None, share))
    old = known_lines()[offset::share]
    cases: list[dict[str, Any]] = read_lines("decisions.jsonl.gz")[offset::share]
    before = (DATA / "decided.txt").read_text("ascii")[offset::share]
    lines, decisions = verdicts_now(texts, cases)
    found = [one for one in map(compare, old, lines, texts) if one is not None]
    for case, was, now in zip(cases, before, decisions, strict=True):
        if was != now:
            kind = "looser" if _ORDER[now] < _ORDER[was] else "stricter"
            text = json.dumps(case, sort_keys=True)
            found.append(Difference(kind, f"decision {was}>{now}", digest_of(text), text))
    return found, len(texts) + len(cases)


def exceptions() -> list[dict[str, Any]]:
    """The differences that are meant, with their reasons."""
    lines = (DATA / "exceptions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--record", action="store_true", help="write the verdicts instead of comparing them")
    options.add_argument("--share", type=int, default=1, help="look at every so manieth text")
    options.add_argument("--show", type=int, default=40, help="how many differences are printed")
    given = options.parse_args()
    if given.record:
        record(list(every_text()), read_lines("decisions.jsonl.gz"))
        return 0
    problems = frozen_problems()
    found, looked_at = differences(share=given.share)
    known = exceptions()
    reasons = {one: excused(one, known) for one in found}
    red = [one for one, reason in reasons.items() if reason is None]
    for one in red[: given.show]:
        print(f"{one.kind:>8}  {one.digest}  {one.what}\n          {one.text!r}")
    counts = Counter(one.kind for one in found)
    excuses = Counter(reason for reason in reasons.values() if reason is not None)
    for reason, count in excuses.most_common():
        print(f"{count:>8}  {reason}")
    for problem in problems:
        print(problem)
    told = ", ".join(f"{counts[kind]} {kind}" for kind in ("looser", "stricter", "changed"))
    print(f"{looked_at:,} looked at: {looked_at - len(found):,} equal, {told}; {len(red)} without a reason")
    return 1 if red or problems else 0


if __name__ == "__main__":
    sys.exit(main())
