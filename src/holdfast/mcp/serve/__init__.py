"""The other direction: our tools for programs that speak MCP. A peer per client, a service behind all of them."""
