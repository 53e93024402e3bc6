"""What the model is told: the system prompt, and small reminders along the way."""
