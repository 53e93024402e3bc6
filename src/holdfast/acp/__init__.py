"""The Agent Client Protocol, version 1: editors start `holdfast acp` and speak JSON-RPC with its standard streams."""
