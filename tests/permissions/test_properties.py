"""Laws of the decision, over random rules and calls."""

import random
from itertools import product
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contract import RuleUpdate
from holdfast.permissions.classifier import ClassifierAnswer, DeterministicClassifier, Risk, SecondOpinion, Seen
from holdfast.permissions.context import MODES, PermissionContext
from holdfast.permissions.decision import NO_OPINION, STRICTNESS, HookOpinion, decide, survey
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleSource, parse_rule
from holdfast.permissions.tool_facts import ALIASES, facts_from_input

NAMES = ("a", "b", "src", ".env", "x.py", ".git", "*", "**", "*.py", "?", "..")
TOOLS = ("Read", "Edit", "Write", "WebFetch", "Agent", "Task", "mcp__s", "mcp__s__*", "mcp__s__t", "Custom", "Skill")


def paths_of(names: tuple[str, ...], most: int) -> st.SearchStrategy[str]:
    """Paths of up to so many names, each length as often as the others.

    Made beforehand: drawing a path name by name costs more than a whole decision does.
    """
    lengths = range(1, most + 1)
    return st.one_of([st.sampled_from(list(map("/".join, product(names, repeat=count)))) for count in lengths])


def made(behavior: Behavior, text: str) -> Rule:
    if ".." in text and behavior == "allow":  # that is none: it would match nothing
        behavior = "ask"
    found = parse_rule(text, behavior, RuleSource("user"), aliases=ALIASES)
    assert isinstance(found, Rule), found
    return found


# Only texts that are rules: every second one would be thrown away if tools and contents were drawn apart.
behaviors: list[Behavior] = ["allow", "ask", "deny"]
NEVER_ALLOWED = ("*", "*(*)")
FEW = (
    *TOOLS,
    *(f"{tool}(*)" for tool in TOOLS),
    *("WebFetch(domain:example.com)", "WebFetch(domain:*.example.com)", "Skill(a *)"),
)
anchors = ("", "/", "./", "//proj/", "~/", "//")
openings = st.sampled_from([f"{tool}({anchor}" for tool in ("Read", "Edit", "Agent", "Task") for anchor in anchors])
rules = st.one_of(
    st.sampled_from(
        [
            *(made(behavior, text) for behavior in behaviors for text in FEW),
            *(made(behavior, text) for behavior in behaviors[1:] for text in NEVER_ALLOWED),
        ]
    ),
    st.builds(made, st.sampled_from(behaviors), st.builds("{}{})".format, openings, paths_of(NAMES, 3))),
)

places = st.builds(
    "{}{}".format,
    st.sampled_from(("", "/proj/", "/else/", "~/")),
    paths_of(("a", "b", "src", ".env", "x.py", ".git", ".."), 4),
)
pathless: list[tuple[str, dict[str, str]]] = [
    ("WebFetch", {"url": "https://www.example.com/"}),
    ("Agent", {"subagent_type": "a"}),
    ("mcp__s__t", {}),
    ("Custom", {}),
    ("Skill", {"skill": "a"}),
    ("TodoWrite", {}),
]


def call_at(tool: str, path: str) -> CallFacts:
    return facts_from_input(tool, {"path": path, "pattern": "x"} if tool == "Grep" else {"file_path": path}, "/proj")


def calls(*tools: str) -> st.SearchStrategy[CallFacts]:
    """Calls of these tools, or of every kind."""
    paths = [tool for tool in ("Read", "Edit", "Write", "Grep") if not tools or tool in tools]
    others = [facts_from_input(*call, "/proj") for call in pathless if not tools or call[0] in tools]
    return st.one_of(st.builds(call_at, st.sampled_from(paths), places), st.sampled_from(others))


modes = st.sampled_from(MODES)
hooks = st.sampled_from([None, HookOpinion("allow"), HookOpinion("ask"), HookOpinion("deny")])


def context(mode: str, found: list[Rule]) -> PermissionContext:
    return PermissionContext(
        mode, found, working_directories=("/proj",), project_root="/proj", home="/home/u", disk=NoDisk()
    )


@given(calls(), modes, st.lists(rules, max_size=6), rules, hooks)
def test_adding_a_deny_never_turns_deny_or_ask_into_allow(
    call: CallFacts, mode: str, found: Any, extra: Any, hook: Any
) -> None:
    before = decide(call, context(mode, found), hook=hook)
    after = decide(call, context(mode, [*found, msgspec.structs.replace(extra, behavior="deny")]), hook=hook)
    assert STRICTNESS[after.behavior] >= STRICTNESS[before.behavior]


@given(calls(), modes, st.lists(rules, max_size=6), rules, hooks)
def test_adding_an_allow_never_changes_a_deny_by_rule_or_lowers_an_ask_rule(
    call: CallFacts, mode: str, found: Any, extra: Any, hook: Any
) -> None:
    before = decide(call, context(mode, found), hook=hook)
    after = decide(call, context(mode, [*found, msgspec.structs.replace(extra, behavior="allow")]), hook=hook)
    if before.layer in ("deny", "ask", "guard", "hook"):
        assert after == before
    assert STRICTNESS[after.behavior] <= STRICTNESS[before.behavior]


@given(calls(), modes, st.lists(rules, max_size=8), hooks, st.randoms(use_true_random=False))
def test_the_order_of_rules_never_matters(
    call: CallFacts, mode: str, found: Any, hook: Any, shuffler: random.Random
) -> None:
    shuffled = list(found)
    shuffler.shuffle(shuffled)
    one, two = decide(call, context(mode, found), hook=hook), decide(call, context(mode, shuffled), hook=hook)
    assert (one.behavior, one.layer) == (two.behavior, two.layer)


@given(calls(), modes, modes, st.lists(rules, max_size=5), st.lists(rules, max_size=5), hooks)
def test_a_child_is_never_allowed_what_its_parents_ceiling_denies(
    call: CallFacts, mode: str, child_mode: str, found: Any, extra: Any, hook: Any
) -> None:
    parent = context(mode, found)
    child = parent.child(child_mode, extra)
    grandchild = child.child("bypassPermissions")
    bound = STRICTNESS[decide(call, parent, hook=hook).behavior]
    assert STRICTNESS[decide(call, child, hook=hook).behavior] >= bound
    assert STRICTNESS[decide(call, grandchild, hook=hook).behavior] >= bound


steps = st.one_of(
    st.tuples(st.just("child"), modes),
    st.tuples(st.just("mode"), modes),
    st.tuples(st.just("rules"), st.lists(rules, min_size=1, max_size=3)),
    st.tuples(st.just("narrowed"), st.lists(rules, min_size=1, max_size=3)),
    st.tuples(st.just("answer"), st.sampled_from(["Edit", "Read", "Custom", "Edit(src/**)", "WebFetch", "mcp__s"])),
    st.tuples(st.just("readable"), st.sampled_from(["/else", "/proj/src", "/"])),
    st.tuples(st.just("inside"), st.sampled_from(["/else", "/proj/src", "/"])),
    st.tuples(st.just("apart"), st.just("/proj/.holdfast/worktrees/one")),
)
"""What happens to the rights of an agent while it works, or of one that it starts."""


def taken(rights: PermissionContext, what: str, given: Any) -> PermissionContext:
    if what == "child":
        return rights.child(given)
    if what == "mode":
        return rights.with_mode(given)
    if what == "rules":
        return rights.with_rules(*given)
    if what == "narrowed":
        return rights.child(None, given)
    if what == "answer":
        return rights.with_update(RuleUpdate("allow", (given,)))
    if what == "readable":
        return rights.with_readable((given,))
    if what == "inside":
        return rights.with_options(added_directories=((given,),))
    return rights.with_options(worktree=("/proj", given), worktrees_of="/proj")


@given(calls(), modes, st.lists(rules, max_size=4), st.lists(steps, max_size=7), hooks)
def test_nothing_that_happens_below_goes_over_the_rights_above(
    call: CallFacts, mode: str, found: Any, way: Any, hook: Any
) -> None:
    above = context(mode, found)
    bound = STRICTNESS[decide(call, above, hook=hook).behavior]
    rights = above.child(mode)
    for what, given_ in way:
        rights = taken(rights, what, given_)
        assert above in rights.ancestors()
        assert STRICTNESS[decide(call, rights, hook=hook).behavior] >= bound


@given(calls("Edit", "Write", "Custom"), st.lists(rules, max_size=6), hooks)
def test_nothing_that_writes_passes_in_plan_mode(call: CallFacts, found: Any, hook: Any) -> None:
    assert decide(call, context("plan", found), hook=hook).behavior == "deny"


@given(calls(), st.lists(rules, max_size=6), hooks)
def test_dont_ask_never_asks(call: CallFacts, found: Any, hook: Any) -> None:
    assert decide(call, context("dontAsk", found), hook=hook).behavior != "ask"


@given(calls(), modes, st.lists(rules, max_size=6), hooks)
def test_the_layer_that_decides_says_the_same_when_asked_by_itself(
    call: CallFacts, mode: str, found: Any, hook: Any
) -> None:
    where = context(mode, found)
    decision = decide(call, where, hook=hook)
    words = {step.layer: step.behavior for step in survey(call, where, hook=hook)}
    word = words[decision.layer]
    if mode == "dontAsk" and word == "ask":
        word = "deny"
    assert word == decision.behavior or (decision.layer, word, words["classifier"]) == ("mode", NO_OPINION, "allow")


COMMANDS = ("ls", "make", "git push --force", "sudo x", "rm -rf /", "cp a b", "cp a /etc", "$x", "cat ../x && make")


@st.composite
def shown_calls(draw: st.DrawFn) -> CallFacts:
    """Calls that a classifier may see, shell commands and remote tools among them."""
    if draw(st.booleans()):
        call = facts_from_input("Bash", {"command": draw(st.sampled_from(COMMANDS))}, "/proj")
    else:
        call = draw(calls())
    return call._replace(classifier_input=draw(st.sampled_from([None, "x"])))


class Known:
    """Our own classifier, which notes the strictest word it had to say."""

    def __init__(self) -> None:
        self.firm = False

    def classify(self, call: CallFacts, context: PermissionContext, seen: Seen) -> Risk:
        risk = DeterministicClassifier().classify(call, context, seen)
        self.firm = self.firm or (risk.level == "high" and not risk.unknown)
        return risk


@given(
    shown_calls(),
    st.lists(st.tuples(modes, st.lists(rules, max_size=4)), min_size=1, max_size=3),
    hooks,
    st.sampled_from(["allow", "ask", "deny", "ALLOW", ""]),
)
def test_a_lying_classifier_never_lowers_anything_but_our_own_not_knowing(
    call: CallFacts, generations: Any, hook: Any, verdict: Any
) -> None:
    found = context(*generations[0])
    for mode, more in generations[1:]:
        found = found.child(mode, more)
    known = Known()
    own = decide(call, found, hook=hook, classifier=known)
    lied = decide(call, found, hook=hook, classifier=SecondOpinion(ClassifierAnswer(verdict, "trust me")))
    if STRICTNESS[lied.behavior] < STRICTNESS[own.behavior]:
        assert (own.behavior, lied.behavior, verdict) == ("ask", "allow", "allow")
        assert own.layer in ("classifier", "ceiling")
        assert call.classifier_input is not None
        assert not known.firm
        assert "auto" in {one.effective_mode for one in (found, *found.ancestors())}
    if own.layer in ("deny", "ask", "guard", "hook", "tool", "allow"):
        assert lied.behavior == own.behavior or own.layer == "allow"
    if not own.classified:
        assert lied == own
