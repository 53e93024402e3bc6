"""Logging in to servers: what we hold, how it is had from a person, and where it is kept."""
