"""The public test kit: faults, crashes and doubles for testing tools without a model or a network."""
