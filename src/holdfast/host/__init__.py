"""Touch the machine: processes, ripgrep, git, the sandbox."""
