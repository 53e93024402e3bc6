"""The interactive terminal: presents an agent's events in the normal screen and answers its questions."""
