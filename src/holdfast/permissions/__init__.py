"""May this happen."""
