"""Run shell commands, and wait."""
