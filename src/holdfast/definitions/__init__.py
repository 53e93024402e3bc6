"""What people wrote for agents in files of their own: agents, skills and commands, found and read."""
