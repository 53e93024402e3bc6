"""Rules as people work with them: explained, linted, tested, compared with the past, suggested."""
