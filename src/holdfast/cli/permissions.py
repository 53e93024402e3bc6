"""`holdfast permissions`: why a call is allowed, asked about or denied, and what is wrong with the rules."""

import os
from collections import Counter
from typing import IO, TYPE_CHECKING, Any

import click

from holdfast.app import Rights, load_rights
from holdfast.cli.arguments import check_call, given_input, to_object
from holdfast.cli.completers import complete_sessions, complete_tools
from holdfast.cli.counted import counted
from holdfast.cli.named_file import NamedFile
from holdfast.cli.options import to_options
from holdfast.cli.permissions_learn import learn_command
from holdfast.cli.recorded import recorded_calls, rights_as_in
from holdfast.cli.session_options import session_options
from holdfast.cli.standard_streams import read_argument
from holdfast.cli.wire import json_line
from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.lib.visible import visible, without_controls
from holdfast.permissions.decision import decide, survey
from holdfast.permissions.policy.backtest import Comparison, compare
from holdfast.permissions.policy.cases import CaseResult, run_case
from holdfast.permissions.policy.explain import explain_lines, explain_wire, what_would_allow
from holdfast.permissions.policy.linting import lint
from holdfast.permissions.policy.suggest import suggest_rules_for
from holdfast.permissions.shell.judge.verdict import judge_shell
from holdfast.permissions.tool_facts import facts_from_input

if TYPE_CHECKING:
    pass

__all__ = ["command"]

_SHELL = ("Bash", "Monitor", "PowerShell")
_MAX_LINE_BYTES = 16 * 1024 * 1024
_CASE = '{"command": "git status", "expect": "allow"}'
_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


@click.group("permissions")
def command() -> None:
    """Explain, list, lint and test permission rules, and try others on a recorded session."""


@command.command("explain", short_help="What would happen to a call, and why.")
@click.argument("tool", shell_complete=complete_tools)
@click.argument("arguments", metavar="[JSON|TEXT]", default="{}")
@click.option("--json", "as_json", is_flag=True, help="Print it as one line of JSON.")
@session_options
def explain_command(tool: str, arguments: str, *, as_json: bool, **given: Any) -> int:
    """Say what would happen to a call of TOOL with these arguments, and why. Nothing is run.

    Plain text stands for the tool's main argument: the command, the path, the address.

    \b
    holdfast permissions explain Bash 'git push'
    holdfast permissions explain Bash '{"command": "git status && rm -rf build"}'
    holdfast permissions explain Edit '{"file_path": "README.md"}' --permission-mode plan
    """  # noqa: D301 - click wants the character itself
    raw = given_input(tool, read_argument(arguments))
    check_call(tool, raw)
    rights = load_rights(to_options(given))
    facts = facts_from_input(tool, raw, rights.settings.cwd)
    decision = decide(facts, rights.permissions)
    shell = judge_shell(facts, rights.permissions) if facts.tool in _SHELL else None
    layers = survey(facts, rights.permissions)
    advice = what_would_allow(facts, rights.permissions)
    offered = suggest_rules_for(facts, rights.permissions) if decision.behavior == "ask" else ()
    if as_json:
        click.echo(json_line(explain_wire(decision, shell, layers=layers, advice=advice, suggestions=offered)))
        return 0
    first, *rest = explain_lines(decision, shell, layers=layers, advice=advice, suggestions=offered)
    click.echo(click.style(without_controls(first), fg=_COLOURS[decision.behavior], bold=True))
    for line in rest:
        click.echo(without_controls(line))
    if decision.behavior != "allow" and (waiting := waiting_rules(rights)):
        click.echo(f"holdfast: {_waiting_words(len(waiting))}", err=True)
    return 0


@command.command("list", short_help="Every rule in force, with its file and line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def list_command(*, as_json: bool, **given: Any) -> int:
    """List every rule in force with the file and line it stands in."""
    rights = load_rights(to_options(given))
    for rule in rights.permissions.rules:
        if as_json:
            click.echo(json_line({"behavior": rule.behavior, "rule": rule.text, "source": rule.source.place}))
        else:
            mark = click.style(f"{rule.behavior:5}", fg=_COLOURS[rule.behavior])
            click.echo(f"{mark}  {visible(rule.text)}   {click.style(visible(rule.source.place), dim=True)}")
    waiting = waiting_rules(rights)
    for text, place in waiting if not as_json else ():
        click.echo(f"waits  {visible(text)}   {click.style(visible(place), dim=True)}   (not in force before trust)")
    if waiting and as_json:  # whoever reads the lines wants what is in force
        click.echo(f"holdfast: {_waiting_words(len(waiting))}", err=True)
    if not as_json:
        click.echo(f"mode: {rights.permissions.effective_mode}", err=True)
    for line in rights.warnings():
        click.echo(f"holdfast: {line}", err=True)
    return 0


@command.command("lint", short_help="Rules that are shadowed, too wide or ignored.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def lint_command(*, as_json: bool, **given: Any) -> int:
    """Look for rules that are shadowed, never match, are too wide or are ignored. Exit 1 if there are any."""
    rights = load_rights(to_options(given))
    findings = lint(rights.permissions.rules, rights.problems)
    for found in findings:
        if as_json:
            wire = {"kind": found.kind, "behavior": found.behavior, "rule": found.rule, "advice": found.advice}
            click.echo(json_line({**wire, "source": found.source.place}))
        else:
            rule = f"{found.behavior} {visible(found.rule)}"
            click.echo(f"{visible(found.source.place)}: {click.style(found.kind, bold=True)}: {rule}")
            click.echo(f"    {visible(found.advice)}")
    problems = rights.settings.describe_problems()
    for problem in problems:
        click.echo(json_line({"kind": "settings", "advice": problem}) if as_json else problem)
    waiting = waiting_rules(rights)
    if not as_json:
        waits = f", waiting for trust: {len(waiting)}" if waiting else ""
        total = len(findings) + len(problems)
        click.echo(f"rules: {len(rights.permissions.rules)}, findings: {total}{waits}", err=True)
    return 1 if findings or problems else 0


@command.command("test", short_help="Run the unit tests of a policy.")
@click.argument("file", type=NamedFile())
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per case.")
@session_options
def test_command(file: IO[bytes], *, as_json: bool, **given: Any) -> int:
    """Run the unit tests of a policy: JSON lines in FILE (`-` for standard input).

    Exit 1 if any fails, 2 if there is none.

    \b
    {"command": "git status", "expect": "allow", "read_only": true}
    {"tool": "Read", "input": {"file_path": ".env"}, "rules": {"deny": ["Read(.env)"]}, "expect": "deny"}
    """  # noqa: D301 - click wants the character itself
    base = load_rights(to_options(given)).permissions
    cases = failed = 0
    for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE_BYTES + 1), b""), 1):
        if len(line) > _MAX_LINE_BYTES:  # such as a device without end
            raise UsageError(f"{file.name!r}, line {number} has more than {_MAX_LINE_BYTES} bytes; that is not a case")
        if not line.strip():
            continue
        cases += 1
        result, failures = _judge(line, number, base)
        failed += bool(failures)
        if as_json:
            click.echo(json_line(result.to_wire() if result else {"ok": False, "error": failures[0]}))
            continue
        for failure in failures:
            click.echo(f"line {number}: {without_controls(failure)}")
    if not cases:  # a policy whose tests got lost must not look like one that passes them
        raise UsageError(f"{file.name!r} holds no case, so nothing is tested. Write one on each line, such as {_CASE}")
    if not as_json:
        click.echo(f"{cases - failed} passed, {failed} failed")
    return 1 if failed else 0


@command.command("backtest", short_help="Try other settings on a recorded session.")
@click.argument("session", shell_complete=complete_sessions)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per call, and one for the sums.")
@click.option("--all", "-a", "everything", is_flag=True, help="Also show the calls whose verdict stays.")
@click.option("--fail-on-change", is_flag=True, help="Exit 1 if any verdict would change.")
@session_options
def backtest_command(session: str, *, as_json: bool, everything: bool, fail_on_change: bool, **given: Any) -> int:
    """Say what other settings would have answered to the calls of a recorded session. Nothing is run.

    SESSION is an id, the unique beginning of one, or `latest`; give the settings to try with --settings.
    """
    from holdfast.session import user_store  # noqa: PLC0415 - loaded only where it is used

    store = user_store()
    place = store.nearest(session, os.getcwd())
    transcript = store.load(os.path.basename(place))
    context = rights_as_in(transcript, to_options(given), place)
    found = [
        compare(call, context) for call in recorded_calls(transcript, follow_mode=given["permission_mode"] is None)
    ]
    for one in found:
        if as_json:
            click.echo(json_line(one.to_wire()))
        elif one.changed or everything:
            _show(one)
    changed = Counter(f"{one.old.behavior} to {one.new.behavior}" for one in found if one.changed)
    questions = {
        "old": sum(one.old.behavior == "ask" for one in found),
        "new": sum(one.new.behavior == "ask" for one in found),
    }
    if as_json:
        sums = {"calls": len(found), "changed": changed.total(), "by": changed, "questions": questions}
        click.echo(json_line({"type": "summary", **sums}))
    else:
        kinds = "".join(f", {count} {kind}" for kind, count in sorted(changed.items()))
        click.echo(f"{counted(len(found), 'call')}, {changed.total()} would change{kinds}")
        click.echo(f"{counted(questions['old'], 'question')} then, {questions['new']} now")
    return 1 if fail_on_change and changed else 0


def _waiting_words(count: int) -> str:
    verb = "waits" if count == 1 else "wait"
    return f"{counted(count, 'allow rule')} of this folder {verb} for `holdfast trust`"


def waiting_rules(rights: Rights) -> list[tuple[str, str]]:
    """The folder's allow rules that are not in force before the folder is trusted, each with its place."""
    items = [item for item in rights.settings.withheld if item.kind == "allow rule" and item.needs == "trust"]
    return [(item.text, f"{item.path}:{item.line}" if item.line else item.path) for item in items]


def _show(one: Comparison) -> None:
    call, old, new = one
    before = old.behavior if old.answered is None else f"{old.behavior} (answered: {old.answered})"
    after = click.style(new.behavior, fg=_COLOURS[new.behavior], bold=one.changed)
    given = visible(encode_json(call.input).decode("utf-8", "replace"), limit_chars=200)
    click.echo(f"{before} → {after}  {visible(call.tool)} {given}")
    if old.rule is not None:
        click.echo(f"    was  {visible(old.rule.text)}   ({visible(old.rule.source.place)})")
    where = "" if new.rule is None else f"   ({visible(new.rule.source.place)})"
    click.echo(f"    now  {visible(new.reason)}{where}")


def _judge(line: bytes, number: int, base: Any) -> tuple[CaseResult | None, list[str]]:
    try:
        case = to_object(line)
        result = run_case(case, base, check=check_call)
    except UsageError as error:
        return None, [f"{error} (line {number})"]
    bad_rules = [f"the rule {problem.text!r} is not in force: {problem.reason}" for problem in result.problems]
    for problem in bad_rules:
        click.echo(f"holdfast: line {number}: {without_controls(problem)}", err=True)
    return result, list(result.failures)


command.add_command(learn_command)
