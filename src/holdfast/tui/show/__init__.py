"""Events as lines."""
