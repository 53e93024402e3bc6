"""Links that a command makes and goes through in the same text: `ln -s out q && touch q/n` writes `out/n`.

The disk does not know such a link while the decision is made.
"""

import posixpath
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.lib.name_glob import fnmatchcase
from holdfast.permissions.shell.programs.operands import landing_of
from holdfast.permissions.shell.words.given import has_option
from holdfast.permissions.shell.words.patterns import WILD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from holdfast.permissions.shell.words.parts import Cwds, Part, Redirect

__all__ = ["MadeLink", "links_made", "links_untold", "makes_links", "through_links"]

_MAX_CHAIN: Final = 4
_MAX_NAMES: Final = 64
MAX_LINKS: Final = 64
"""So many links are followed; with more of them it is not known what a path leads through."""


class MadeLink(NamedTuple):
    """A link under its absolute name, and where it leads."""

    name: str
    target: str
    named: bool
    """Whether the text names it again; the command that makes it changes nothing behind it."""


def links_made(
    parts: "Sequence[Part]", redirects: "Sequence[Redirect]", cwd: str, is_dir: "Callable[[str], bool | None]"
) -> tuple[MadeLink, ...]:
    """The links that commands make, as far as the text tells.

    Args:
        parts: the commands.
        redirects: the redirects of the text.
        cwd: where the text starts.
        is_dir: whether a path is a directory; None when nobody knows.
    """
    makers = [part for part in parts if makes_links(part)]
    if not makers:
        return ()
    named = {name for part in parts if part not in makers for name in _named(part.texts[1:], part.cwds, cwd)}
    named.update(name for item in redirects if item.target for name in _named((item.target.text,), item.cwds, cwd))
    made = (link for part in makers for link in _made_by(part, cwd, is_dir))
    found = dict.fromkeys(islice(made, MAX_LINKS))
    # A link to a link, and a second command that makes one in its place.
    targets = [target for _, target in found]
    return tuple(MadeLink(name, target, name in named or name in targets) for name, target in found)


def makes_links(part: "Part") -> bool:
    """Whether a command makes links."""
    return part.name in ("ln", "link") or (
        part.name == "cp" and has_option(part.texts, "sl", "--symbolic-link", "--link")
    )


def links_untold(parts: "Sequence[Part]", links: "Sequence[MadeLink]", cwd: str) -> bool:
    """Whether a command may go through a new link by a pattern, or through one that leads nobody knows where."""
    if len(links) >= MAX_LINKS:
        return True
    told = {part.source for part in parts if makes_links(part) and all(word.static for word in part.argv)}
    lost = [
        posixpath.normpath(posixpath.join(cwd, directory, part.texts[-1]))
        for part in parts
        if makes_links(part) and part.source not in told
        for directory in part.cwds or ("",)
    ]
    names = [*lost, *(link.name for link in links)]
    for part in parts:
        redirected = (item.target.text for item in part.redirects if item.target)
        texts = () if makes_links(part) else (*part.texts[1:], *redirected)
        for path in _named(texts, part.cwds, cwd):
            wild = not WILD.isdisjoint(path)
            if any(_leads_to(path, name) for name in (names if wild else lost)):
                return True
    return False


def _leads_to(path: str, link: str) -> bool:
    """Whether a path or a pattern may go through a link, component by component."""
    steps, wanted = path.split("/"), link.split("/")
    return len(steps) >= len(wanted) and all(map(fnmatchcase, wanted, steps))


def _named(texts: "Iterable[str]", cwds: "Cwds", cwd: str) -> "Iterator[str]":
    for text in texts:
        for directory in cwds or ("",):
            for name in (text, text.partition("=")[2]):
                yield posixpath.normpath(posixpath.join(cwd, directory, name))


def _made_by(part: "Part", cwd: str, is_dir: "Callable[[str], bool | None]") -> "Iterator[tuple[str, str]]":
    by_place = has_option(part.texts, "s", "--symbolic", "--symbolic-link") and not has_option(
        part.texts, "r", "--relative"
    )
    itself = has_option(part.texts, "Tn", "--no-target-directory", "--no-dereference")
    for source, place in landing_of(part):
        for directory in part.cwds or ("",):
            base = posixpath.join(cwd, directory)
            path = posixpath.normpath(posixpath.join(base, place))
            names = [posixpath.join(path, posixpath.basename(source.rstrip("/")))]
            if not (place.endswith("/") or place.rpartition("/")[2] in (".", "..")):
                known = False if itself else is_dir(path)
                names = names if known else [path] if known is False else [path, *names]
            for name in names:
                start = posixpath.dirname(name) if by_place else base
                yield name, posixpath.normpath(posixpath.join(start, source))


def through_links(paths: "Iterable[str]", links: "Sequence[MadeLink]", cwd: str) -> "Iterator[str]":
    """Paths, and what each also names when links lie on its way."""
    for path in paths:
        yield path
        fresh, seen = [posixpath.normpath(posixpath.join(cwd, path))], set[str]()
        for _ in range(_MAX_CHAIN):
            found = [
                target + name[len(link) :]
                for name in fresh
                for link, target, named in links
                if (named and name == link) or name.startswith(link + "/")
            ]
            fresh = [name for name in dict.fromkeys(found) if name not in seen][:_MAX_NAMES]
            seen.update(fresh)
            yield from fresh
