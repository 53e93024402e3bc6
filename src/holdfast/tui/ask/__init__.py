"""Questions and forms to the person."""
