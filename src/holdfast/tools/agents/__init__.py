"""Start other agents."""
