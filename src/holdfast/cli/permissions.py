"""`holdfast permissions`: why a call is allowed, asked about or denied, and what is wrong with the rules."""

import sys
from typing import IO, Any, cast

import click
import msgspec

from holdfast.app import load_rights
from holdfast.cli.options import session_options, to_options
from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.permissions.bash_rules import judge_shell
from holdfast.permissions.decide import decide, survey
from holdfast.permissions.explain import explain_lines, explain_wire, place_of
from holdfast.permissions.lint import lint
from holdfast.permissions.policy_tests import CaseResult, run_case
from holdfast.permissions.traits import facts_from_input

__all__ = ["command"]

_SHELL = ("Bash", "Monitor", "PowerShell")
_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


@click.group("permissions")
def command() -> None:
    """Explain, list, lint and test permission rules."""


@command.command("explain")
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.option("--json", "as_json", is_flag=True, help="Print it as one line of JSON.")
@session_options
def explain_command(tool: str, arguments: str, *, as_json: bool, **given: Any) -> int:
    """Say what would happen to a call of TOOL with these arguments, and why. Nothing is run."""
    raw = _object(sys.stdin.read() if arguments == "-" else arguments)
    rights = load_rights(to_options(given))
    facts = facts_from_input(tool, raw, rights.settings.cwd)
    decision = decide(facts, rights.permissions)
    shell = judge_shell(facts, rights.permissions) if facts.tool in _SHELL else None
    layers = survey(facts, rights.permissions)
    if as_json:
        click.echo(encode_json(explain_wire(decision, shell, layers=layers)))
        return 0
    first, *rest = explain_lines(decision, shell, layers=layers)
    click.echo(click.style(first, fg=_COLOURS[decision.behavior], bold=True))
    for line in rest:
        click.echo(line)
    return 0


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def list_command(*, as_json: bool, **given: Any) -> int:
    """List every rule in force with the file and line it stands in."""
    rights = load_rights(to_options(given))
    for rule in rights.permissions.rules:
        if as_json:
            click.echo(encode_json({"behavior": rule.behavior, "rule": rule.text, "source": place_of(rule)}))
        else:
            mark = click.style(f"{rule.behavior:5}", fg=_COLOURS[rule.behavior])
            click.echo(f"{mark}  {rule.text}   {click.style(place_of(rule), dim=True)}")
    if not as_json:
        click.echo(f"mode: {rights.permissions.effective_mode}", err=True)
    for line in rights.warnings():
        click.echo(f"holdfast: {line}", err=True)
    return 0


@command.command("lint")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def lint_command(*, as_json: bool, **given: Any) -> int:
    """Look for rules that are shadowed, never match, are too wide or are ignored. Exit 1 if there are any."""
    rights = load_rights(to_options(given))
    findings = lint(rights.permissions.rules, rights.problems)
    for found in findings:
        if as_json:
            wire = {"kind": found.kind, "behavior": found.behavior, "rule": found.rule, "advice": found.advice}
            click.echo(encode_json({**wire, "source": found.place}))
        else:
            click.echo(f"{found.place}: {click.style(found.kind, bold=True)}: {found.behavior} {found.rule}")
            click.echo(f"    {found.advice}")
    if not as_json:
        click.echo(f"{len(rights.permissions.rules)} rules, {len(findings)} findings", err=True)
    return 1 if findings else 0


@command.command("test")
@click.argument("file", type=click.File("rb"))
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per case.")
@session_options
def test_command(file: IO[bytes], *, as_json: bool, **given: Any) -> int:
    r"""Run the unit tests of a policy: JSON lines in FILE (`-` for standard input). Exit 1 if any fails.

    \b
    {"command": "git status", "expect": "allow", "read_only": true}
    {"tool": "Read", "input": {"file_path": ".env"}, "rules": {"deny": ["Read(.env)"]}, "expect": "deny"}
    """
    base = load_rights(to_options(given)).permissions
    cases = failed = 0
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        cases += 1
        result, failures = _judge(line, number, base)
        failed += bool(failures)
        if as_json:
            click.echo(encode_json(result.to_wire() if result else {"ok": False, "error": failures[0]}))
            continue
        for failure in failures:
            click.echo(f"line {number}: {failure}")
    if not as_json:
        click.echo(f"{cases - failed} passed, {failed} failed")
    return 1 if failed else 0


def _judge(line: bytes, number: int, base: Any) -> tuple[CaseResult | None, list[str]]:
    try:
        result = run_case(_object(line), base)
    except UsageError as error:
        return None, [f"{error} (line {number})"]
    bad_rules = [f"the rule {problem.text!r} is not in force: {problem.reason}" for problem in result.problems]
    for problem in bad_rules:
        click.echo(f"holdfast: line {number}: {problem}", err=True)
    return result, list(result.failures)


def _object(text: str | bytes) -> dict[str, Any]:
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(f"this is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"a JSON object is needed, not {type(value).__name__}")
    return cast("dict[str, Any]", value)
