"""Which command patterns leave open what is run: `*` alone, interpreters, wrappers and package runners."""

from typing import Final

__all__ = ["is_too_wide_command"]

_RUNS_ANYTHING: Final = frozenset(
    {
        *("bash", "sh", "zsh", "dash", "ksh", "fish", "pwsh", "powershell", "eval", "exec", "source", "xargs", "env"),
        *("python", "pypy", "node", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript", "java", "ts-node", "tsx"),
        *("osascript", "awk", "gawk", "npx", "bunx", "pnpx", "uvx", "pipx", "sudo", "doas", "su", "ssh", "watch"),
        *("docker", "podman", "kubectl", "nsenter", "chroot", "find", "parallel", "script", "expect", "time"),
        *("timeout", "nohup", "nice", "command", "builtin", "setsid", "flock", "ionice", "stdbuf", "curl", "wget"),
    }
)
"""Programs that run or fetch whatever their arguments say."""
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
    return name in _RUNS_ANYTHING and not fixed
