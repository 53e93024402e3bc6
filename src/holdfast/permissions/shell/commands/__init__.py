"""What external programs do with their arguments: option tables, small parsers, and git's configuration."""

from holdfast.permissions.shell.commands.devices import path_refusal
from holdfast.permissions.shell.commands.exits import exit_meaning
from holdfast.permissions.shell.commands.facts import CommandFacts
from holdfast.permissions.shell.commands.git_config import GIT_HARDENING, UNASKED_ENVIRONMENT, git_config_refusal
from holdfast.permissions.shell.commands.inspect import inspect_command
from holdfast.permissions.shell.commands.special import is_secret_name

__all__ = [
    "GIT_HARDENING",
    "UNASKED_ENVIRONMENT",
    "CommandFacts",
    "exit_meaning",
    "git_config_refusal",
    "inspect_command",
    "is_secret_name",
    "path_refusal",
]
