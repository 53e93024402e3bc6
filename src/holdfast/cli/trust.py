"""`holdfast trust`: what a folder brings along, and whether that may count."""

from typing import Any

import click

from holdfast.app import load_rights
from holdfast.cli.options import to_options
from holdfast.cli.session_options import session_options
from holdfast.lib.visible import visible
from holdfast.settings import Settings, SettingsRoots, TrustStore
from holdfast.settings.hook_items import hook_hash, outside_hash
from holdfast.settings.trust_question import trust_question

__all__ = ["command"]


@click.command("trust")
@click.option("--yes", is_flag=True, help="Trust it without a further question; for people, not for scripts.")
@click.option("--revoke", is_flag=True, help="Take trust back.")
@click.option("--outside-sandbox", is_flag=True, help="Let its approved hooks run outside the sandbox.")
@session_options
def command(*, yes: bool, revoke: bool, outside_sandbox: bool, **given: Any) -> int:
    """Show what this folder brings (rules, instructions, hooks, servers), and trust it or take trust back.

    Deny and ask rules of a folder always apply. Everything else it brings waits until you trust it.
    """
    done = _trust(load_rights(to_options(given)).settings, yes=yes, revoke=revoke)
    if done or revoke or not outside_sandbox:
        return done
    return _let_out(load_rights(to_options(given)).settings, yes=yes)


def _trust(settings: Settings, *, yes: bool, revoke: bool) -> int:
    shown = visible(settings.root)
    roots = SettingsRoots.from_environment()
    store = TrustStore(roots.state, home=roots.home)
    if revoke:
        store.revoke(settings.root)
        click.echo(f"{shown} is not trusted any more.")
        return 0
    if settings.untrustable is not None:
        click.echo(f"holdfast: {visible(settings.untrustable)}", err=True)
        return 1
    question = trust_question(settings)
    if question is None:
        return _nothing_to_ask(settings, store, yes=yes)
    click.echo(click.style(f"The folder {shown} brings:", bold=True))
    for line in question.lines:
        click.echo(f"  {line.place}  {click.style(line.kind, bold=True)}  {line.text}  ({line.effect})")
    if not yes and not _agrees():
        click.echo("Nothing was changed: its deny and ask rules apply, the rest does not.")
        return 1
    store.trust(settings.root, items=question.approvals)
    click.echo(f"{shown} is trusted. Take it back with: holdfast trust --revoke")
    return 0


def _let_out(settings: Settings, *, yes: bool) -> int:
    """Show the folder's hooks, and approve that they run outside the sandbox as they are now."""
    hooks = [entry for entry in settings.hooks if entry.folder is not None and not entry.broken]
    if not hooks:
        click.echo("The folder has no approved hooks that could run outside the sandbox.")
        return 0
    click.echo(click.style("Outside the sandbox, with all your rights, would run:", bold=True))
    for entry in hooks:
        click.echo(f"  {entry.origin}  {entry.event}  {visible(str(entry.handler.get('command', '')))}")
    if not yes and not _agrees("Let these hooks run outside the sandbox?"):
        click.echo("Nothing was changed: they run in the sandbox, where there is one.")
        return 1
    roots = SettingsRoots.from_environment()
    store = TrustStore(roots.state, home=roots.home)
    for entry in hooks:
        assert entry.folder is not None
        identity = hook_hash(entry.event, entry.matcher, entry.handler, root=entry.folder)
        store.approve(settings.root, outside_hash(identity))
    click.echo("Approved. Should one of them or its scripts change, it is asked about again.")
    return 0


def _nothing_to_ask(settings: Settings, store: TrustStore, *, yes: bool) -> int:
    """Whoever says yes is taken at his word, also where the folder brings nothing so far."""
    shown = visible(settings.root)
    if yes and not settings.trusted:
        store.trust(settings.root)
        click.echo(f"{shown} is trusted. It brings nothing so far. Take it back with: holdfast trust --revoke")
    elif settings.trusted:
        click.echo(f"{shown} is trusted.")
    else:
        click.echo(f"{shown} brings nothing that needs trust; --yes trusts it all the same.")
    return 0


def _agrees(question: str = "Trust this folder, so that these apply?") -> bool:
    """Ask; whoever cannot answer has not agreed."""
    try:
        return click.confirm(question, default=False, err=True)
    except click.Abort as error:
        click.echo(err=True)  # the line with the question
        if isinstance(error.__context__, KeyboardInterrupt):
            raise
        click.echo("holdfast: nobody could answer; ask in a terminal, or agree with --yes", err=True)
        return False
