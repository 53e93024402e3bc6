"""What is remembered: the session's directory, its journal, and a history that can always go on."""
