"""Ground floor: mechanics with no knowledge of tools, permissions or sessions."""
