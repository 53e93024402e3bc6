"""What the model may know and change of the settings."""
