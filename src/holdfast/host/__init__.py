"""Touch the machine: the guard, processes, and what stands on them. Import the file you need."""
