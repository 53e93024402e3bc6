"""Programs with a small language of their own: where it ends, what it reads, writes and starts."""
