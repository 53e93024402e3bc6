"""Words of shell text: what is certain about them, and what they may become."""
