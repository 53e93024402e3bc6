"""Exit codes that are answers, not failures."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.git_calls import git_subcommand
from holdfast.permissions.shell.programs.program import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.word import Word


def exit_meaning(name: str, args: "Sequence[Word]", code: int) -> str | None:
    """Return what an exit code other than 0 says when it is no failure, or None."""
    if name == "git":
        name = f"git:{git_subcommand(args)}"
    program = PROGRAMS.get(name)
    return program.fields.get("exit-1") if program is not None and code == 1 else None
