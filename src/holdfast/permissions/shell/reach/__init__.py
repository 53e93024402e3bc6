"""What a command reaches on the disk without naming it: the only part of the shell rooms that looks there."""
