"""What external programs do with their arguments: option tables, small parsers, and git's configuration."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.permissions.shell.commands.devices import path_refusal
    from holdfast.permissions.shell.commands.exits import exit_meaning
    from holdfast.permissions.shell.commands.facts import CommandFacts
    from holdfast.permissions.shell.commands.git_config import (
        GIT_HARDENING,
        UNASKED_ENVIRONMENT,
        git_config_refusal,
        git_variables_refusal,
        unasked_environment,
    )
    from holdfast.permissions.shell.commands.inspect import inspect_command
    from holdfast.permissions.shell.commands.special import is_secret_name
    from holdfast.permissions.shell.commands.toolchains import toolchain_refusal

__all__ = [
    "GIT_HARDENING",
    "UNASKED_ENVIRONMENT",
    "CommandFacts",
    "exit_meaning",
    "git_config_refusal",
    "git_variables_refusal",
    "inspect_command",
    "is_secret_name",
    "path_refusal",
    "toolchain_refusal",
    "unasked_environment",
]

# One program's facts are asked for without the tables of all the others.
export_lazily(
    __name__,
    {
        "devices": ("path_refusal",),
        "exits": ("exit_meaning",),
        "facts": ("CommandFacts",),
        "git_config": (
            "GIT_HARDENING",
            "UNASKED_ENVIRONMENT",
            "git_config_refusal",
            "git_variables_refusal",
            "unasked_environment",
        ),
        "inspect": ("inspect_command",),
        "special": ("is_secret_name",),
        "toolchains": ("toolchain_refusal",),
    },
)
