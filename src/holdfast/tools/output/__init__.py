"""Tools that hand a run's outcome to the program that asked for it."""
