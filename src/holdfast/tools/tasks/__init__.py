"""Look at background tasks and end them."""
