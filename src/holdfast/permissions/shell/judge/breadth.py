"""Which command patterns leave open what is run: `*` alone, interpreters, wrappers and package runners."""

from typing import Final

from holdfast.permissions.shell.programs.program import having, runs_code, told, words_told

__all__ = ["is_too_wide_command"]

_RUNS_ANYTHING: Final = having("runs-anything", "privilege", "fetches") | frozenset(
    (*told("wraps"), *(name for name, words in words_told("runs").items() if not words))
)
"""Programs that run or fetch whatever their arguments say, besides interpreters and shells."""
_RUNNING_WORDS: Final = frozenset({("npm", "exec"), ("pnpm", "dlx"), ("pnpm", "exec"), ("yarn", "dlx"), ("uv", "run")})


def is_too_wide_command(content: str) -> bool:
    """Whether a command pattern leaves open what is run."""
    words = content.replace(":*", " *").split()
    if not words or content.strip("* :") == "" or words[0].startswith("*"):
        return True
    if "*" not in content:
        return False
    name = words[0].rstrip("*").rsplit("/", 1)[-1].rstrip("0123456789.")
    if tuple(words[:2]) in _RUNNING_WORDS:
        return len(words) < 4
    fixed = len(words) > 2 and "*" not in words[1] and not words[1].startswith("-")
    return (name in _RUNS_ANYTHING or runs_code(name)) and not fixed
