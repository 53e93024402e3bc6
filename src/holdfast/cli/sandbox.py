"""`holdfast sandbox`: what the sandbox promises on this machine, and one command in it."""

import asyncio
import os
import signal
import tempfile
from typing import Any

import click

from holdfast.app import load_rights
from holdfast.app.sandbox import SandboxKit, sandbox_for_once
from holdfast.cli.options import to_options
from holdfast.cli.session_options import session_options
from holdfast.cli.wire import json_line
from holdfast.contract import UsageError
from holdfast.host.child_env import Scrub, child_environment
from holdfast.host.command import Command, StartError
from holdfast.host.sandbox import NotAvailable
from holdfast.host.sandbox.promises import promises

__all__ = ["command"]

_NOT_FOUND = 127


@click.group("sandbox")
def command() -> None:
    """Show what the sandbox promises on this machine, or run one command in it."""


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@session_options
def status(*, as_json: bool, **given: Any) -> int:
    """Show which promises hold here. Exit 1 if there is no sandbox."""
    rights = load_rights(to_options(given))
    kit = SandboxKit(lambda: rights.settings, lambda: rights.permissions, temporary=tempfile.gettempdir)
    found = promises(kit.find, weak=kit.wanted.may_be_weak)
    for one in found:
        if as_json:
            click.echo(json_line({"name": one.name, "holds": one.holds, "detail": one.detail}))
        else:
            click.echo(f"{'holds' if one.holds else 'no   '}  {one.name}{': ' + one.detail if one.detail else ''}")
    is_on = rights.settings.sandbox.get("enabled") is True
    if not as_json:
        click.echo(f"The settings {'switch it on' if is_on else 'do not switch it on (sandbox.enabled)'}.", err=True)
    return 0 if found[0].holds else 1


@command.command("profile", short_help="Print the sandbox as a profile for macOS.")
@session_options
def profile(**given: Any) -> int:
    """Print the settings' sandbox as a profile for macOS's sandbox-exec.

    It was never run, and nothing uses it by itself: on macOS the sandbox is refused.
    """
    from holdfast.host.sandbox.seatbelt import profile_of  # noqa: PLC0415 - nothing else needs it

    rights = load_rights(to_options(given))
    with sandbox_for_once(rights) as kit:
        try:
            click.echo(profile_of(kit.policy(rights.permissions)), nl=False)
        except OSError as problem:
            raise UsageError(f"there is no profile for these settings: {problem}") from problem
    return 0


@command.command(
    "run",
    short_help="Run one command in the sandbox.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@session_options
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD [ARGS]")
def run(words: tuple[str, ...], **given: Any) -> int:
    """Run one command in the sandbox that the settings describe, whether or not they switch it on.

    The exit code is the command's. Nothing of it stays when it has ended.

    \b
    holdfast sandbox run -- make test
    """  # noqa: D301 - click wants the character itself
    rights = load_rights(to_options(given))
    with sandbox_for_once(rights) as kit:
        if weakness := kit.weakness:
            click.echo(f"holdfast: {weakness}", err=True)
        scrub, variables = Scrub(rights.settings.env_scrub), {e.name: e.value for e in rights.settings.env}
        environment = child_environment(scrub=scrub, given=variables)
        try:
            return asyncio.run(_run(kit, Command(argv=words, cwd=rights.settings.cwd), environment))
        except (NotAvailable, StartError) as problem:
            raise UsageError(f"nothing was run: {problem}") from problem


async def _run(kit: SandboxKit, plain: Command, environment: dict[str, str]) -> int:
    # The command hears Ctrl-C too, and says how it ends.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, _nothing)
    entered = kit.enter(plain)
    try:
        made = entered.command
        changed = {name: value for name, value in made.env.items() if value is not None}
        argv = [os.fsdecode(word) for word in made.argv]
        started = await asyncio.create_subprocess_exec(
            *argv, cwd=made.cwd, env={**environment, **changed}, pass_fds=made.pass_fds
        )
        entered.started()
        try:
            await entered.opened()
        except BaseException:
            started.kill()
            raise
        code = await started.wait()
        return 128 - code if code < 0 else code
    except FileNotFoundError as problem:
        click.echo(f"holdfast: {problem}", err=True)
        return _NOT_FOUND
    finally:
        entered.left()


def _nothing() -> None:
    pass
