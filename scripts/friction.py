"""How often people are asked: shell calls of whole sessions, judged one after the other, with and without saved rules.

Each input line is a session: {"session": "name", "project": "p", "cwd": "/where", "commands": ["...", ...]}. Nothing is
run and the disk is not looked at. "saved": the rules that are offered with a question hold from then on in the session.
"kept": those that are worth keeping hold in later sessions of the same project, too, as local settings do.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.policy.suggest import for_this_session, suggest_rules_for
from holdfast.permissions.rules.grammar import Rule, RuleSource
from holdfast.permissions.tool_facts import ALIASES, facts_from_input

_OWN = Path(__file__).resolve().parent.parent / "tests" / "data" / "friction" / "sessions.jsonl"
_MODES = ("default", "acceptEdits", "auto", "plan")


class Session(NamedTuple):
    """The shell calls of one session."""

    name: str
    project: str
    cwd: str
    commands: list[str]


class Count:
    """What became of the calls in one mode."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        """With rules saved for the session, and with rules kept for the project."""
        self.without_offer: Counter[str] = Counter()
        self.not_covering: list[str] = []
        self.kept: dict[str, list[Rule]] = {}
        """By project."""


def sessions_of(paths: list[Path]) -> Iterator[Session]:
    """Every session of the files."""
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            found: dict[str, Any] = json.loads(line)
            cwd = found.get("cwd", "/srv/project")
            yield Session(found["session"], found.get("project", cwd), cwd, found["commands"])


def judge(session: Session, mode: str, count: Count) -> None:
    """Judge the calls of a session in order: without any rule, with saved ones, and with kept ones."""
    options: Any = {"working_directories": (session.cwd,), "project_root": session.cwd, "start_directory": session.cwd}
    home = os.environ["HOME"] = _home(session.cwd)  # `~` is theirs, not ours
    plain = saved = PermissionContext(mode, (), home=home, trusted=True, disk=NoDisk(), **options)
    kept = plain.with_rules(*count.kept.get(session.project, ()))
    for command in session.commands:
        facts = facts_from_input("Bash", {"command": command}, session.cwd)
        verdict = decide(facts, plain).behavior
        count.verdicts[verdict] += 1
        if verdict != "ask":
            continue
        if decide(facts, saved).behavior == "ask":
            saved = saved.with_rules(*_saved(facts, saved, count))
            count.asked["saved"] += 1
        if decide(facts, kept).behavior == "ask":
            count.asked["kept"] += 1
            texts = suggest_rules_for(facts, kept)
            rules = _parsed(texts)
            kept = kept.with_rules(*rules)
            if not for_this_session(texts):
                count.kept.setdefault(session.project, []).extend(rules)


def _home(cwd: str) -> str:
    """Whose session it was, as far as its directory tells."""
    parts = cwd.split("/")
    return "/".join(parts[:3]) if parts[1:2] in (["home"], ["Users"]) and len(parts) > 3 else "/home/user"


def _saved(facts: CallFacts, context: PermissionContext, count: Count) -> list[Rule]:
    """The rules that the person is offered, and whether they keep their promise."""
    command = facts.subject.value
    rules = _parsed(suggest_rules_for(facts, context))
    if not rules:
        count.without_offer[command] += 1
    elif decide(facts, context.with_rules(*rules)).behavior != "allow":
        count.not_covering.append(command)
    return rules


def _parsed(texts: Iterable[str]) -> list[Rule]:
    return [Rule.parse("allow", text, RuleSource(), aliases=ALIASES) for text in texts]


def main() -> int:
    """Print a row for each mode; exit 1 if a rule is offered that does not cover its own call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=[_OWN])
    parser.add_argument("--show", type=int, default=0, metavar="N", help="also show N texts without any offer")
    given = parser.parse_args()
    sessions = list(sessions_of(given.files))
    calls = sum(len(session.commands) for session in sessions)
    out = sys.stdout.write
    out(f"{len(sessions)} sessions, {calls} shell calls\n")
    out("mode         pass  ask deny   asked/100: unsaved  saved   kept   per session   no offer  not covering\n")
    bad = 0
    for mode in _MODES:
        count = Count()
        for session in sessions:
            judge(session, mode, count)
        bad += len(count.not_covering)
        shares = "".join(f"{100 * count.verdicts[name] / calls:5.1f}" for name in ("allow", "ask", "deny"))
        per_100 = [100 * times / calls for times in (count.verdicts["ask"], count.asked["saved"], count.asked["kept"])]
        offers = 100 * count.without_offer.total() / max(1, count.asked["saved"])
        out(
            f"{mode:12}{shares} {per_100[0]:20.1f} {per_100[1]:6.1f} {per_100[2]:6.1f}"
            f" {count.asked['kept'] / len(sessions):13.1f} {offers:9.1f}% {len(count.not_covering):13}\n"
        )
        if mode == "default":
            for text, times in count.without_offer.most_common(given.show):
                out(f"  no offer, {times} times: {text!r}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
