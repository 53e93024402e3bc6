"""Shell text to simple commands, by a real grammar."""
