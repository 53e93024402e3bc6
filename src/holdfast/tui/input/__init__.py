"""What is typed: keys, completion, history, paste."""
