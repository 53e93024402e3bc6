"""What is wrong with a set of rules: shadowed, never matching, too wide, ignored, unknown, repeated."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from holdfast.permissions.protected import protected_by
from holdfast.permissions.rules.globs import DomainRule
from holdfast.permissions.rules.grammar import Command, Named, Rule, RuleProblem, RuleSource, WholeTool, compile_rule
from holdfast.permissions.rules.path_index import Filed, PathIndex
from holdfast.permissions.rules.path_patterns import PathRule, sample_path
from holdfast.permissions.shell.judge.rule_words import is_too_wide_command
from holdfast.permissions.web import host_problem

FindingKind = Literal["malformed", "ignored", "unknown tool", "duplicate", "shadowed", "never matches", "too wide"]


class Finding(NamedTuple):
    """One thing to look at, with what to do about it."""

    kind: FindingKind
    rule: str
    behavior: str
    source: RuleSource
    advice: str


def lint(rules: Sequence[Rule], problems: Iterable[RuleProblem] = ()) -> list[Finding]:
    """Findings for rules in force and for those that `parse_rules` reported."""
    findings = [
        Finding(problem.kind, problem.text, problem.behavior, problem.source, problem.reason) for problem in problems
    ]
    findings += _duplicates(rules)
    denies = [rule for rule in rules if rule.behavior == "deny"]
    asks = [rule for rule in rules if rule.behavior == "ask"]
    for rule in rules:
        stronger = {"allow": [*denies, *asks], "ask": denies}.get(rule.behavior, [])
        shadow = next((other for other in stronger if _covers(other, rule)), None)
        if shadow is not None:
            advice = f"the {shadow.behavior} rule {shadow.text} covers it and wins; remove one of them"
            findings.append(_finding("shadowed", rule, advice))
        if rule.behavior == "allow":
            findings += _about_allow(rule)
    return findings


def _finding(kind: FindingKind, rule: Rule, advice: str) -> Finding:
    return Finding(kind, rule.text, rule.behavior, rule.source, advice)


def _duplicates(rules: Sequence[Rule]) -> list[Finding]:
    seen: dict[tuple[object, ...], Rule] = {}
    findings: list[Finding] = []
    for rule in rules:
        root = rule.source.root if rule.content is not None and rule.content.startswith("/") else None
        first = seen.setdefault((rule.behavior, rule.tool, rule.content, root), rule)
        if first is not rule:
            findings.append(_finding("duplicate", rule, f"the same rule stands in {first.source.place}; remove one"))
    return findings


def _covers(stronger: Rule, weaker: Rule) -> bool:
    """Whether every call that the weaker rule means also meets the stronger one."""
    for form in compile_rule(stronger):
        if isinstance(form, WholeTool) and stronger.tool == weaker.tool:
            return True
    if stronger.tool != weaker.tool or stronger.content is None or weaker.content is None:
        return False
    if stronger.content == weaker.content:
        return True
    strong, weak = compile_rule(stronger), compile_rule(weaker)
    if not strong or not weak:
        return False
    return _form_covers(strong[0], weak[0], same_root=stronger.source.root == weaker.source.root)


def _form_covers(strong: object, weak: object, *, same_root: bool) -> bool:
    if isinstance(strong, Command) and isinstance(weak, Command):
        prefix = _prefix_of(strong.content)
        return prefix is not None and (weak.content == prefix or weak.content.startswith(prefix + " "))
    if isinstance(strong, PathRule) and isinstance(weak, PathRule):
        if strong.anchor != weak.anchor or strong.up != weak.up or not same_root or not weak.pattern:
            return False
        index = PathIndex([Filed(strong.pattern, "/", strong)])
        return bool(index.find("/" + sample_path(weak.pattern), cwds=(), grant_cwds=(), is_dir=None))
    if isinstance(strong, Named) and isinstance(weak, Named):
        return strong.any_arguments and strong.glob.matches(weak.glob.text)
    if isinstance(strong, DomainRule) and isinstance(weak, DomainRule):
        return weak.kind == "exact" and strong.matches(weak.host)
    return False


def _prefix_of(content: str) -> str | None:
    """The words of `x:*` and `x *`; none for other commands."""
    for ending in (":*", " *"):
        if content.endswith(ending) and "*" not in content.removesuffix(ending):
            return content.removesuffix(ending).strip()
    return None


def _about_allow(rule: Rule) -> list[Finding]:
    findings: list[Finding] = []
    for form in compile_rule(rule):
        advice = _too_wide(rule, form)
        if advice:
            findings.append(_finding("too wide", rule, advice))
        advice = _never(rule, form)
        if advice:
            findings.append(_finding("never matches", rule, advice))
    return findings


def _too_wide(rule: Rule, form: object) -> str:
    if isinstance(form, WholeTool) and rule.tool in ("Bash", "PowerShell", "Monitor"):
        return "it allows every command; name the commands, for example Bash(git status *)"
    if isinstance(form, WholeTool) and rule.tool in ("Edit", "Write", "WebFetch", "REPL"):
        return f"it allows every {rule.tool} call, everywhere; name paths or hosts"
    if isinstance(form, Command) and is_too_wide_command(form.content):
        return "it allows whatever the program is told to run; allow the exact command instead"
    if isinstance(form, PathRule) and form.anchor in ("root", "home") and form.pattern in ("", "/**", "/*", "**"):
        return "it covers a whole file system or home directory; name the directory that is needed"
    return ""


def _never(rule: Rule, form: object) -> str:
    if isinstance(form, Command) and rule.tool != "PowerShell" and "=" in form.content:
        return _never_covered(form.content)
    if isinstance(form, DomainRule) and form.kind == "exact" and host_problem(form.host):
        return f"{host_problem(form.host)}; such hosts are never fetched"
    if isinstance(form, PathRule) and form.pattern:
        sample = "/" + sample_path(form.pattern)
        if form.anchor == "root" and sample.startswith(("/proc/", "/sys/", "/dev/")):
            return "file tools never open /proc, /sys or /dev"
        if rule.tool == "Edit" and protected_by((sample,)) is not None:
            return "protected paths are asked about whatever the rules say"
    return ""


def _never_covered(content: str) -> str:
    from holdfast.permissions.rules.command_index import compile_bash_rule  # noqa: PLC0415 - only for such rules
    from holdfast.permissions.shell.judge.coverage import named_environment  # noqa: PLC0415 - brings the shell's tables
    from holdfast.permissions.shell.judge.rule_words import uncovered_variable  # noqa: PLC0415 - only for such rules

    return uncovered_variable(compile_bash_rule(content), named_environment)
