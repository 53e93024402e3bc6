"""Touch the machine: the guard, processes, ripgrep, git, the sandbox. Import the file you need."""
