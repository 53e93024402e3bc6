"""Numbers of things, in words."""

__all__ = ["counted"]


def counted(count: int, thing: str) -> str:
    """So many of a thing: `1 call`, `2 calls`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
