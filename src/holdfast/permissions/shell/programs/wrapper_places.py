"""Where wrappers start a command: `env -C dir`, `sudo --chdir=dir`, login shells, other roots."""

from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.programs.program import told
from holdfast.permissions.shell.words.given import spells, values_given
from holdfast.permissions.shell.words.word import Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.permissions.shell.programs.wrapper_shapes import Opened

__all__ = ["UNTOLD", "moved_by_options", "places_of", "places_of_runner"]

UNTOLD: Final = (None,)
"""The text does not tell where."""


class _Moving(NamedTuple):
    """Options with a directory, options after which it is not known, and those that keep the present one.

    `stays` says that without any of them it starts where it is; daemons and login shells go elsewhere.
    """

    into: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    stays: bool = True


def _moving(text: str) -> _Moving:
    said: dict[str, list[str]] = {"into": [], "lost": [], "kept": []}
    kind = "into"
    for word in text.split():
        if word[0] == "-":
            said[kind].append(word)
        else:
            kind = word
    return _Moving(tuple(said["into"]), tuple(said["lost"]), tuple(said["kept"]), stays="away" not in text.split())


_MOVES: Final = {name: _moving(text) for name, text in told("moves").items()}


def places_of(name: str, argv: "tuple[Word, ...]", opened: "Opened") -> tuple[str | None, ...]:
    """The directories in which a wrapper with a shape starts its command; none when it stays."""
    if name == "chroot":
        return _rooted(argv, opened)
    moving = _MOVES.get(name)
    if moving is None:
        return ()
    if name == "systemd-run":
        opened = opened._replace(options=tuple(_settings(opened.options)))
    given = {option for option, _ in opened.options}
    head = argv[1 : opened.start] if opened.known else argv[1:]
    if not given.isdisjoint(moving.lost) or ("-" in moving.lost and any(word.text == "-" for word in argv[1:])):
        return UNTOLD
    values: list[str | None] = [value for option, value in opened.options if option in moving.into]
    if values and not all(word.static for word in head):
        return UNTOLD
    if not opened.known:
        values += moved_by_options(argv, moving.into)
        return ("", *values) if values else _unmoved(moving, given)
    # An empty value stands for `nsenter -w` without one: the directory of another process.
    return _unmoved(moving, given) if not values else (values[-1] or None,)


def _settings(options: "Sequence[tuple[str, str]]") -> "Iterator[tuple[str, str]]":
    """Options of `systemd-run`, with the settings among its properties that move the command."""
    for option, value in options:
        setting, _, place = value.partition("=")
        if option in ("-p", "--property") and setting == "WorkingDirectory":
            yield "--working-directory", place.removeprefix("-")
        elif option in ("-p", "--property") and setting.startswith(("Root", "Bind", "Mount")):
            yield "--root", place
        else:
            yield option, value


def _unmoved(moving: _Moving, given: set[str]) -> tuple[str | None, ...]:
    return () if moving.stays or not given.isdisjoint(moving.kept) else UNTOLD


def _rooted(argv: "tuple[Word, ...]", opened: "Opened") -> tuple[str | None, ...]:
    """`chroot` goes to its root; every name means another file unless that is the root already."""
    if any(option == "--skip-chdir" for option, _ in opened.options):
        return ()
    head = [word for word in argv[1 : opened.start] if word.text[:1] != "-"]
    plain = opened.known and len(head) == 1 and head[0].static and head[0].text.strip("/") == ""
    return ("/",) if plain and head[0].text else UNTOLD


def places_of_runner(name: str, argv: "tuple[Word, ...]") -> tuple[str | None, ...]:
    """The directories in which a program may start another command that stands somewhere in its arguments."""
    moving = _MOVES.get(name)
    if moving is None:
        return ()
    texts = [word.text for word in argv[1:]]
    if any(spells(text, option) for text in texts for option in moving.lost):
        return UNTOLD
    values = moved_by_options(argv, moving.into)
    if values:
        return ("", *values)
    return () if moving.stays or not set(moving.kept).isdisjoint(texts) else UNTOLD


def moved_by_options(argv: "tuple[Word, ...]", options: "Sequence[str]") -> list[str | None]:
    """The values of options in every spelling, wherever they stand; None for one that the text does not tell."""
    found: list[str | None] = []
    for at, value in values_given([word.text for word in argv], options):
        if value is not None:
            found.append(value if argv[at].static else None)
        elif at + 1 < len(argv):
            found.append(argv[at + 1].text if argv[at + 1].static and argv[at].static else None)
    return found
