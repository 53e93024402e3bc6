"""Rules worth saving after a yes: the shortest that are still safe, one per command."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.judge.coverage import allowed_environment, named_environment
from holdfast.permissions.shell.judge.variables import settings_of
from holdfast.permissions.shell.programs.program_names import CHANGES_RIGHTS, runs_code
from holdfast.permissions.shell.programs.wrappers import WRAPPERS
from holdfast.permissions.shell.text.emit import written_by
from holdfast.permissions.shell.words.word import names
from holdfast.settings.steering import is_steering_variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.permissions.shell.text.analysis import Analysis
    from holdfast.permissions.shell.words.parts import Part

MAX_RULES: Final = 5
_RUNS_TEXT: Final = names(
    "awk gawk mawk nawk sqlite3 psql mysql mongosh redis-cli gdb lldb source . eval exec command builtin at batch"
    " crontab java javaw"
)
_EXACT_ONLY: Final = names(
    "rm rmdir unlink shred dd mkfs mount umount chmod chown chgrp chattr kill pkill killall reboot shutdown halt"
    " poweroff curl wget http https nc ncat netcat telnet ftp sftp scp rsync ssh mv ln install truncate tee systemctl"
    " service iptables ufw useradd usermod userdel passwd visudo launchctl defaults diskutil fdisk parted"
    " cp sed gsed tar gtar bsdtar vim vi nvim view ex ed nano emacs less more man socat ansible ansible-playbook"
)
_TAKES_DATA: Final = names("tee gtee sed gsed")
"""Of those, programs to which their input is data and never a script."""
_TWO: Final = names(
    "git npm pnpm yarn bun cargo go pip pip3 poetry uv pdm hatch pipenv gem bundle composer docker podman kubectl helm"
    " terraform gh glab brew apt apt-get dnf yum pacman make just task rake gradle mvn dotnet mix nx turbo lerna rustup"
    " aws gcloud az heroku fly vercel netlify firebase conda mamba tox nox invoke alembic django-admin flask rails"
    " bazel bazelisk vagrant meson openssl"
)
_THREE: Final = frozenset(
    {
        ("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("docker", "compose"), ("git", "stash"),
        ("git", "remote"), ("git", "worktree"), ("git", "submodule"), ("git", "config"), ("gh", "pr"), ("gh", "issue"),
        ("gh", "repo"), ("gh", "run"), ("gh", "release"), ("docker", "image"), ("docker", "container"), ("go", "mod"),
        ("cargo", "run"), ("aws", "s3"), ("kubectl", "get"), ("glab", "mr"), ("npm", "config"),
    }
)  # fmt: skip
_NEVER_SECOND: Final = frozenset(
    {
        ("git", "push"), ("git", "rebase"), ("git", "filter-branch"), ("git", "bisect"), ("git", "submodule"),
        ("git", "difftool"), ("git", "mergetool"), ("git", "config"), ("npm", "publish"), ("npm", "exec"),
        ("cargo", "publish"), ("cargo", "run"), ("go", "run"), ("go", "generate"), ("dotnet", "run"), ("gh", "api"),
        ("bazel", "run"), ("vagrant", "ssh"), ("kubectl", "delete"), ("terraform", "apply"), ("terraform", "destroy"),
        ("rails", "c"), ("rails", "console"), ("rails", "runner"), ("mix", "run"), ("flask", "shell"),
    }
)  # fmt: skip
"""Subcommands that run other code, publish or destroy: only the very same call is saved."""
_TOOL_RUNNERS: Final = {
    "python": (("-m",),), "npx": ((), ("--yes",), ("-y",), ("--no-install",)), "bunx": ((),), "uvx": ((),),
    "uv": (("run",),), "poetry": (("run",),), "pipenv": (("run",),), "pdm": (("run",),), "hatch": (("run",),),
    "rye": (("run",),), "pnpm": (("exec",), ()), "yarn": ((), ("run",), ("exec",)), "bundle": (("exec",),),
}  # fmt: skip
_KNOWN_TOOLS: Final = names(
    "pytest unittest mypy ruff black isort flake8 pylint pyright basedpyright coverage tsc vue-tsc jest vitest mocha"
    " ava eslint prettier stylelint biome oxlint markdownlint cspell knip depcheck madge rspec rubocop"
)
"""Checkers and test runners: what they run is the project's own, whoever starts them."""


def suggest_rules(analysis: "Analysis", is_covered: "Callable[[Part], bool] | None" = None) -> tuple[str, ...]:
    """Give the contents of the Bash rules to save, or none when no safe set of rules covers the command.

    `is_covered` says of which parts no rule is wanted, because one that is in force allows them.
    """
    if analysis.doubt or analysis.assigned or analysis.redirect_writes:
        return ()
    return rules_of_parts(analysis, is_covered) or ()


def rules_of_parts(
    analysis: "Analysis", is_covered: "Callable[[Part], bool] | None" = None, *, exact: bool = False
) -> tuple[str, ...] | None:
    """One rule for each command that needs one; None where some command is given none, or they are too many.

    Args:
        analysis: The text. Variables that it sets and places that it writes to are for others to look at.
        is_covered: See `suggest_rules`.
        exact: Commands that no family is safe for are given by their very words.
    """
    rules: dict[str, None] = {}
    spelled: set[int] = set()
    for number, part in enumerate(analysis.parts):
        if number in analysis.guessed or part.refusal is None or not part.argv or part.hull == "strip":
            continue
        parent = part.parent
        if parent >= 0 and (analysis.parts[parent].hull == "same" or parent in spelled):
            spelled.update((number,) if parent in spelled else ())
            continue
        if _only_redirected(part) or (is_covered is not None and is_covered(part)):
            continue
        rule = _rule_for(part)
        if rule is None and exact and part.name not in CHANGES_RIGHTS:
            rule = _exact(part)
            spelled.add(number)
        if rule is None:
            return None
        rules[rule] = None
    return tuple(rules) if len(rules) <= MAX_RULES else None


def _only_redirected(part: "Part") -> bool:
    """Whether a command reads and no more, and only its redirect writes: that place has a rule of its own."""
    return any(part.refusal == written_by(redirect) for redirect in part.redirects)


def _rule_for(part: "Part") -> str | None:
    name = part.name
    words = [word.text for word in part.argv]
    if part.hull in ("", "opaque") and not part.more and (tool := _known_tool(part, words)):
        return tool
    if part.hull not in ("", "same") or part.more or not part.argv[0].static:
        return None
    if name in _RUNS_TEXT or name in CHANGES_RIGHTS or runs_code(name):
        return None
    if name in WRAPPERS and name not in _TWO:
        return None
    if not words[0].isascii() or any(char in words[0] for char in " *\"'\\()"):
        return None
    if not all(map(allowed_environment, part.assigns)):
        return _named_settings(part, words) or _spelled(part, words)
    return _family(part, words)


def _family(part: "Part", words: list[str]) -> str | None:
    name = part.name
    if name in _EXACT_ONLY or tuple(words[:2]) in _NEVER_SECOND:
        return _exact(part)
    if name in _TWO:
        return _with_subcommand(part, words)
    return f"{words[0]} *"


def _named_settings(part: "Part", words: list[str]) -> str | None:
    """A command with variables that choose nothing that runs: a family, behind the variables as they are set."""
    settings = settings_of(part)
    rule = _family(part, words) if settings and all(map(named_environment, part.assigns)) else None
    if rule is None or not rule.endswith(" *"):
        return None
    return " ".join((*map(_quoted, settings), rule))


def _spelled(part: "Part", words: list[str]) -> str | None:
    """A command with variables that may change what it does: only the very same line, variables and all."""
    if any(is_steering_variable(assigned.partition("=")[0]) for assigned in part.assigns):
        return None  # such a variable chooses which program runs; no rule is worth that
    written = part.source.split()
    set_there = [word.partition("=")[0] for word in written[: -len(words)]]
    is_plain = all(char.isalnum() or char in "-_./:=@%+, " for char in part.source)
    if not (is_plain and part.certain_text and tuple(set_there) == part.assigns and written[-len(words) :] == words):
        return None
    return " ".join(written)


def _with_subcommand(part: "Part", words: list[str]) -> str | None:
    plain = 1
    wanted = 3 if tuple(words[:2]) in _THREE else 2
    while plain < wanted and plain < len(words) and part.argv[plain].static and _is_subcommand(words[plain]):
        plain += 1
    if plain < wanted:
        return _exact(part)
    return " ".join(words[:plain]) + " *"


def _known_tool(part: "Part", words: list[str]) -> str | None:
    """The family of a well-known tool that a runner starts: `python3 -m pytest *`, `npx tsc *`."""
    if part.assigns or not words[0].isascii() or not all(word.static for word in part.argv[:4]):
        return None
    for runner in _TOOL_RUNNERS.get(words[0].rstrip("0123456789."), ()):
        at = 1 + len(runner)
        if tuple(words[1:at]) == runner and words[at : at + 1] and words[at] in _KNOWN_TOOLS:
            return " ".join(words[: at + 1]) + " *"
    return None


def _is_subcommand(text: str) -> bool:
    return text[:1].isalpha() and all(char.isalnum() or char in "-_:." for char in text)


def _exact(part: "Part") -> str | None:
    if not part.certain_text or (part.name not in _TAKES_DATA and _is_fed(part)):
        return None
    words: list[str] = []
    for word in part.argv:
        if "\n" in word.text or not word.text.isprintable():
            return None
        words.append(_quoted(word.text))
    return " ".join(words)


def _is_fed(part: "Part") -> bool:
    """Whether a command is given input: what it does may stand there, and no rule sees it."""
    return part.piped or any(redirect.kind not in ("write", "dup") for redirect in part.redirects)


def _quoted(text: str) -> str:
    if text and all(char.isalnum() or char in "-_./:=@%+,^~" for char in text):
        return text
    return "".join(f"\\{char}" if char in "*\\'\" \t;&|<>()$`" else char for char in text) or "''"
