"""The garbage collector, out of the way while a program loads.

What is loaded stays, so looking through all of it again and again finds nothing: that costs a start more than a fifth
of its time. Our command line holds the collector off when it begins, and lets it go when there is a session, without
what is there by then. Where nobody held it off nothing is changed: in somebody else's program it is theirs.
"""

import gc

__all__ = ["hold_off", "let_go"]

_WHILE_LOADING = 200_000
"""So many new objects until a collection: more than a start makes, and a bound for a command that never lets go."""
_usual: tuple[int, int, int] | None = None


def hold_off() -> None:
    """Collect nothing while the program loads."""
    global _usual  # noqa: PLW0603 - there is one collector
    if _usual is None:
        _usual = gc.get_threshold()
        gc.set_threshold(_WHILE_LOADING, *_usual[1:])


def let_go() -> None:
    """Collect as usual from now on, without looking at what was loaded until now; may be called again."""
    if _usual is not None:
        gc.freeze()
        gc.set_threshold(*_usual)
