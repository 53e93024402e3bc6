"""Pages of panels: what is in sight, and what keys do."""

import asyncio
import json
from pathlib import Path

from holdfast.app.begin import SessionChoice
from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.definitions.agents import read_agents_option
from holdfast.events import AgentTold, CallQueued
from holdfast.models.scripted import ScriptedModel
from holdfast.tui.panels.agents import agents_page
from holdfast.tui.panels.outputs import output_page
from holdfast.tui.panels.pages import ListPage, Page, Row, TextPage
from holdfast.tui.show.agents import AgentTree
from holdfast.tui.show.kept import Kept, KeptTexts
from holdfast.tui.show.themes import THEMES
from holdfast.tui.show.words import Line, as_text


def seen(page: Page, columns: int = 40, rows: int = 5) -> list[str]:
    return [as_text(line) for line in page.view(columns, rows)]


def numbered(count: int) -> list[Line]:
    return [[("", f"line {number}")] for number in range(count)]


def test_a_text_is_scrolled_and_searched() -> None:
    page = TextPage("title", lambda: numbered(100))
    assert seen(page) == [f"line {n}" for n in range(5)]
    page.key("pagedown", 5)
    assert seen(page)[0] == "line 5"
    page.key("G", 5)
    assert seen(page)[-1] == "line 99"
    assert page.search("LINE 42")
    assert seen(page)[0] == "line 42"
    assert not page.search("nowhere")
    page.key("g", 5)
    assert seen(page)[0] == "line 0"
    assert "line 1 of 100" in page.hint()


def test_a_growing_text_is_followed_until_somebody_scrolls() -> None:
    lines = numbered(10)
    page = TextPage("title", lambda: lines, follows=True)
    assert seen(page)[-1] == "line 9"
    lines += [[("", "new")]]
    assert seen(page)[-1] == "new"
    page.key("up", 5)
    lines += [[("", "newer")]]
    assert "newer" not in seen(page)


def test_long_lines_are_broken_and_never_more_rows_than_there_are() -> None:
    page = TextPage("title", lambda: [[("", "x" * 200)], [("", "word " * 50)]])
    shown = seen(page, columns=20, rows=7)
    assert len(shown) == 7
    assert all(len(line.rstrip()) <= 20 for line in shown)


def test_rows_live_and_the_choice_stays_inside() -> None:
    names = ["a", "b", "c"]
    page = ListPage("title", lambda: [Row([("", name)], open=lambda: None) for name in names])
    page.key("end", 5)
    assert seen(page)[2].endswith(" c")
    del names[1:]
    assert len(seen(page)) == 1
    assert page.place == 0
    names.clear()
    assert seen(page) == ["  nothing here yet"]
    assert page.key("enter", 5) is None


def test_the_first_row_that_opens_is_chosen_at_first() -> None:
    rows = [Row([("", "only words")]), Row([("", "opens")], open=lambda: None)]
    page = ListPage("title", lambda: rows)
    assert seen(page)[1].endswith("❯ opens")  # noqa: RUF001 - the mark people know
    page.key("up", 5)
    assert seen(page)[0].endswith("❯ only words")  # noqa: RUF001 - the same


def test_agents_say_what_they_were_started_for() -> None:
    tree = AgentTree(lambda name, given: name)
    tree.expect("toolu_1", {"description": "Look at \x1b[2J orders", "prompt": "look"})
    tree.expect("toolu_2", {"description": "Run the tests", "command": "make"})  # no agent
    for id_, call in (("a1", "toolu_1"), ("a2", "toolu_2")):
        tree.take(AgentTold(id_, "Explore", call, CallQueued(f"c{id_}", "Read", {})))
    inner = {"description": "A part of it", "prompt": "go"}
    tree.take(AgentTold("a1", "Explore", "toolu_1", CallQueued("toolu_3", "Agent", inner)))
    tree.take(AgentTold("a3", "Plan", "toolu_3", CallQueued("c3", "Read", {})))
    wishes = {node.id: node.wish for _, node in tree.rows()}
    assert wishes == {"a1": "Look at \\x1b[2J orders", "a3": "A part of it", "a2": ""}


def test_the_neighbours_of_an_output_are_a_key_away() -> None:
    items = [Kept("first", "one"), Kept("second", "two \x1b[2J")]
    page = output_page(items)
    assert page.title == "(2 of 2) second"
    assert seen(page) == ["two \\x1b[2J"]
    before = page.key("left", 5)
    assert isinstance(before, Page)
    assert seen(before) == ["one"]
    assert before.key("left", 5) is None


def test_what_is_kept_is_bounded() -> None:
    kept = KeptTexts()
    for number in range(1_000):
        kept.add(Kept(str(number), "x" * 100_000))
    assert sum(len(item.text) for item in kept.all()) <= 4_000_000
    assert kept.all()[-1].title == "999"


def test_an_agent_has_the_colour_that_its_definition_wants(tmp_path: Path) -> None:
    defined = {
        "reviewer": {"description": "Reviews.", "prompt": "Review.", "color": "Purple"},
        "plain": {"description": "Looks.", "prompt": "Look.", "color": "chartreuse"},
    }

    async def styles() -> dict[str, str]:
        options = Options(cwd=str(tmp_path))
        chosen = AgentOptions(model=ScriptedModel([]), agents=tuple(read_agents_option(json.dumps(defined))))
        agent = await start_agent(options, chosen, choice=SessionChoice(is_kept=False))
        async with agent:
            tree = AgentTree(lambda name, given: name)
            tree.take(AgentTold("a1", "reviewer", "toolu_1", CallQueued("c", "Read", {})))
            page = agents_page(agent, tree)
            lines = page.view(80, 40)
        return {part[1].strip(): part[0] for line in lines for part in line}

    found = asyncio.run(styles())
    assert found["reviewer"] == "agent-purple"
    assert found["plain"] == "bold"
    assert all(found["reviewer"] in theme for theme in THEMES.values())
