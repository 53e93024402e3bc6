"""Pages that would cost far more than their size: noticed, and read within bounds or refused in words."""

from __future__ import annotations

import asyncio
import resource

import pytest

from holdfast.contract import ToolFailed
from holdfast.tools.web._client import Fetched
from holdfast.tools.web._heavy import beginning_of, is_heavy
from holdfast.tools.web._read import read_page

COSTLY = {
    "many tags": "<p>" * 340_000,
    "many tags in a small page": "x<i>" * 60_000,
    "wide cells": "<table><tr>" + "<td colspan=1000>x" * 40_000,
    "wide cells in capitals": "<TABLE><TR>" + "<TD COLSPAN=1000>x" * 400,
    "quotations": "<blockquote>" * 100 + "<p>x</p>" * 15_000,
    "quotations around text": "<blockquote>" * 100 + "x" * 900_000,
    "lists around lines": "<ul><li>" * 90 + "<pre>" + "x\n" * 400_000,
    "one wide row, many narrow ones": "<table><tr>" + "<td>" * 10_000 + "<tr><td>x" * 10_000,
}
USUAL = {
    "plain": "<h1>T</h1>" + "<p>Some words <b>here</b>.</p>\n" * 5_000,
    "lists": "<ul><li>one</li><li>two</li></ul>\n" * 100,
    "tables": "<table><tr><th>a</th></tr>" + "<tr><td>1</td><td colspan=2>2</td></tr>" * 100 + "</table>",
    "one line": "<p>" + "word " * 200_000,
}


def page_of(markup: str) -> Fetched:
    return Fetched("https://docs.example.com/", 200, "OK", {"content-type": "text/html"}, markup.encode())


@pytest.mark.parametrize("markup", COSTLY.values(), ids=COSTLY)
def test_a_costly_page_is_noticed_and_takes_little_of_our_memory(markup: str) -> None:
    assert is_heavy(markup)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        told = asyncio.run(asyncio.wait_for(read_page(page_of(markup)), 60)).text
    except ToolFailed as error:
        told = str(error)
    assert "cannot be read" in told[:100] or len(told) <= 8 * 1024 * 1024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize("markup", USUAL.values(), ids=USUAL)
def test_a_usual_page_needs_no_process_of_its_own(markup: str) -> None:
    assert not is_heavy(markup)


def test_of_a_very_large_page_the_beginning_is_read() -> None:
    short, is_cut = beginning_of("<p>x" * 1_000)
    assert (len(short), is_cut) == (4_000, False)
    tags, is_cut = beginning_of("<p>x" * 150_000)
    assert (tags.count("<"), is_cut) == (100_000, True)
    text, is_cut = beginning_of("x" * 5_000_000)
    assert (len(text), is_cut) == (2 * 1024 * 1024, True)
