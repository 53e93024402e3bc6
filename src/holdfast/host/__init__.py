"""Touch the machine: the guard, processes, ripgrep and what stands on them. Import the file you need."""
