"""What of a command is asked about in `auto` mode, or in every mode."""
