"""The command line. Commands are loaded one by one, when they are used."""
