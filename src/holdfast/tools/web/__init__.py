"""Tools that reach the public web: WebFetch and WebSearch."""
