"""The garbage collector, out of the way while a program loads, and while many agents work.

What is loaded stays, so looking through all of it again and again finds nothing: that costs a start more than a fifth
of its time. Our command line holds the collector off when it begins, and lets it go when there is a session, without
what is there by then. The conversations of many agents are alive side by side; looking through all of them each time
that a few hundred objects are new cost a third of their processor time, so meanwhile it looks more seldom. Where nobody
held it off nothing is changed: in somebody else's program it is theirs.
"""

import gc

__all__ = ["as_often_as_usual", "hold_off", "let_go", "more_seldom"]

_WHILE_LOADING = 200_000
"""So many new objects until a collection: more than a start makes, and a bound for a command that never lets go."""
_WHILE_MANY_WORK = 50_000
_usual: tuple[int, int, int] | None = None
_wishes = 0


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
        _set()


def more_seldom() -> None:
    """Many agents work now; each call wants one of `as_often_as_usual`."""
    global _wishes  # noqa: PLW0603 - the same
    _wishes += 1
    _set()


def as_often_as_usual() -> None:
    """They do no longer."""
    global _wishes  # noqa: PLW0603 - the same
    _wishes -= 1
    _set()


def _set() -> None:
    if _usual is not None:
        gc.set_threshold(max(_usual[0], _WHILE_MANY_WORK) if _wishes else _usual[0], *_usual[1:])
