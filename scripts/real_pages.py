"""How whole real pages come through: headings, links, code and tables of 30 documentation pages as markdown.

Needs the pages of Debian's documentation packages; nothing has to be installed:

    apt-get download python3.11-doc git-doc postgresql-doc-15 sqlite3-doc rust-doc nodejs-doc python-django-doc \
        debian-handbook bash-doc
    for package in *.deb; do dpkg -x "$package" pages; done
    .venv/bin/python scripts/real_pages.py pages/usr/share/doc
"""

import argparse
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from urllib.parse import unquote, urljoin

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
from markdown_it import MarkdownIt

from holdfast.tools.web._body import decode_text
from holdfast.tools.web._page import to_markdown

PAGES = (
    *(
        "python3.11/html/library/os.html",
        "python3.11/html/library/asyncio-task.html",
        "python3.11/html/library/re.html",
    ),
    *(
        "python3.11/html/tutorial/classes.html",
        "python3.11/html/whatsnew/3.11.html",
        "python3.11/html/library/json.html",
    ),
    *("git-doc/git-config.html", "git-doc/git-rebase.html", "git-doc/git-status.html", "git-doc/user-manual.html"),
    *("postgresql-doc-15/html/xfunc-c.html", "postgresql-doc-15/html/using-explain.html"),
    *("postgresql-doc-15/html/functions-string.html", "postgresql-doc-15/html/sql-createtable.html"),
    *("postgresql-doc-15/html/tablefunc.html", "postgresql-doc-15/html/auth-pg-hba-conf.html"),
    *("sqlite3/fileformat.html", "sqlite3/rescode.html", "sqlite3/json1.html", "sqlite3/datatype3.html"),
    *("nodejs/api/dns.html", "nodejs/api/fs.html", "nodejs/api/cli.html"),
    *("rust-doc/html/book/ch10-02-traits.html", "rust-doc/html/std/vec/struct.Vec.html"),
    *("python-django-doc/html/topics/cache.html", "python-django-doc/html/topics/migrations.html"),
    *("debian-handbook/html/en-US/advanced-administration.html", "debian-handbook/html/en-US/sect.network-config.html"),
    "bash-doc/bashref.html",
)
FURNITURE = frozenset(
    {"nav", "header", "footer", "aside", "script", "style", "form", "noscript", "button", "select", "svg", "template"}
)
LISTS = frozenset({"toc", "menu", "menubar", "sidebar", "sidebar-elems", "navheader", "navfooter", "docnav"})
"""Classes of lists of links, which are left out as furniture is; what else stands in them counts."""
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
LEAST = {"headings": 0.95, "links": 0.95, "code lines": 0.97, "cells": 0.95}
MOST_TIME = 1.2
ROUNDS = 7


class Seen(NamedTuple):
    """What a page has, in order."""

    headings: list[str]
    links: list[str]
    code: list[str]
    cells: list[str]


class Reader(HTMLParser):
    """Reads a page as a person would, without its furniture."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.seen = Seen([], [], [], [])
        self._url = url
        self._open: list[tuple[str, bool, bool]] = []
        self._link: tuple[str, list[str]] | None = None
        self._heading: list[str] | None = None
        self._pre: list[str] | None = None
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            if tag == "br" and self._pre is not None:
                self._pre.append("\n")
            return
        given = dict(attrs)
        hidden = tag in FURNITURE or "hidden" in given or given.get("role") in ("navigation", "search")
        is_list = not LISTS.isdisjoint((given.get("class") or "").split()) or given.get("id") == "toc"
        self._open.append((tag, hidden, is_list))
        if self._is_hidden():
            return
        if re.fullmatch(r"h[1-6]", tag):
            self._heading = []
        elif tag == "pre" and self._pre is None:
            self._pre = []
        elif tag in ("td", "th"):
            self._cell = []
        elif tag == "a" and self._pre is None and not any(is_list for _, _, is_list in self._open):
            self._link = (urljoin(self._url, (given.get("href") or "javascript:").strip()), [])

    def handle_endtag(self, tag: str) -> None:
        if not any(name == tag for name, _, _ in self._open):
            return
        while self._open:
            name, _, _ = self._open.pop()
            self._close(name)
            if name == tag:
                return

    def _close(self, tag: str) -> None:
        if self._heading is not None and re.fullmatch(r"h[1-6]", tag):
            self.seen.headings.append(squeezed("".join(self._heading)))
            self._heading = None
        elif tag == "pre" and self._pre is not None:
            self.seen.code.extend("".join(self._pre).splitlines())
            self._pre = None
        elif tag in ("td", "th") and self._cell is not None:
            self.seen.cells.append(squeezed("".join(self._cell)))
            self._cell = None
        elif tag == "a" and self._link is not None:
            address, words = self._link
            if address.startswith(("http:", "https:", "mailto:")) and squeezed("".join(words)):
                self.seen.links.append(address)
            self._link = None

    def handle_data(self, data: str) -> None:
        if self._is_hidden():
            return
        for held in (self._heading, self._pre, self._cell, self._link and self._link[1]):
            if held is not None:
                held.append(data)

    def _is_hidden(self) -> bool:
        return any(hidden for _, hidden, _ in self._open)


def squeezed(text: str) -> str:
    """Letters and digits only: markdown writes the rest its own way."""
    return re.sub(r"[\W_]+", "", text)


def kept(wanted: list[str], shown: Counter[str]) -> int:
    return sum((Counter(one for one in wanted if one) & shown).values())


def read_back(markdown: str) -> Seen:
    """What any renderer of markdown makes of it."""
    seen = Seen([], [], [], [])
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    for before, token in zip([tokens[0], *tokens], tokens, strict=False):
        if token.type in ("fence", "code_block"):
            seen.code.extend(token.content.splitlines())
        elif token.type == "inline":
            for child in token.children or ():
                if child.type == "link_open":
                    seen.links.append(str(child.attrs["href"]))
            text = squeezed("".join(child.content for child in token.children or ()))
            if before.type == "heading_open":
                seen.headings.append(text)
            elif before.type in ("th_open", "td_open"):
                seen.cells.append(text)
    return seen


def compared(wanted: Seen, found: Seen) -> dict[str, tuple[int, int]]:
    def share(name: str) -> tuple[int, int]:
        every = [one for one in getattr(wanted, name) if one.strip()]
        return kept(every, Counter(getattr(found, name))), len(every)

    links = [unquote(one) for one in found.links]
    return {
        "headings": share("headings"),
        "links": (kept([unquote(one) for one in wanted.links], Counter(links)), len(wanted.links)),
        "code lines": share("code"),
        "cells": share("cells"),
    }


def cost(body: bytes, url: str) -> tuple[float, float]:
    """Best of several rounds, in turns: ours, and the library alone."""
    options = ConversionOptions(
        extract_metadata=False,
        skip_images=True,
        base_url=url,
        max_depth=300,
        preprocessing=PreprocessingOptions(preset="aggressive"),
    )
    ours, alone = [], []
    for _ in range(ROUNDS):
        began = perf_counter()
        to_markdown(decode_text(body, "text/html"), url)
        between = perf_counter()
        convert(body.decode("utf-8", "replace"), options)
        ours.append(between - began)
        alone.append(perf_counter() - between)
    return min(ours), min(alone)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="where the packages' directories are, such as /usr/share/doc")
    options = parser.parse_args()
    total: dict[str, list[int]] = {name: [0, 0] for name in LEAST}
    mine = reference = 0.0
    for name in PAGES:
        body = (options.root / name).read_bytes()
        url = f"https://docs.example.com/{name}"
        text = decode_text(body, "text/html")
        reader = Reader(url)
        reader.feed(text)
        reader.close()
        markdown = to_markdown(text, url)
        counts = compared(reader.seen, read_back(markdown))
        for what, (have, all_) in counts.items():
            total[what][0] += have
            total[what][1] += all_
        ours, alone = cost(body, url)
        mine += ours
        reference += alone
        print(f"{name:<58}", "  ".join(f"{what} {have}/{all_}" for what, (have, all_) in counts.items()))
    print(
        f"\n{len(PAGES)} pages, {mine * 1e3:.0f} ms, the library alone {reference * 1e3:.0f} ms: "
        f"{mine / reference:.2f} times"
    )
    too_little = False
    for what, (have, all_) in total.items():
        share = have / all_
        too_little |= share < LEAST[what]
        print(f"{what:<12} {have:>6} of {all_:>6}  {share:.1%} (at least {LEAST[what]:.0%})")
    return int(too_little or mine / reference > MOST_TIME)


if __name__ == "__main__":
    sys.exit(main())
