"""A group of commands whose `list` may be left out: `holdfast tools --json`."""

import click

__all__ = ["ListsByDefault"]

_HELP = ("--help", "-h")


class ListsByDefault(click.Group):
    """Without a command, or with options only, it lists."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the `list` that is meant in front; a shell that completes wants to see the commands instead."""
        is_left_out = not args or (args[0].startswith("-") and args[0] not in _HELP)
        if is_left_out and not ctx.resilient_parsing:
            args = ["list", *args]
        return super().parse_args(ctx, args)
