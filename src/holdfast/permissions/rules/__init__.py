"""Rules: their grammar, and how the few that speak to a call are found among thousands."""
