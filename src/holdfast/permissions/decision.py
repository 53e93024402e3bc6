"""May this call happen: a pure function of the call and the context, with its trace.

The layers, in order: the user's gates, the classifier (in `auto`), deny rules, ask rules, the tool's own opinion,
guards that nothing lifts, allow rules, the mode. Deny beats ask beats allow, whatever the source or the mode. The
rights of a subagent are bounded by every context above it: the strictest verdict counts.
"""

from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from holdfast.permissions.classifier import Classifier, DeterministicClassifier, Risk, Seen
from holdfast.permissions.facts import CallFacts, look
from holdfast.permissions.matching import Voices, grant_of, matching_rule, path_hits, whole_allow
from holdfast.permissions.modes import Cell, Row, cell, guard_of_write, row_of_read, row_of_write, secret_outside
from holdfast.permissions.rules.grammar import Behavior, Rule
from holdfast.permissions.web import WebRefusal

if TYPE_CHECKING:
    from holdfast.contract import Opinion
    from holdfast.permissions.context import PermissionContext
    from holdfast.permissions.facts import ShellVerdict
    from holdfast.permissions.paths import PathFacts

__all__ = ["NO_OPINION", "CallFacts", "Decision", "HookOpinion", "Step", "decide", "survey"]

STRICTNESS: Final = {"allow": 0, "ask": 1, "deny": 2}
NO_OPINION: Final = "no opinion"
_DEFAULT_CLASSIFIER: Final = DeterministicClassifier()


class HookOpinion(NamedTuple):
    """What the user's own gates said before the rules."""

    behavior: Behavior
    reason: str = ""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layer's verdict."""

    layer: str
    behavior: str
    reason: str = ""
    rule: Rule | None = None


class Decision(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict, what decided it, and how it came about."""

    behavior: Behavior
    layer: str
    reason: str
    rule: Rule | None = None
    trace: tuple[Step, ...] = ()
    guarded: bool = False
    """The question comes from a guard (protected path, hard link, critical removal): no saved rule can answer it."""
    classified: bool = False
    """A classifier was heard, here or in a context above."""


class _Part(NamedTuple):
    """One effect of a call: where it falls in the mode table, and the allow rule that covers it."""

    row: Row
    does: str
    rule: Rule | None = None
    path: "PathFacts | None" = None

    @property
    def what(self) -> str:
        """The effect in words."""
        return self.does if self.path is None else f"{self.does} {self.path.given!r}"


_SESSION_PART: Final = _Part("free", "a change of the session's own records")


def decide(
    call: CallFacts,
    context: "PermissionContext",
    *,
    hook: HookOpinion | None = None,
    opinion: "Opinion | None" = None,
    classifier: Classifier | None = None,
) -> Decision:
    """The verdict for one call, bounded by every context above this one; an error on the way to it is a question."""
    try:
        return _decide(_Judge(call, hook, opinion, classifier or _DEFAULT_CLASSIFIER), context)
    except Exception as error:  # noqa: BLE001 - the edge of every judgement: a call that cannot be judged is not waved through
        return _asked("guard", _unjudged(error), context, [], guarded=True)


def _unjudged(error: Exception) -> str:
    return (
        f"it could not be judged ({type(error).__name__}: {str(error)[:200]}), so a person decides; please report this"
    )


def _decide(judge: "_Judge", context: "PermissionContext") -> Decision:
    decision = judge.verdict(context)
    above = context.parent
    while above is not None:
        theirs = judge.verdict(above)
        if STRICTNESS[theirs.behavior] > STRICTNESS[decision.behavior]:
            reason = f"the agent that started this one may not: {theirs.reason}"
            trace = (*decision.trace, Step("ceiling", theirs.behavior, reason, theirs.rule))
            decision = Decision(theirs.behavior, "ceiling", reason, theirs.rule, trace, theirs.guarded)
        above = above.parent
    return msgspec.structs.replace(decision, classified=True) if judge.classified else decision


def survey(
    call: CallFacts, context: "PermissionContext", *, hook: HookOpinion | None = None, opinion: "Opinion | None" = None
) -> tuple[Step, ...]:
    """What every layer says by itself, also those the decision did not need; for explanations, not for decisions."""
    judge = _Judge(call, hook, opinion, _DEFAULT_CLASSIFIER)
    try:
        steps = judge.every_layer(context)
    except Exception as error:  # noqa: BLE001 - see `decide`
        return (Step("guard", "ask", _unjudged(error)),)
    if context.parent is None:
        return steps
    strictest = max((judge.verdict(above) for above in context.ancestors()), key=lambda one: STRICTNESS[one.behavior])
    return (*steps, Step("ceiling", strictest.behavior, strictest.reason, strictest.rule))


class _Judge:
    """One call and what was said about it, to be judged under one context or several."""

    __slots__ = ("_call", "_classifier", "_hook", "_opinion", "classified")

    def __init__(
        self, call: CallFacts, hook: HookOpinion | None, opinion: "Opinion | None", classifier: Classifier
    ) -> None:
        passthrough = opinion is not None and opinion.behavior == "passthrough"
        self._call = call._replace(passthrough=True) if passthrough else call
        self._hook = hook
        self._opinion = opinion
        self._classifier = classifier
        self.classified = False

    def verdict(self, context: "PermissionContext") -> Decision:
        """The verdict under one context alone."""
        call, hook, opinion = self._call, self._hook, self._opinion
        trace: list[Step] = []
        if hook is not None:
            trace.append(Step("hook", hook.behavior, hook.reason))
            if hook.behavior == "deny":
                return _end("deny", "hook", hook.reason, trace)
        voices = _voices(call, context)
        refused = _refusal(voices)
        if refused:
            return _end("deny", "guard", refused, trace)
        denied = matching_rule("deny", call, context, voices)
        if denied is not None:
            return _end("deny", "deny", f"the rule {denied.text} denies it", trace, denied)
        if opinion is not None and opinion.behavior == "deny":
            return _end("deny", "tool", opinion.reason, trace)
        return self._undenied(context, voices, trace)

    def _undenied(self, context: "PermissionContext", seen: Voices, trace: list[Step]) -> Decision:
        call, mode = self._call, context.effective_mode
        parts = _parts(call, context, seen)
        if mode == "plan":
            ceiling = next((part for part in parts if cell(part.row, "plan") == "deny"), None)
            if ceiling is not None:
                return _end("deny", "mode", f"plan mode changes nothing, and this is {ceiling.what}", trace)
        asked = matching_rule("ask", call, context, seen)
        if asked is not None:
            return _asked("ask", f"the rule {asked.text} asks first", context, trace, asked)
        held = self._held_back(context, seen)
        if held is not None:
            layer, reason = held
            return _asked(layer, reason, context, trace, guarded=layer == "guard")
        hook = self._hook
        if hook is not None and hook.behavior == "allow":
            return _end("allow", "hook", hook.reason, trace)
        return self._by_parts(parts, context, seen, trace)

    def _held_back(self, context: "PermissionContext", seen: Voices) -> tuple[str, str] | None:
        """What asks although no rule does, and no allow rule can answer: gates, the tool, a person, guards."""
        call, hook, opinion = self._call, self._hook, self._opinion
        if hook is not None and hook.behavior == "ask":
            return "hook", hook.reason
        if call.requires_interaction:
            return "tool", f"{call.tool} needs a person's answer"
        if reason := _shell_guard(call, context, seen):
            return "guard", reason
        if context.effective_mode == "bypassPermissions":
            return None
        if opinion is not None and opinion.behavior == "ask":
            return "tool", opinion.reason
        reason = _path_guard(call, context, seen)
        return ("guard", reason) if reason else None

    def every_layer(self, context: "PermissionContext") -> tuple[Step, ...]:
        """Each layer's word under one context, whether or not another one decides."""
        call, hook, opinion = self._call, self._hook, self._opinion
        seen = _voices(call, context)
        parts = _parts(call, context, seen)
        denied, asked = (matching_rule(behavior, call, context, seen) for behavior in ("deny", "ask"))
        refused = _refusal(seen)
        bypass = context.effective_mode == "bypassPermissions"
        guarded = refused or _shell_guard(call, context, seen) or ("" if bypass else _path_guard(call, context, seen))
        broad = whole_allow(context, seen)
        granted = broad or (parts[0].rule if all(part.rule is not None for part in parts) else None)
        cells: list[Cell] = [self._answer(part, context) for part in parts]
        tool = NO_OPINION
        if opinion is not None and opinion.behavior in STRICTNESS:
            tool = opinion.behavior
        elif call.requires_interaction:
            tool = "ask"
        return (
            Step("hook", hook.behavior, hook.reason) if hook is not None else Step("hook", NO_OPINION),
            self._classifier_step(context, seen) if "classifier" in cells else Step("classifier", NO_OPINION),
            _of_rule("deny", denied),
            _of_rule("ask", asked),
            Step("tool", tool, opinion.reason if opinion is not None else ""),
            Step("guard", "deny" if refused else "ask", guarded) if guarded else Step("guard", NO_OPINION),
            _of_rule("allow", granted),
            Step("mode", *_strictest(cells, parts, context.effective_mode)),
        )

    def _answer(self, part: _Part, context: "PermissionContext") -> Cell:
        """The mode's own answer to one effect."""
        answer: Cell = cell(part.row, context.effective_mode)
        if answer == "secrets ask":
            return "ask" if part.path is not None and secret_outside(part.path) else "allow"
        return answer

    def _classifier_step(self, context: "PermissionContext", seen: Voices) -> Step:
        risk = self._risk(context, Seen(seen.sight, seen.shell))
        return Step("classifier", "allow" if risk.level == "low" else "ask", risk.reason)

    def _by_parts(self, parts: list[_Part], context: "PermissionContext", seen: Voices, trace: list[Step]) -> Decision:
        """Every effect must be allowed, by a rule or by the mode; the strictest decides."""
        mode = context.effective_mode
        broad = whole_allow(context, seen)
        if broad is not None:
            return _end("allow", "allow", f"the rule {broad.text} allows it", trace, broad)
        rule: Rule | None = None
        for part in parts:
            if part.rule is not None:
                rule = rule or part.rule
                continue
            answer = self._answer(part, context)
            if answer == "classifier":
                trace.append(step := self._classifier_step(context, seen))
                if step.behavior == "ask":
                    return _end("ask", "classifier", f"{step.reason}, and auto mode asks about that", trace)
            elif answer == "ask":
                return _end("ask", "mode", f"{mode} mode asks before {part.what}", trace)
            elif answer != "allow":
                return _end("deny", "mode", f"{mode} mode asks nobody, and no rule allows {part.what}", trace)
        if rule is not None:
            return _end("allow", "allow", f"the rule {rule.text} allows it", trace, rule)
        return _end("allow", "mode", f"{mode} mode allows {parts[-1].what}", trace)

    def _risk(self, context: "PermissionContext", seen: Seen) -> Risk:
        """The classifier's word; a tool that shows it nothing is asked about."""
        if seen.shell is None and self._call.classifier_input is None:
            return Risk("high", f"{self._call.tool} does not say what a classifier may see")
        self.classified = True
        return self._classifier.classify(self._call, context, seen)


def _voices(call: CallFacts, context: "PermissionContext") -> Voices:
    shell = _shell_verdict(call, context) if call.subject.kind == "command" else None
    sight = look(call, context) if shell is None else shell.sight
    whole = context.book.wholes(call.tool, call.names, call.subject.kind, call.server)
    return Voices(sight, path_hits(call, context, sight), whole, shell)


def _shell_verdict(call: CallFacts, context: "PermissionContext") -> "ShellVerdict":
    from holdfast.permissions.shell.judge.verdict import judge_shell  # noqa: PLC0415 - with the first command

    return judge_shell(call, context)


def _refusal(seen: Voices) -> str:
    if seen.shell is not None:
        return ""  # what a command would open is opened by the shell, under the rules for what it names
    reads, writes, _, web, _ = seen.sight
    if isinstance(web, WebRefusal):
        return web.reason
    for paths in (writes, reads):
        for path in paths:
            if path.refusal:
                return path.refusal
    return ""


def _of_rule(layer: Behavior, rule: Rule | None) -> Step:
    return Step(layer, NO_OPINION) if rule is None else Step(layer, layer, f"the rule {rule.text} speaks of it", rule)


def _strictest(cells: list[Cell], parts: list[_Part], mode: str) -> tuple[str, str]:
    """The strictest answer of a mode to the effects of a call, in words."""
    order = ("deny", "ask", "classifier", "allow")
    answer, part = min(zip(cells, parts, strict=True), key=lambda one: order.index(one[0]))
    if answer == "classifier":
        return NO_OPINION, f"{mode} mode leaves {part.what} to the classifier"
    verb = {"allow": "allows", "ask": "asks before", "deny": "refuses"}[answer]
    return answer, f"{mode} mode by itself {verb} {part.what}"


def _shell_guard(call: CallFacts, context: "PermissionContext", seen: Voices) -> str:
    """Why a command is asked about in every mode."""
    shell = seen.shell
    if shell is None or shell.critical or not shell.doubts_files:
        return "" if shell is None else shell.critical or shell.doubt
    is_held = _sandboxed(call, context) and call.holds_files is not None and call.holds_files()
    return "" if is_held else shell.doubt


def _path_guard(call: CallFacts, context: "PermissionContext", seen: Voices) -> str:
    """Why a path is asked about whatever the allow rules say; the sandbox guards the paths of its commands itself."""
    if seen.shell is not None and _sandboxed(call, context):
        return ""
    sight = seen.sight
    for path in (*sight.writes, *sight.changed):
        reason = guard_of_write(path, context)
        if reason:
            return reason
    reads = sight.reads
    if seen.shell is not None and seen.shell.read_only:
        reads = (*reads, *sight.covered)  # what its patterns match; of other commands it is not sure that they read it
    for path in reads:
        if path.links > 1 and context.book.holds_reads:
            return "a file with several names (hard links) may be one that a rule about reads means"
    return ""


def _sandboxed(call: CallFacts, context: "PermissionContext") -> bool:
    return call.sandboxed and context.sandbox_auto_allow


def _parts(call: CallFacts, context: "PermissionContext", seen: Voices) -> list[_Part]:
    """The effects of a call; there is always at least one, and nothing is allowed for having none."""
    # What a remote tool says about itself never counts: not its kind, not that it only reads or keeps our records.
    remote = call.tool.startswith("mcp__") or call.server is not None
    if call.session_state and not remote:
        return [_SESSION_PART]
    if seen.shell is not None:
        return _shell_parts(call, context, seen.shell)
    sight, hits = seen.sight, seen.hits
    parts: list[_Part] = []
    for path, rule in zip_longest(sight.reads, hits.reads):
        parts.append(_Part(row_of_read(path, context), "reading", rule, path))
    for path, rule in zip_longest(sight.writes, hits.writes):
        parts.append(_Part(row_of_write(path, context), "writing", rule, path))
    kind = call.subject.kind
    if remote or kind in ("domain", "mcp") or call.passthrough or call.effects.network:
        row, what = "network, MCP or passthrough", f"a call of {call.tool}"
    elif not call.read_only and not (kind == "edit_path" and sight.writes):
        row, what = "other", f"a call of {call.tool}, which may change something"
    else:
        return parts or [_Part("free", f"a call of {call.tool}, which changes nothing")]
    named = matching_rule("allow", call, context, seen)
    return [*parts, _Part(row, what, named)]


def _shell_parts(call: CallFacts, context: "PermissionContext", shell: "ShellVerdict") -> list[_Part]:
    parts = [_Part("read outside", "reading", grant_of("Read", path, call, context), path) for path in shell.unlisted]
    if shell.read_only:
        return parts or [_Part("free", "a command that only reads", shell.allowed)]
    if shell.only_looks:  # in plan only: a rule that names such a command answers the question, as it does elsewhere
        return [*parts, _Part("shell that looks", "a command that most likely only looks", shell.allowed)]
    if _sandboxed(call, context):
        return [_Part("sandboxed shell", "a command in the sandbox")]
    if shell.file_command:
        parts.append(_Part("file command inside", "a file command inside the working directories", shell.allowed))
    else:
        parts.append(_Part("shell", "a command that may change something", shell.allowed))
    return parts


def _asked(
    layer: str,
    reason: str,
    context: "PermissionContext",
    trace: list[Step],
    rule: Rule | None = None,
    *,
    guarded: bool = False,
) -> Decision:
    if context.effective_mode == "dontAsk":
        return _end("deny", layer, f"{reason}, and in dontAsk mode nobody is asked", trace, rule)
    return _end("ask", layer, reason, trace, rule, guarded=guarded)


def _end(
    behavior: Behavior, layer: str, reason: str, trace: list[Step], rule: Rule | None = None, *, guarded: bool = False
) -> Decision:
    trace.append(Step(layer, behavior, reason, rule))
    return Decision(behavior, layer, reason, rule, tuple(trace), guarded)
