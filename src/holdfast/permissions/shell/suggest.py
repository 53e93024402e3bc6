"""Rules worth saving after a yes: the shortest that are still safe, one per command."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.match import allowed_environment
from holdfast.permissions.shell.program_names import CHANGES_RIGHTS, runs_code
from holdfast.permissions.shell.words import names
from holdfast.permissions.shell.wrappers import WRAPPERS
from holdfast.settings.steering import is_steering_variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.permissions.shell.analysis import Analysis
    from holdfast.permissions.shell.parts import Part

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


def suggest_rules(analysis: "Analysis", is_covered: "Callable[[Part], bool] | None" = None) -> tuple[str, ...]:
    """Give the contents of the Bash rules to save, or none when no safe set of rules covers the command.

    `is_covered` says of which parts no rule is wanted, because one that is in force allows them.
    """
    if analysis.doubt or analysis.assigned or analysis.redirect_writes:
        return ()
    rules: dict[str, None] = {}
    for part in analysis.parts:
        if part.refusal is None or not part.argv or part.hull == "strip":
            continue
        if part.parent >= 0 and analysis.parts[part.parent].hull == "same":
            continue
        if is_covered is not None and is_covered(part):
            continue
        rule = _rule_for(part)
        if rule is None:
            return ()
        rules[rule] = None
    return tuple(rules) if len(rules) <= MAX_RULES else ()


def _rule_for(part: "Part") -> str | None:
    name = part.name
    if part.hull not in ("", "same") or part.more or not part.argv[0].static:
        return None
    if name in _RUNS_TEXT or name in CHANGES_RIGHTS or runs_code(name):
        return None
    if name in WRAPPERS and name not in _TWO:
        return None
    words = [word.text for word in part.argv]
    if not words[0].isascii() or any(char in words[0] for char in " *\"'\\()"):
        return None
    if not all(map(allowed_environment, part.assigns)):
        return _spelled(part, words)
    if name in _EXACT_ONLY or tuple(words[:2]) in _NEVER_SECOND:
        return _exact(part)
    if name in _TWO:
        return _with_subcommand(part, words)
    return f"{words[0]} *"


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


def _is_subcommand(text: str) -> bool:
    return text[:1].isalpha() and all(char.isalnum() or char in "-_:." for char in text)


def _exact(part: "Part") -> str | None:
    if not part.certain_text:
        return None
    words: list[str] = []
    for word in part.argv:
        if "\n" in word.text or not word.text.isprintable():
            return None
        words.append(_quoted(word.text))
    return " ".join(words)


def _quoted(text: str) -> str:
    if text and all(char.isalnum() or char in "-_./:=@%+,^~" for char in text):
        return text
    return "".join(f"\\{char}" if char in "*\\'\" \t;&|<>()$`" else char for char in text) or "''"
