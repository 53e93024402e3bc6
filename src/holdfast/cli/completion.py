"""`holdfast completion SHELL`: the script that makes a shell complete our commands and options."""

import click
from click.shell_completion import get_completion_class

from holdfast.contract import UsageError

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script for SHELL. Load it where your shell starts.

    \b
    bash:  eval "$(holdfast completion bash)"
    zsh:   eval "$(holdfast completion zsh)"
    fish:  holdfast completion fish | source
    """  # noqa: D301 - click wants the character itself
    from holdfast.cli.group import cli  # noqa: PLC0415 - that module imports this one

    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"there is no completion for {shell!r}")
    click.echo(kind(cli, {}, "holdfast", "_HOLDFAST_COMPLETE").source())
    return 0
