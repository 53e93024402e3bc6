"""The agent: the loop around one model, and what the model is told before the first word of the user."""
