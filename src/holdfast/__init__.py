"""Holdfast: the hands of an AI agent."""

__version__ = "0.1.0"
