"""File names for showing: what cannot be printed, or would fake other text, appears as an escape."""


def show_name(name: str) -> str:
    """Return a name as it can be shown on one line; unusual names come quoted, with escapes."""
    if name.isprintable() and name == name.strip():
        return name
    raw = name.encode("utf-8", "surrogateescape")
    text = raw.decode("utf-8", "backslashreplace")
    return "'" + "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text) + "'"
