"""What the analysis of a command says, held against the rules of a context."""
