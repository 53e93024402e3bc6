"""Tools of other programs by the Model Context Protocol, and ours for them. A run without servers loads none of it."""
