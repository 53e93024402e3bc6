"""What programs do with their arguments: option tables, small parsers, and what they start in turn."""
