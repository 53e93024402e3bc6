"""Shell text: what it would do."""
