"""`holdfast permissions learn`: which rules would have spared the most questions of recorded sessions."""

import os
from typing import Any

import click

from holdfast.cli.completers import complete_sessions
from holdfast.cli.counted import counted
from holdfast.cli.options import to_options
from holdfast.cli.recorded import recorded_calls, rights_as_in
from holdfast.cli.session_options import session_options
from holdfast.cli.wire import json_line
from holdfast.contract import RuleUpdate, UsageError
from holdfast.lib.visible import visible
from holdfast.permissions.facts import CallFacts
from holdfast.permissions.policy.backtest import RecordedCall, old_verdict
from holdfast.permissions.policy.lessons import Lesson, learn
from holdfast.permissions.tool_facts import facts_from_input

__all__ = ["learn_command"]

_SHOWN_CHARS = 120
_WHERE = {"local": "localSettings", "project": "projectSettings", "user": "userSettings"}


@click.command("learn", short_help="The rules that would have spared the most questions.")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION [SESSION …]", shell_complete=complete_sessions)
@click.option("--most", type=click.IntRange(min=1), default=10, show_default=True, help="Show this many at most.")
@click.option("--unanswered", is_flag=True, help="Also count questions that nobody was there to answer.")
@click.option("--apply", "is_applied", is_flag=True, help="Ask about each, and save what you say yes to.")
@click.option(
    "--to", "place", type=click.Choice(list(_WHERE)), default="local", show_default=True, help="Save it there."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def learn_command(
    sessions: tuple[str, ...], *, most: int, unanswered: bool, is_applied: bool, place: str, as_json: bool, **given: Any
) -> int:
    """Say which allow rules would have spared the most questions of recorded SESSIONS, and how far each would reach.

    SESSIONS are ids, unique beginnings of ids, or `latest`. Only what you allowed then counts. Nothing is run.

    \b
    holdfast permissions learn latest
    holdfast permissions learn 01a1 01a2 --apply --to local
    """  # noqa: D301 - click wants the character itself
    from holdfast.session import user_store  # noqa: PLC0415 - loaded only where it is used

    store = user_store()
    calls: list[CallFacts] = []
    context = None
    for session in sessions:
        at = store.nearest(session, os.getcwd())
        transcript = store.load(os.path.basename(at))
        context = context or rights_as_in(transcript, to_options(given), at)
        found = recorded_calls(transcript, follow_mode=False)
        calls += [_facts(call) for call in found if _was_allowed(call, unanswered=unanswered)]
    assert context is not None
    lessons = learn(calls, context, most=most)
    for number, lesson in enumerate(lessons, 1):
        if as_json:
            click.echo(json_line(_wire(lesson)))
        else:
            _show(number, lesson)
    if not as_json:
        spared = sum(lesson.spares for lesson in lessons)
        click.echo(f"{counted(len(calls), 'question')} with a yes; these rules would have spared {spared}")
    if is_applied and lessons:
        _apply(lessons, context.project_root or os.getcwd(), _WHERE[place])
    return 0


def _was_allowed(call: RecordedCall, *, unanswered: bool) -> bool:
    old = old_verdict(call)
    return (old.behavior == "ask" and old.answered == "allow") or (
        unanswered and old.behavior == "ask" and not old.answered
    )


def _facts(call: RecordedCall) -> CallFacts:
    return facts_from_input(call.tool, call.input, call.cwd)


def _show(number: int, lesson: Lesson) -> None:
    rules = click.style(", ".join(map(visible, lesson.rules)), bold=True)
    click.echo(f"{number:2}. {rules}   spares {counted(lesson.spares, 'question')}")
    for example in lesson.examples:
        click.echo(f"      seen    {visible(example.subject.value or example.tool, limit_chars=_SHOWN_CHARS)}")
    for reach in lesson.beyond or ("nothing else",):
        click.echo(f"      allows  {visible(reach, limit_chars=_SHOWN_CHARS)}")


def _wire(lesson: Lesson) -> dict[str, Any]:
    seen = [example.subject.value or example.tool for example in lesson.examples]
    return {"rules": lesson.rules, "spares": lesson.spares, "seen": seen, "beyond": lesson.beyond}


def _apply(lessons: list[Lesson], cwd: str, destination: str) -> None:
    """Ask about each set of rules; the default is no.

    Raises:
        UsageError: Nobody can be asked.
    """
    import sys  # noqa: PLC0415 - only here

    from holdfast.app.keep_rules import RuleKeeper  # noqa: PLC0415 - the same

    if not sys.stdin.isatty():
        raise UsageError(
            "--apply asks about each rule, and nobody is at the terminal; add the rules to a settings file"
        )
    keep = RuleKeeper(cwd)
    for lesson in lessons:
        if click.confirm(f"Save {', '.join(map(visible, lesson.rules))}?", default=False):
            keep(RuleUpdate("allow", lesson.rules, destination))
            click.echo("saved")
