"""The built-in tools: one tool per file, the text the model reads in a .md beside it."""
