"""Tools that find files and text."""
