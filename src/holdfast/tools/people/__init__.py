"""Tools that speak with the person: questions, messages, plans to approve, settings to change."""
