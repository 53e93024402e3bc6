"""Tools that work on files."""
