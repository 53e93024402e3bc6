"""Tools that follow what people wrote for agents: skills and commands."""
