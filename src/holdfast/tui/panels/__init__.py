"""What opens above the conversation, on demand."""
